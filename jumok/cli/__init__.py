"""The command line: one file a command, nothing heavy imported before it is needed."""
