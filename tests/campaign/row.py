"""A row of the campaign's table."""

from typing import NamedTuple


class Row(NamedTuple):
    """What one part of the campaign tried, and how often it failed."""

    name: str
    cases: int
    failures: int
    note: str = ""
