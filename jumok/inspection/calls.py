"""Which module of the observed model is being called.

Weights that come out of a function are filed under it, and so are weights that are marked.

observe → hooks on every module that is neither jumok's nor torch's → open calls of this context, the innermost last
        → while one is open, torch's functions are seen (inspection/functions.py), and jumok.watch knows its module

Hooks do nothing in calls of other threads and are removed at the end.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple

from torch import Tensor, nn

from jumok.inspection.foreign_details import Ingredients, explain_weights
from jumok.inspection.record import AttentionRecord
from jumok.inspection.uncompiled import kept_out_of_compiled_code
from jumok.nn.recording import recorder_for

# B batch · H heads · T tokens · Q queries · K keys · D width

WITHOUT_DETAILS = (
    "The details of some maps could not be kept: their weights are not softmax(q · k · scale) under a mask alone, as where "
    "a position bias is added or where they were marked by jumok.watch"
)


class Observation:
    """A block of observe: how foreign weights get into its record, and what is to be said at its end."""

    def __init__(self, record: AttentionRecord) -> None:
        self.record = record
        self.called = False  # whether a foreign module of the model has been called
        self.notes: dict[str, list[str]] = {}  # sentences that end in the paths of the modules they are about

    def covers(self, module: nn.Module) -> bool:
        """Return whether calls of a module are recorded here and now, by this block."""
        return recorder_for(module) is self.record

    def note(self, sentence: str, module: nn.Module) -> None:
        """Keep a sentence about a module for the end of the block."""
        path, about = self.record.observed[module].path, self.notes.setdefault(sentence, [])
        if path not in about:
            about.append(path)

    def kind_of_step(self, module: nn.Module, weights: Tensor) -> str:
        """Return the kind of a module's single query (B, H, 1, K), known from the call before; "" where none tells."""
        queries, keys = weights.shape[-2:]
        path = self.record.observed[module].path
        before = (found for found in reversed(self.record.maps) if found.path == path and queries == 1 < keys)
        return next((found.kind for found in before if found.weights.shape[-1] in (keys - 1, keys)), "")

    def file(
        self,
        module: nn.Module,
        kind: str,
        weights: Tensor,
        *,
        grid: tuple[int, int] | None = None,
        checked: bool = True,
        ingredients: Ingredients | None = None,
    ) -> None:
        """Keep weights (B, H, Q, K) of a foreign module, and their details where they are wanted and known.

        A module that is called again inside one call of the model is another layer each time, as in ALBERT; one query
        at a time is a step.
        """
        record = self.record
        if not record.keeps_maps:
            return
        if record.keeps_details:
            details = None if ingredients is None else explain_weights(weights, ingredients)
            if details is None:
                self.note(WITHOUT_DETAILS, module)
            else:
                record.note(
                    query=details.query,
                    key=details.key,
                    value=details.value,
                    output=details.output,
                    scale=details.scale,
                    mask=None if details.mask is None else details.mask[:, None],
                )
        outermost = next((call for call in _open.get() if call.observation is self), None)
        repeat = 0
        if outermost is not None and weights.shape[-2] > 1:
            repeat = outermost.times[module]
            outermost.times[module] += 1
        record.file(module, kind, weights, grid=grid, repeat=repeat, checked=checked)


class Product(NamedTuple):
    """The factors of a matrix product."""

    left: Tensor
    right: Tensor


@dataclass
class OpenCall:
    """A call of a module of the observed model that has not ended."""

    module: nn.Module
    observation: Observation
    given: tuple[object, ...]
    maps_before: int  # how many maps the record had when it began
    times: Counter[nn.Module] = field(default_factory=Counter)  # how often a module has filed inside the outermost call
    products: list[Product] = field(default_factory=list)  # made directly in it, where details are wanted

    @property
    def path(self) -> str:
        """The path of its module."""
        return self.observation.record.observed[self.module].path

    @property
    def crosses(self) -> bool:
        """Whether it was given two sequences of vectors (B, T, D) with the same B and D."""
        sequences = [
            one for one in self.given if isinstance(one, Tensor) and one.dim() == 3 and one.is_floating_point()
        ]
        return any(one is not sequences[0] and one.shape[::2] == sequences[0].shape[::2] for one in sequences[1:])

    @property
    def has_filed(self) -> bool:
        """Whether a map was filed since it began."""
        return len(self.observation.record.maps) > self.maps_before


_open: ContextVar[tuple[OpenCall, ...]] = ContextVar("open_calls", default=())


def innermost_call(observation: Observation | None = None) -> OpenCall | None:
    """Return the innermost open call of this context, or None where it is recorded by another observation."""
    calls = _open.get()
    return calls[-1] if calls and observation in (None, calls[-1].observation) else None


@contextmanager
def following_calls(
    model: nn.Module, observation: Observation, inside: AbstractContextManager[object]
) -> Iterator[None]:
    """Keep the open calls of the model's modules; each outermost call runs inside a context that can be entered again."""
    before = _open.get()
    entered = ExitStack()

    def is_open() -> bool:
        return any(call.observation is observation for call in _open.get())

    def begin(module: nn.Module, given: tuple[object, ...], named: dict[str, object]) -> None:
        if observation.covers(module):
            observation.called = True
            if not is_open():
                entered.enter_context(inside)
            call = OpenCall(module, observation, (*given, *named.values()), len(observation.record.maps))
            _open.set((*_open.get(), call))

    def end(module: nn.Module, given: object, output: object) -> None:
        if observation.covers(module):
            calls = _open.get()
            places = [place for place, call in enumerate(calls) if call.module is module]
            _open.set(calls[: places[-1]] if places else calls)
            if not is_open():
                entered.close()

    before_call, after_call = map(kept_out_of_compiled_code, (begin, end))
    with ExitStack() as hooks:
        for module in observation.record.observed:
            if _is_foreign(module, root=module is model):
                hooks.callback(module.register_forward_pre_hook(before_call, with_kwargs=True).remove)
                hooks.callback(module.register_forward_hook(after_call, always_call=True).remove)
        try:
            yield
        finally:
            _open.set(before)  # Ctrl-C leaves calls open: hooks do not see it
            entered.close()


def _is_foreign(module: nn.Module, *, root: bool) -> bool:
    """Return whether a module may compute attention in a way of its own."""
    home = type(module).__module__
    return not home.startswith(("jumok.", "torch.jit.")) and (root or not home.startswith("torch.nn."))
