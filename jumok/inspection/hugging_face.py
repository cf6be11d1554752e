"""Models of transformers (Hugging Face), made to hand over their weights.

model → switched to its “eager” attention, whose layers return their weights beside their output
      → the returned tensor whose rows are distributions is filed: T5 returns its position biases, too

The switch belongs to the model: while it is observed, its calls from other threads run eagerly, too. In training mode
the weights are those after dropout, and rows need not sum to 1.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from inspect import currentframe, signature
from typing import Protocol, TypeGuard

from torch import Tensor, nn

from jumok.inspection.calls import Observation, OpenCall, innermost_call
from jumok.inspection.foreign_details import Ingredients
from jumok.inspection.kinds import guess_kind
from jumok.inspection.record import name_of
from jumok.inspection.rows import are_distributions, refuse_other_rows

# B batch · H heads · Q queries · K keys · D width

_OTHER_SEQUENCE = ("key_value_states", "encoder_hidden_states")  # the names of what cross-attention looks at
_ASKING = "output_attentions"  # the argument that asks older layers for their weights


def is_attention_of_transformers(module: nn.Module) -> bool:
    """Return whether a module is an attention layer of transformers, or a wrapper of one."""
    return "Attention" in type(module).__name__ and type(module).__module__.startswith("transformers")


def make_weights_hook(observation: Observation) -> Callable[..., None]:
    """Return a hook that files, after each call, the weights that an attention layer of transformers returns."""

    def after(module: nn.Module, given: object, named: dict[str, object], output: object) -> None:
        call = innermost_call(observation)
        if call is None or call.module is not module or call.has_filed or not isinstance(output, tuple):
            return
        found = [one for one in output[1:] if isinstance(one, Tensor) and _may_be_weights(one, output[0])]
        if not found:
            return
        weights = next((one for one in reversed(found) if are_distributions(one)), None)
        if weights is None and not module.training:
            refuse_other_rows(found[-1], name=name_of(module, call.path))
            return  # only zeros: biases, whose weights have been filed or are not returned
        weights = found[-1] if weights is None else weights
        crossed = any(named.get(name) is not None for name in _OTHER_SEQUENCE)
        causal = bool(getattr(module, "is_causal", False))
        kind = observation.kind_of_step(module, weights) or guess_kind(
            call.path, weights, crossed=crossed, causal=causal, plain="encoder"
        )
        observation.file(
            module,
            kind,
            weights,
            checked=not module.training,
            ingredients=_find_ingredients(call, weights, output[0]) if observation.record.keeps_details else None,
        )

    return after


def make_asking_hook(module: nn.Module) -> Callable[..., object] | None:
    """Return a hook that asks for the weights before each call, for layers that return them only where they are asked.

    Their callers take no notice of one output more.
    """
    names = list(signature(module.forward).parameters)
    if _ASKING not in names:
        return None
    place = names.index(_ASKING)

    def before(module: nn.Module, given: tuple[object, ...], named: dict[str, object]) -> tuple[object, object]:
        if place < len(given):
            return (*given[:place], True, *given[place + 1 :]), named
        return given, named | {_ASKING: True}

    return before


def _may_be_weights(found: Tensor, output: object) -> bool:
    """Return whether a tensor is (B, H, Q, K), where the output (B, Q, D) tells Q."""
    has_queries = not isinstance(output, Tensor) or output.dim() != 3 or found.shape[-2] in output.shape[:2]
    return found.dim() == 4 and found.is_floating_point() and has_queries


def _find_ingredients(call: OpenCall, weights: Tensor, output: object) -> Ingredients | None:
    """Return what weights (B, H, Q, K) were computed from, found among the matrix products of a call."""
    values = (*weights.shape[:2], weights.shape[3])
    scores = [one for one in call.products if _product_shape(one.left, one.right) == weights.shape]
    sums = [one for one in call.products if one.left.shape == weights.shape and one.right.shape[:3] == values]
    if not scores or not sums or not isinstance(output, Tensor):
        return None
    query, key = scores[0].left, scores[0].right.transpose(-2, -1)
    own = getattr(call.module, "scaling", None)
    scales = [float(own)] if isinstance(own, float) else []
    return Ingredients(query, key, sums[-1].right, output, scales=(*scales, query.shape[-1] ** -0.5, 1.0))


def _product_shape(left: Tensor, right: Tensor) -> tuple[int, ...]:
    return (*left.shape[:-1], *right.shape[-1:])


class _TransformersConfig(Protocol):
    """The part of a transformers configuration that names its attention."""

    _attn_implementation: str


class _TransformersModel(Protocol):
    """The part of a transformers model that switches its attention."""

    config: _TransformersConfig

    def set_attn_implementation(self, attn_implementation: str) -> None:
        """Switch all attention layers of the model."""


def is_model_of_transformers(module: nn.Module) -> TypeGuard[_TransformersModel]:
    """Return whether a module can switch its attention; asked of its class, which is four times as fast."""
    return hasattr(type(module), "set_attn_implementation")


def can_generate(module: nn.Module) -> bool:
    """Return whether a module is a model of transformers that writes text."""
    return is_model_of_transformers(module) and hasattr(type(module), "generate")


@contextmanager
def eager(modules: Iterable[nn.Module]) -> Iterator[None]:
    """Switch the models of transformers among modules, the outermost first, to attention that returns its weights."""
    before = [(module, module.config._attn_implementation) for module in modules if is_model_of_transformers(module)]
    try:
        for module, implementation in before:
            if implementation != "eager":
                module.set_attn_implementation("eager")
        yield
    finally:
        for module, implementation in before:
            if module.config._attn_implementation != implementation:
                module.set_attn_implementation(implementation)


def make_beam_search_hook(observation: Observation) -> Callable[..., None]:
    """Return a hook that notes, before each call of a model, whether generate's beam search makes it.

    Beam search reorders the rows of its cache between calls, and nothing that a module sees tells so.
    """

    def before(module: nn.Module, given: object) -> None:
        frame = currentframe()
        while frame is not None and observation.covers(module):
            if frame.f_code.co_name == "_beam_search":
                observation.record.followed_beams = True
                return
            frame = frame.f_back

    return before
