"""The page of anything that can be shown: a record of words or of an image, an explanation.

AttentionRecord → View or ImageView → Page; Explanation → its own page
"""

from typing import Any, Protocol

from jumok.errors import ConfigError
from jumok.inspection.record import AttentionRecord
from jumok.lens.html import Page, make_page
from jumok.lens.image_page import make_image_page
from jumok.lens.image_view import ImageView
from jumok.lens.labels import read_tokens
from jumok.lens.view_of_record import view_of_record


class Explained(Protocol):
    """What knows its own page, as an explanation does."""

    def page(self) -> Page:
        """Return the page that shows this."""


def show(
    found: AttentionRecord | Explained,
    *,
    image: Any = None,
    tokens: Any = None,
    target_tokens: Any = None,
    tokenizer: Any = None,
) -> Page:
    """Return the page of a record, or of an explanation.

    image is what the model saw (a Pillow image or an array of bytes): the page then shows attention over its cells. A
    record whose maps have grids has cells without it.

    tokens are what the model read: a list of labels, or ids with a tokenizer (of transformers or of jumok). Where it
    reads a source and writes a target, tokens are the source and target_tokens the target; one more than it read is
    the token written last, as in what generate returns. A record made during generate is shown step by step.
    """
    if isinstance(found, AttentionRecord):
        if found.maps and (image is not None or all(one.grid for one in found.maps)):
            return make_image_page([ImageView.of_record(found, image)])
        source, target = (
            None if given is None else read_tokens(given, tokenizer, name=name)
            for given, name in ((tokens, "tokens"), (target_tokens, "target_tokens"))
        )
        return make_page([view_of_record(found, tokens=source, target_tokens=target)])
    if not hasattr(found, "page"):
        raise ConfigError(f"show takes a record of attention or an explanation, not a {type(found).__name__}")
    return found.page()
