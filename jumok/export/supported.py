"""The Transformer as every engine knows it: a model that is made of anything else is refused before an export."""

from typing import Any

from jumok.errors import ConfigError
from jumok.models.transformer import Transformer, TransformerConfig
from jumok.nn.model import Model


def supported_transformer(model: Model[Any], engine: str) -> Transformer:
    """Return a model as the Transformer that it is; raise where it is none, or none that the engine can run."""
    if not isinstance(model, Transformer):
        raise ConfigError(f"{engine} has no {type(model).__name__}; jumok exports the Transformer to it")
    refuse_unsupported(model.config, engine)
    return model


def refuse_unsupported(config: TransformerConfig, engine: str) -> None:
    """Raise where a Transformer is made of what other engines do not have."""
    wanted = {
        "norm": "layer",
        "residual": True,
        "scaled": True,
        "middle_feedforward": False,
        "cross_attention": "last",
        "head_width": (0, config.width // config.heads),
        "value_width": (0, config.width // config.heads),
        "position_join": "add",
        "positions": ("none", "sinusoidal", "sinusoidal-halves", "learned"),
    }
    for key, allowed in wanted.items():
        found = getattr(config, key)
        if found not in (allowed if isinstance(allowed, tuple) else (allowed,)):
            raise ConfigError(
                f"{engine} has no Transformer with model.{key} = {found!r}; it takes "
                f"{' or '.join(map(repr, allowed)) if isinstance(allowed, tuple) else repr(allowed)}"
            )
    if not config.feedforward:
        raise ConfigError(f"{engine} has no Transformer without a feed-forward layer (model.feedforward = 0)")
