"""An attention record made visible."""
