"""The command line: one file per command, nothing heavy imported before it is needed."""
