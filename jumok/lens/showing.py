"""The page of whatever can be shown: a record of words or of a picture, an explanation.

AttentionRecord → View or PictureView → Page; Explanation → its own page
"""

from typing import Any, Protocol

from jumok.errors import ConfigError
from jumok.lens.html import Page, make_page
from jumok.lens.picture_page import make_picture_page
from jumok.lens.picture_view import PictureView
from jumok.lens.view import View
from jumok.nn.record import AttentionRecord


class Explained(Protocol):
    """What knows its own page, as an explanation does."""

    def page(self) -> Page:
        """Return the page that shows this."""


def show(found: AttentionRecord | Explained, *, picture: Any = None) -> Page:
    """Return the page of a record, or of an explanation.

    picture is what the model saw (Pillow's, or an array of bytes): the page then shows attention over its cells. A record whose
    maps know their grids has cells without it.
    """
    if isinstance(found, AttentionRecord):
        if found.maps and (picture is not None or all(one.grid for one in found.maps)):
            return make_picture_page([PictureView.of_record(found, picture)])
        return make_page([View.of_record(found)])
    if not hasattr(found, "page"):
        raise ConfigError(f"show takes a record of attention or an explanation, not a {type(found).__name__}")
    return found.page()
