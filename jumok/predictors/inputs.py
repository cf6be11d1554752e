"""Where inputs come from when a command works as a filter: the lines of a file, plain or .gz."""

from jumok.data.files import read_lines

__all__ = ["read_lines"]
