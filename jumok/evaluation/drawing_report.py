"""Scores of drawings as people read them: what `jumok evaluate` prints of a run that draws.

label of a corpus, split, scores → ScoreReport: what a reader found in drawings, beside floor and ceiling; groups; copies; distance
"""

from jumok.errors import counted
from jumok.evaluation.reports import MOST_CLASSES, ScoreReport, Scores, ScoreTable

COLUMNS = (
    "form", "colour", "size", "place", "count", "colour and form", "order", "all right", "withheld pair", "withheld order",
)  # fmt: skip
SHARES = (
    "form", "colour", "size", "place", "count", "pair", "order", "all_right", "withheld_pair", "withheld_order",
)  # fmt: skip
# What sets of images are called in tables.
SETS = {
    "drawings": "its drawings",
    "real images": "real images",
    "reconstructions": "their reconstructions",
    "drawings of other prompts": "drawings of other prompts",
}

LEGEND = (
    "real images: the reader's own score; reconstructions: what the codes leave of them, the ceiling of drawings; drawings of "
    "other prompts: the floor"
)
SCENE_LEGEND = (
    "colour and form, order, withheld: of what the prompts say, that which was read; of the others also what was not asked "
    "for counts as wrong"
)


def drawing_report(label: str, split: str, scores: Scores) -> ScoreReport:
    """Report what codes cost, what a reader finds in drawings, and whether these are copies."""
    lines = [
        f"{label} ({split}), {counted(scores['images'], 'image')}, {counted(scores['captions'], 'caption')}",
        f"  loss {scores['loss']:.4f}   bits per code {scores['bits']:.3f}   text loss {scores['text_loss']:.4f}",
    ]
    if scores["too_long"]:
        lines.append(f"  left out, as longer than data.max_length: {counted(scores['too_long'], 'caption')}")
    if "drawings" not in scores:
        return ScoreReport(tuple(lines))
    decoding = scores["decoding"]
    how = f"guidance {decoding['guidance']:g}, temperature {decoding['temperature']:g}, seed {decoding['seed']}"
    if "reader" not in scores:
        lines += [f"  {counted(scores['drawings'], 'drawing')} ({how})", f"  {scores['reader_note']}"]
        return ScoreReport(tuple(lines), footnotes=(*_group_lines(scores), *_copy_lines(scores["copied"])))
    lines.append(f"  {counted(scores['drawings'], 'drawing')} ({how}), read by {scores['reader']}; right, per cent:")
    notes = (
        *_group_lines(scores),
        *_copy_lines(scores["copied"]),
        *_distance_lines(scores["reader"], scores["frechet"]),
    )
    read = scores["read"]
    if "right" in read["drawings"]:
        further = [_class_table(read)] if len(read["drawings"]["by_class"]) <= MOST_CLASSES else []
        table = ScoreTable(("", "right"), tuple((SETS[name], f"{found['right']:.1f}") for name, found in read.items()))
        return ScoreReport(tuple(lines), table, notes, tuple(further), (LEGEND,))
    if unreadable := read["drawings"]["unreadable"]:
        notes = (f"  {counted(unreadable, 'drawing')} read as no sentence of the grammar", *notes)
    return ScoreReport(tuple(lines), _scene_table(read), notes, legend=(LEGEND, SCENE_LEGEND))


def _scene_table(read: Scores) -> ScoreTable:
    """Return the shares that were read right in each set of images."""
    shown = [name for name in SHARES if name in read["drawings"]]
    rows = [(SETS[name], *(f"{found[share]:.1f}" for share in shown)) for name, found in read.items()]
    headings = dict(zip(SHARES, COLUMNS, strict=True))
    return ScoreTable(("", *(headings[name] for name in shown)), tuple(rows))


def _class_table(read: Scores) -> ScoreTable:
    """Return the share of each class that was read right, in each set of images."""
    classes = list(read["drawings"]["by_class"])
    rows = [(SETS[name], *(f"{found['by_class'][label]:.0f}" for label in classes)) for name, found in read.items()]
    return ScoreTable(("right by class", *classes), tuple(rows))


def _group_lines(scores: Scores) -> list[str]:
    """Return how many drawings look most like a training image of the right group; nothing where images have no groups."""
    if "groups" not in scores:
        return []
    groups = scores["groups"]
    if "note" in groups:
        return [f"  {groups['note']}"]
    right = groups["right"]
    return [
        f"  of the right group, by their nearest training image ({counted(groups['groups'], 'group')}): drawings "
        f"{right['drawings']:.1f} %, real images {right['real images']:.1f} %, reconstructions {right['reconstructions']:.1f} %",
        f"  floors: drawings of other prompts {right['drawings of other prompts']:.1f} %, the commonest group "
        f"'{groups['commonest']}' for every prompt {groups['commonest_right']:.1f} %",
    ]


def _copy_lines(copied: Scores) -> list[str]:
    """Return how near the nearest training image is, and whether that is nearer than it has to be."""
    if "note" in copied:
        return [f"  {copied['note']}"]
    median = copied["median"]
    return [
        f"  nearest of {counted(copied['training_images'], 'training image')}, RMSE of pixels (median): drawings "
        f"{median['drawings']:.1f}, real images {median['real images']:.1f}, reconstructions {median['reconstructions']:.1f}",
        f"  drawings nearer than 99 % of reconstructions are: {copied['nearer_than_reconstructions']:.1f} %, where far above 1 % "
        f"means copies; than 99 % of real images, which are sharper: {copied['nearer_than_real']:.1f} %",
    ]


def _distance_lines(reader: str, frechet: Scores) -> list[str]:
    """Return the Fréchet distances, whose features are named."""
    if not frechet:
        return ["  no Fréchet distance: too few images; fewer --drawings leave more real ones to compare with"]
    found = frechet["distances"]
    return [
        f"  Fréchet distance on features of {reader} ({frechet['features']} wide), {counted(frechet['images'], 'image')} from "
        f"{frechet['others']:,} other real ones: drawings {found['drawings']:.3f}, real images {found['real images']:.3f}, "
        f"reconstructions {found['reconstructions']:.3f}"
    ]
