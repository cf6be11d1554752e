"""The film of a run on disk: where its model looked in the same few sentences, from the first step to the last.

Frame → RUN/film/step-N.safetensors (weights in 16 bits, the rest as JSON in the file's head)
      → Film, with the scores of metrics.jsonl
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from jumok.errors import DataError, RunError
from jumok.inspection.film import Frame, Shot
from jumok.inspection.record import AttentionMap
from jumok.json_text import json_text
from jumok.tensor_file import DamagedFileError, read_tensors, write_tensors
from jumok.writing import Refusal, explained

FORMAT = 1
HEAD = "jumok_frame"  # the one entry of the file's head that is ours
UNWRITTEN = Refusal(
    RunError,
    "mend that, then go on with --resume (--set training.probes=0: without a film)",
    "free some space, then go on with --resume (--set training.probes=0: without a film)",
)


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
    """Return the val scores of each evaluation by step; a line cut off by a kill is skipped."""
    scores = {}
    for line in metrics.read_text(encoding="utf-8").splitlines() if metrics.exists() else []:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if "evaluation" in row:
            scores[int(row["step"])] = {
                name: math.nan if value is None else float(value) for name, value in row["evaluation"].items()
            }
    return scores


def _load_frame(path: Path) -> Frame:
    """Return the frame of a file; a damaged one is named."""
    try:
        tensors, text = read_tensors(path, HEAD)
        head = json.loads(text)
        if head["format"] != FORMAT:
            raise DataError(f"{path} is of format {head['format']}, this jumok reads {FORMAT}; upgrade jumok")
        shots = tuple(_read_shot(one, tensors, place) for place, one in enumerate(head["shots"]))
        return Frame(int(head["step"]), shots)
    except (OSError, ValueError, KeyError, TypeError) as error:
        kind = "" if isinstance(error, DamagedFileError) else f"{type(error).__name__}: "
        reason = f"{kind}{error}".splitlines()[0]
        raise DataError(
            f"{path} is no whole frame of a film ({reason}); copy the run again, or remove the file"
        ) from None


def _read_shot(facts: dict[str, Any], tensors: Mapping[str, Tensor], place: int) -> Shot:
    """Return the shot of a probe from its entry in the file's head and the file's tensors."""
    labels = tuple(facts["queries"]), tuple(facts["keys"])
    maps = []
    for number, one in enumerate(facts["maps"]):
        weights = tensors[f"{place}.{number}"].float()
        if weights.shape[1:] != tuple(map(len, labels)):
            raise ValueError(f"probe {place + 1} has weights of shape {tuple(weights.shape)}")
        grid = tuple(one["grid"]) if one.get("grid") else None
        maps.append(AttentionMap(one["path"], one["kind"], int(one["layer"]), weights, *labels, grid))
    words = tuple(facts["source_words"]), tuple(facts["reference_words"])
    texts = facts["source"], facts["reference"], facts["translation"]
    if "sides" not in facts:  # an older frame is of a translation
        return Shot(*texts, tuple(maps), *words)
    queries, keys = facts["sides"]
    images = {name: facts.get(name, "") for name in ("image", "drawing")}  # older frames are of texts
    return Shot(*texts, tuple(maps), *words, sides=(queries, keys), answer_is=facts["answer_is"], **images)
