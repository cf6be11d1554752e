"""Data sets that need no files."""
