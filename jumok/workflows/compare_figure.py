"""The figure of `jumok compare --png`: a score against how hard the examples are, one line per run.

Comparison of each corpus → one panel each → PNG
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from jumok.lens.figure import save_png
from jumok.workflows.compare import Comparison

# Okabe and Ito's colours, which the colour-blind can tell apart; yellow is too pale on white.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = "osD^vPX*"


@dataclass(frozen=True)
class Panel:
    """One panel of a figure."""

    title: str
    across: str  # what the points are
    upwards: str  # the score
    points: Sequence[str]
    lines: Mapping[str, Sequence[float]]  # of each run


def draw_lengths(comparisons: Mapping[str, Comparison], path: Path) -> None:
    """Draw BLEU against the length of the source as a PNG: one panel per corpus, one line per run, one point per fifth."""
    panels = [
        Panel(
            title=f"{label}, {comparison.sentences:,} sentences",
            across="words of the source; each point a fifth of the sentences",
            upwards="BLEU",
            points=[f"{bucket.shortest}–{bucket.longest}" for bucket in comparison.runs[0].by_length],
            lines={run.name: [bucket.bleu for bucket in run.by_length] for run in comparison.runs},
        )
        for label, comparison in comparisons.items()
    ]
    draw_panels(panels, path)


def draw_panels(wanted: Sequence[Panel], path: Path) -> None:
    """Draw panels side by side as a PNG."""
    from matplotlib.figure import Figure  # not pyplot: no global state, no window; a PNG is drawn by Agg

    figure = Figure(figsize=(8.6 * len(wanted), 4.4), dpi=150, layout="constrained")
    panels = figure.subplots(1, len(wanted), squeeze=False)[0]
    for panel, drawn in zip(panels, wanted, strict=True):
        for number, (name, values) in enumerate(drawn.lines.items()):
            panel.plot(
                range(len(values)),
                values,
                color=COLOURS[number % len(COLOURS)],
                marker=MARKERS[number % len(MARKERS)],
                linestyle="-" if number < len(COLOURS) else "--",
                label=name.replace("$", r"\$"),  # a dollar would begin a formula
            )
        panel.set_xticks(range(len(drawn.points)), drawn.points)
        panel.set_xlabel(drawn.across)
        panel.set_ylabel(drawn.upwards)
        panel.set_title(drawn.title, loc="left", fontsize=10)
        panel.grid(axis="y", color="#dddddd")
        panel.spines[["top", "right"]].set_visible(False)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper", frameon=False, fontsize=9)
    save_png(figure, path)
