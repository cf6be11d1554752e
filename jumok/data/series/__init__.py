"""Series: tables whose rows are steps of time, as windows of what was and what comes next."""
