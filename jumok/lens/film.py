"""The film of a run on disk: where its model looked in the same few sentences, from the first step to the last.

Frame → RUN/film/step-N.safetensors (weights in 16 bits, the rest as JSON in the file's head)
      → Film, with the scores of metrics.jsonl
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from jumok.arrays import read_tensors_and_head
from jumok.errors import DataError, RunError
from jumok.inspection.data_url import from_data_url
from jumok.inspection.film import Frame, Shot
from jumok.inspection.record import AttentionMap
from jumok.json_text import json_text
from jumok.reading import Kind, check_entries, is_kind, read_log
from jumok.tensor_file import write_tensors
from jumok.writing import Refusal, explained

FORMAT = 1
HEAD = "jumok_frame"  # the one entry of the file's head that is ours
UNWRITTEN = Refusal(
    RunError,
    "mend that, then go on with --resume (--set training.probes=0: without a film)",
    "free some space, then go on with --resume (--set training.probes=0: without a film)",
)
ANSWERS = ("translation", "continuation", "filling", "caption", "drawing", "forecast", "class")  # what an answer is
IMAGES = ("image", "drawing")  # entries of probes that have any
HEAD_ENTRIES: dict[str, Kind] = {"format": int, "step": int, "shots": list[dict[str, Any]]}
SHOT_ENTRIES: dict[str, Kind] = {
    **dict.fromkeys(("source", "reference", "translation"), str),
    **dict.fromkeys(("queries", "keys"), list[str]),
    **dict.fromkeys(("source_words", "reference_words"), list[int]),
    "maps": list[dict[str, Any]],
}
LATER_ENTRIES: dict[str, Kind] = {"sides": list[str], "answer_is": str}  # which older frames do not have
MAP_ENTRIES: dict[str, Kind] = {"path": str, "kind": str, "layer": int}


@dataclass(frozen=True)
class Film:
    """Frames by step, all of the same probes, and the val scores of each evaluation."""

    frames: Sequence[Frame]
    scores: Mapping[int, Mapping[str, float]]

    @property
    def score(self) -> str:
        """The score that tells most: CIDEr-D, BLEU or accuracy where they were taken, the loss otherwise."""
        taken = {name for scores in self.scores.values() for name in scores}
        return next((name for name in ("cider_d", "bleu", "accuracy") if name in taken), "loss")


def film_folder(run: Path) -> Path:
    """Return where a run's frames are kept."""
    return run / "film"


def save_frame(frame: Frame, run: Path) -> None:
    """Write a frame into the folder of a run, whole or not at all."""
    folder = film_folder(run)
    target = folder / f"step-{frame.step}.safetensors"
    tensors, shots = {}, []
    for place, shot in enumerate(frame.shots):
        for number, found in enumerate(shot.maps):
            tensors[f"{place}.{number}"] = found.weights.half().cpu().contiguous()
        maps = [
            {"path": found.path, "kind": found.kind, "layer": found.layer, "grid": found.grid} for found in shot.maps
        ]
        labels = {"queries": shot.maps[0].queries, "keys": shot.maps[0].keys}
        facts = {name: value for name, value in vars(shot).items() if name != "maps"}
        shots.append(facts | labels | {"maps": maps})
    head = json_text({"format": FORMAT, "step": frame.step, "shots": shots})
    with explained(target, UNWRITTEN):
        folder.mkdir(exist_ok=True)
        write_tensors(tensors, target, head, entry=HEAD, durable=True)


def forget_frames(run: Path, *, after: int) -> None:
    """Remove the frames after a step, as a run that goes on from that step will make them again."""
    for path in film_folder(run).glob("step-*.safetensors"):
        step = path.stem.removeprefix("step-")
        if step.isdigit() and int(step) > after:
            path.unlink()
    for path in film_folder(run).glob(".*"):  # left half-written by a kill
        path.unlink(missing_ok=True)


def load_film(run: Path) -> Film | None:
    """Return the film of a run, or None if it has none; frames of other probes than the last frame's are left out."""
    frames = [_load_frame(path) for path in film_folder(run).glob("step-*.safetensors")]
    if not frames:
        return None
    frames.sort(key=lambda frame: frame.step)
    subjects = [shot.subject for shot in frames[-1].shots]
    same = [frame for frame in frames if [shot.subject for shot in frame.shots] == subjects]
    return Film(same, read_scores(run / "metrics.jsonl"))


def read_scores(metrics: Path) -> dict[int, dict[str, float]]:
    """Return the val scores of each evaluation by step; a line that a kill cut off, or that is damaged, is skipped."""
    scores = {}
    for _, row in read_log(metrics):
        if is_kind(row.get("step"), int) and is_kind(row.get("evaluation"), dict[str, float | None]):
            told = row["evaluation"].items()
            scores[row["step"]] = {name: math.nan if value is None else float(value) for name, value in told}
    return scores


def _load_frame(path: Path) -> Frame:
    """Return the frame of a file; a damaged one is named."""
    tensors, head = read_tensors_and_head(path, HEAD, _no_frame)
    if is_kind(head.get("format"), int) and head["format"] != FORMAT:
        raise DataError(f"{path} is of format {head['format']}, this jumok reads {FORMAT}; upgrade jumok")
    try:
        check_entries(head, HEAD_ENTRIES)
        shots = tuple(_read_shot(facts, tensors, place) for place, facts in enumerate(head["shots"]))
        if not shots:
            raise ValueError("it has no probes")
    except ValueError as error:
        raise _no_frame(str(path), str(error)) from None
    return Frame(head["step"], shots)


def _no_frame(place: str, why: str) -> DataError:
    return DataError(f"{place} is no whole frame of a film ({why}); copy the run again, or remove the file")


def _read_shot(facts: dict[str, Any], tensors: Mapping[str, Tensor], place: int) -> Shot:
    """Return the shot of a probe from its entry in the file's head, and its maps from the file's tensors."""
    check_entries(facts, SHOT_ENTRIES | (LATER_ENTRIES if "sides" in facts else {}))
    check_entries(facts, dict.fromkeys(IMAGES, str), needed=())
    labels = tuple(facts["queries"]), tuple(facts["keys"])
    maps = []
    for number, one in enumerate(facts["maps"]):
        check_entries(one, MAP_ENTRIES)
        check_entries(one, {"grid": list[int] | None}, needed=())
        weights = tensors.get(f"{place}.{number}")
        if weights is None or weights.dim() != 3 or weights.shape[1:] != tuple(map(len, labels)) or 0 in weights.shape:
            shape = "no" if weights is None else tuple(weights.shape)
            raise ValueError(f"probe {place + 1} has weights of shape {shape}")
        if not weights.isfinite().all():
            raise ValueError(f"probe {place + 1} has weights that are no numbers")
        grid = tuple(one["grid"]) if one.get("grid") else None
        if grid is not None and (len(grid) != 2 or min(grid) < 1):
            raise ValueError(f"probe {place + 1} has cells in a grid of {grid}")
        maps.append(AttentionMap(one["path"], one["kind"], one["layer"], weights.float(), *labels, grid))
    words = tuple(facts["source_words"]), tuple(facts["reference_words"])
    for numbers, parts in zip(words, reversed(labels), strict=True):
        if numbers and (len(numbers) != len(parts) or not all(0 <= number < len(parts) for number in numbers)):
            raise ValueError(f"probe {place + 1} has {len(numbers)} numbers of words for {len(parts)} tokens")
    if not maps:
        raise ValueError(f"probe {place + 1} has no maps")
    texts = facts["source"], facts["reference"], facts["translation"]
    if "sides" not in facts:  # an older frame is of a translation
        return Shot(*texts, tuple(maps), *words)
    if len(facts["sides"]) != 2 or facts["answer_is"] not in ANSWERS:
        raise ValueError(f"probe {place + 1} is answered by a '{facts['answer_is']}'")
    queries, keys = facts["sides"]
    images = {name: facts.get(name, "") for name in IMAGES}  # older frames are of texts
    for url in filter(None, images.values()):
        from_data_url(url)
    return Shot(*texts, tuple(maps), *words, sides=(queries, keys), answer_is=facts["answer_is"], **images)
