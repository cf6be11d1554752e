"""Figures as PNG files, drawn by matplotlib (the extra `plot`): an alignment as a grid, and what every figure needs.

AttentionMap (H, Q, K) → mean of heads (Q, K) → one square per weight, darker where it looked more
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from torch import Tensor

from jumok.errors import MissingExtraError
from jumok.inspection.labels import readable_labels
from jumok.writing import check_can_write, write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# matplotlib's own font has no Korean, Chinese or Japanese, Hindi or Thai; these have, where they are installed.
FONTS = ["DejaVu Sans", "Noto Sans CJK KR", "Noto Sans CJK JP", "Malgun Gothic", "AppleGothic", "Noto Sans Devanagari",
         "Noto Sans Thai"]  # fmt: skip
SQUARE = 0.3  # inches


def check_can_draw(path: Path) -> None:
    """Refuse, before the work, a figure that could not be written after it."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "--png") from None
    check_can_write(path, "--png")


def save_png(figure: Figure, path: Path) -> None:
    """Write a figure, whole or not at all."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png")
    write_bytes(path, drawn.getvalue(), name=f"--png {path}")


def save_alignment(
    weights: Tensor, queries: Sequence[str], keys: Sequence[str], path: Path, *, title: str = ""
) -> None:
    """Save weights (Q, K) as a PNG: a line per output token, a column per source token, white 0, dark 1."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure  # not pyplot: no global state, no window; a PNG is drawn by Agg

    with rc_context({"font.family": installed(FONTS)}):
        size = (SQUARE * len(keys) + 1.6, SQUARE * len(queries) + 1.6)
        figure = Figure(figsize=size, dpi=150, layout="constrained")
        axes = figure.subplots()
        axes.imshow(weights.numpy(force=True), cmap="Blues", vmin=0.0, vmax=1.0, aspect="equal")
        axes.set_xticks(range(len(keys)), [plain(label) for label in readable_labels(keys)], rotation=90)
        axes.set_yticks(range(len(queries)), [plain(label) for label in readable_labels(queries)])
        axes.xaxis.tick_top()
        axes.tick_params(length=0, labelsize=9)
        axes.spines[:].set_color("#cccccc")
        if title:
            axes.set_xlabel(plain(title), fontsize=8, color="#555555")
        save_png(figure, path)


def plain(text: str) -> str:
    """Return text that matplotlib does not take for a formula."""
    return text.replace("$", r"\$")


def installed(fonts: Sequence[str]) -> list[str]:
    """Return the fonts that matplotlib finds; it would warn of each other one."""
    from matplotlib.font_manager import fontManager

    names = set(fontManager.get_font_names())
    return [font for font in fonts if font in names]
