"""The Transformer as every engine knows it: what other ones may be made of is refused before an export."""

from typing import Any

from jumok.errors import ConfigError


def refuse_unsupported(config: Any, engine: str) -> None:
    """Raise where a translator is made of what other engines do not have."""
    if config.name != "transformer":
        raise ConfigError(f"{engine} has no '{config.name}'; jumok exports the Transformer to it")
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
