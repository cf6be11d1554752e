"""What explaining shares, whatever the model answers: what may be left out, and what each head and token was worth.

answer, found at full speed → one pass over its final ids under observe → Explanation
the same answer's log-probability without each head, and without each token of the text → importance
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from jumok.errors import ConfigError
from jumok.inspection.ablation import Ablation, attention_layers
from jumok.inspection.observe import observe
from jumok.inspection.record import AttentionMap, AttentionRecord
from jumok.lens.view import Side
from jumok.nn.positions import Positions
from jumok.predictors.explanation import Explanation, HeadWorth, TokenWorth

# N variants of a text

OPTIONS_OF = {"beam": "translation and captions", "guidance": "drawers"}  # what options of decoding are for
AT_ONCE = 16  # variants of a text that are read side by side

ExplanationT = TypeVar("ExplanationT", bound=Explanation[Any])
# Places of tokens, each left out of the text in a variant of its own (None: of no token) → log-probabilities (N,) of
# one and the same answer.
LogProbabilities = Callable[[Sequence[int | None]], Tensor]


@dataclass(frozen=True)
class Look:
    """What `jumok look` asks about a text."""

    to: str = ""  # the target language of a translator that has several
    target: str | None = None  # looked at instead of the model's own: a translation, a continuation, a class, a caption
    decoding: Mapping[str, Any] = field(default_factory=dict)  # options of the search
    importance: bool = False  # what heads and tokens were worth, too
    details: bool = False  # for a page: queries, keys and values, and further answers of a search

    def refuse(self, run: object, does: str, *, target: bool = False, decoding: AbstractSet[str] = frozenset()) -> None:
        """Refuse what has no meaning for a run that does something: all but a target and the named options of decoding."""
        refused = {"--to": "translation"} if self.to else {}
        if self.target is not None and not target:
            refused["--target"] = "translations, continuations, classes and captions"
        for name in self.decoding:
            if name not in decoding:
                refused[f"--{name.replace('_', '-')}"] = OPTIONS_OF.get(name, "language models")
        for option, others in refused.items():
            raise ConfigError(f"{option} is for {others}; {run} {does}")


def ablation_of(
    model: nn.Module,
    *,
    heads: Iterable[tuple[str, int]],
    hidden: Iterable[int],
    without_positions: bool,
    tokens: int,
) -> Ablation:
    """Return what is left out, tokens of the text counted from 0; what is not there is refused."""
    ablation = Ablation(frozenset(heads), frozenset(hidden), without_positions)
    layers = attention_layers(model)
    for path, head in ablation.heads:
        if path not in layers:
            raise ConfigError(f"there is no attention layer '{path}'; there are {', '.join(layers) or 'none'}")
        if not 0 <= head < layers[path]:
            raise ConfigError(f"{path} has {layers[path]} heads, counted from 0; there is no head {head}")
    for token in ablation.hidden:
        if not 0 <= token < tokens:
            raise ConfigError(f"the text has {tokens} tokens, counted from 0; there is no token {token} to leave out")
    has_positions = any(isinstance(one, Positions) and one.kind != "none" for one in model.modules())
    if without_positions and not has_positions:
        raise ConfigError("this model has no positions that could be left out")
    return ablation


def label_maps(record: AttentionRecord, looking: Mapping[str, tuple[Side, Side]]) -> None:
    """Cut the maps of a record to the one example, and label them by what looks at what (Explanation.looking)."""
    sides = [looking.get(found.kind) or looking[""] for found in record.maps]
    record.maps = [
        found.cut(queries.labels, keys.labels) for found, (queries, keys) in zip(record.maps, sides, strict=True)
    ]


@torch.inference_mode()
def weighed(
    explanation: ExplanationT,
    model: nn.Module,
    log_probabilities: LogProbabilities,
    *,
    kept: AbstractSet[int] = frozenset(),
) -> ExplanationT:
    """Return the explanation with what its answer loses without each head and each token of the text but those kept."""

    def without_head(path: str, head: int) -> float:
        with observe(model, ablation=Ablation(frozenset({(path, head)})), keep=False):
            return float(log_probabilities([None])[0])

    with observe(model, keep=False):  # as slow as the others, so that differences are not rounding
        whole = float(log_probabilities([None])[0])
    heads = [one for found in explanation.record.maps for one in _worth_of_heads(found, whole, without_head)]
    places = [place for place in range(len(explanation.source)) if place not in kept]
    some = [places[first : first + AT_ONCE] for first in range(0, len(places), AT_ONCE)]
    left = [value for portion in some for value in log_probabilities(portion).tolist()]
    tokens = [
        TokenWorth(explanation.source[place], place, whole - value) for place, value in zip(places, left, strict=True)
    ]
    return replace(explanation, worth=tuple(sorted(heads, key=lambda head: -head.lost)), token_worth=tuple(tokens))


def _worth_of_heads(
    found: AttentionMap, whole: float, without_head: Callable[[str, int], float]
) -> Iterable[HeadWorth]:
    """Yield the worth of each head of a map."""
    strongest = found.weights.amax(dim=-1).mean(dim=-1).tolist()
    for one in found.summaries():
        lost = whole - without_head(one.path, one.head)
        yield HeadWorth(one.path, one.kind, one.layer, one.head, lost, strongest[one.head], entropy=one.entropy)
