"""What every explanation has, of a text or an image: a page, which a notebook shows where it is a cell's last value."""

from abc import ABC, abstractmethod

from jumok.lens.html import Page


class Shown(ABC):
    """Something that a page shows."""

    @abstractmethod
    def page(self, *, matrices: bool | None = None, lang: str | None = None) -> Page:
        """Return the page that shows this; matrices and lang as in jumok.lens.html.make_page."""

    def _repr_html_(self) -> str:
        """Show the page in a notebook."""
        return self.page()._repr_html_()
