"""The figure of `jumok compare --png`: BLEU against the length of the source, one line per run.

Comparison of each corpus → one panel each → PNG
"""

from collections.abc import Mapping
from pathlib import Path

from jumok.lens.figure import save_png
from jumok.workflows.compare import Comparison

# Okabe and Ito's colours, which the colour-blind can tell apart; yellow is too pale on white.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = "osD^vPX*"


def draw_lengths(comparisons: Mapping[str, Comparison], path: Path) -> None:
    """Draw BLEU against the length of the source as a PNG: one panel per corpus, one line per run, one point per fifth."""
    from matplotlib.figure import Figure  # not pyplot: no global state, no window; a PNG is drawn by Agg

    figure = Figure(figsize=(8.6 * len(comparisons), 4.4), dpi=150, layout="constrained")
    panels = figure.subplots(1, len(comparisons), squeeze=False)[0]
    for panel, (label, comparison) in zip(panels, comparisons.items(), strict=True):
        for number, run in enumerate(comparison.runs):
            panel.plot(
                range(len(run.by_length)),
                [bucket.bleu for bucket in run.by_length],
                color=COLOURS[number % len(COLOURS)],
                marker=MARKERS[number % len(MARKERS)],
                linestyle="-" if number < len(COLOURS) else "--",
                label=run.name.replace("$", r"\$"),  # a dollar would begin a formula
            )
        spans = [f"{bucket.shortest}–{bucket.longest}" for bucket in comparison.runs[0].by_length]
        panel.set_xticks(range(len(spans)), spans)
        panel.set_xlabel("words of the source; each point a fifth of the sentences")
        panel.set_ylabel("BLEU")
        panel.set_title(f"{label}, {comparison.sentences:,} sentences", loc="left", fontsize=10)
        panel.grid(axis="y", color="#dddddd")
        panel.spines[["top", "right"]].set_visible(False)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper", frameon=False, fontsize=9)
    save_png(figure, path)
