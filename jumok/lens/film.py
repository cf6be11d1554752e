"""The film of a run: where its model looked in the same few sentences, from noise to alignment.

Frame → RUN/film/step-N.safetensors (weights in 16 bits, the rest as JSON in the file's head) → Film, with the scores of metrics.jsonl
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from jumok.errors import DataError, RunError
from jumok.inspection.record import AttentionMap, AttentionRecord

FORMAT = 1
HEAD = "jumok_frame"  # the one entry of the file's head that is ours


@dataclass(frozen=True)
class Shot:
    """One probe sentence at one step. The maps follow the reference, so that their words stay the same all through."""

    source: str
    reference: str
    translation: str  # the model's own at that step
    maps: tuple[AttentionMap, ...]  # over the source, (H, Q, K), with labels
    source_words: tuple[int, ...] = ()  # the word of each source token, its end included
    reference_words: tuple[int, ...] = ()

    @property
    def record(self) -> AttentionRecord:
        """The maps as a record."""
        return AttentionRecord(list(self.maps))

    @property
    def entropy(self) -> float:
        """The mean entropy of all heads, in nats."""
        return _mean([head.entropy for found in self.maps for head in found.summaries()])

    @property
    def on_end(self) -> float:
        """The mean weight on the end token over all heads."""
        return _mean([head.on_end for found in self.maps for head in found.summaries()])

    @property
    def subject(self) -> tuple[Any, ...]:
        """What does not change from step to step."""
        maps = tuple((found.path, found.kind, found.queries, found.keys) for found in self.maps)
        return self.source, self.reference, maps


@dataclass(frozen=True)
class Frame:
    """All probes at one step."""

    step: int
    shots: tuple[Shot, ...]


@dataclass(frozen=True)
class Film:
    """Frames by step, all of the same probes, and the val scores of each evaluation."""

    frames: Sequence[Frame]
    scores: Mapping[int, Mapping[str, float]]

    @property
    def score(self) -> str:
        """The score that tells most of a translator: BLEU where it was taken, the loss otherwise."""
        return "bleu" if any("bleu" in scores for scores in self.scores.values()) else "loss"


def film_folder(run: Path) -> Path:
    """Return where a run's frames are kept."""
    return run / "film"


def save_frame(frame: Frame, run: Path) -> None:
    """Write a frame into the folder of a run, whole or not at all."""
    folder = film_folder(run)
    target = folder / f"step-{frame.step}.safetensors"
    part = target.with_name(f".{target.name}.part")
    tensors, shots = {}, []
    for place, shot in enumerate(frame.shots):
        for number, found in enumerate(shot.maps):
            tensors[f"{place}.{number}"] = found.weights.half().cpu().contiguous()
        maps = [{"path": found.path, "kind": found.kind, "layer": found.layer} for found in shot.maps]
        labels = {"queries": shot.maps[0].queries, "keys": shot.maps[0].keys}
        facts = {name: value for name, value in vars(shot).items() if name != "maps"}
        shots.append(facts | labels | {"maps": maps})
    head = json.dumps({"format": FORMAT, "step": frame.step, "shots": shots}, ensure_ascii=False)
    try:
        folder.mkdir(exist_ok=True)
        save_file(tensors, part, metadata={HEAD: head})
        part.replace(target)
    except (OSError, SafetensorError) as error:
        raise RunError(
            f"{target} cannot be written ({error}); mend that, then go on with --resume (--set training.probes=0: without a film)."
        ) from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def forget_frames(run: Path, *, after: int) -> None:
    """Remove the frames after a step, as lines of the log are when a run goes on from there."""
    for path in film_folder(run).glob("step-*.safetensors"):
        step = path.stem.removeprefix("step-")
        if step.isdigit() and int(step) > after:
            path.unlink()
    for path in film_folder(run).glob(".step-*.part"):  # left half-written by a kill
        path.unlink()


def load_film(run: Path) -> Film | None:
    """Return the film of a run, or None where there is none; frames of other probes than the last one's are left out."""
    frames = sorted(
        (_load_frame(path) for path in film_folder(run).glob("step-*.safetensors")), key=lambda one: one.step
    )
    if not frames:
        return None
    subjects = [shot.subject for shot in frames[-1].shots]
    same = [frame for frame in frames if [shot.subject for shot in frame.shots] == subjects]
    return Film(same, read_scores(run / "metrics.jsonl"))


def read_scores(metrics: Path) -> dict[int, dict[str, float]]:
    """Return the val scores of each evaluation by step; a line cut off by a kill is passed over."""
    scores = {}
    for line in metrics.read_text(encoding="utf-8").splitlines() if metrics.exists() else []:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if "evaluation" in row:
            scores[int(row["step"])] = {name: float(value) for name, value in row["evaluation"].items()}
    return scores


def _load_frame(path: Path) -> Frame:
    try:
        with safe_open(path, framework="pt") as file:
            head = json.loads((file.metadata() or {})[HEAD])
            if head["format"] != FORMAT:
                raise DataError(f"{path} is of format {head['format']}, this jumok reads {FORMAT}; upgrade jumok")
            shots = tuple(_shot(facts, file, place) for place, facts in enumerate(head["shots"]))
        return Frame(int(head["step"]), shots)
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise DataError(
            f"{path} is no whole frame of a film ({reason}); copy the run again, or remove the file"
        ) from None


def _shot(facts: dict[str, Any], file: Any, place: int) -> Shot:
    labels = tuple(facts["queries"]), tuple(facts["keys"])
    maps = []
    for number, one in enumerate(facts["maps"]):
        weights = file.get_tensor(f"{place}.{number}").float()
        if weights.shape[1:] != tuple(map(len, labels)):
            raise ValueError(f"probe {place + 1} has weights of shape {tuple(weights.shape)}")
        maps.append(AttentionMap(one["path"], one["kind"], int(one["layer"]), weights, *labels))
    words = tuple(facts["source_words"]), tuple(facts["reference_words"])
    return Shot(facts["source"], facts["reference"], facts["translation"], tuple(maps), *words)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
