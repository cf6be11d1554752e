"""A trained run that a model is made of: named by its folder, known by the hash of its weights.

A run whose component is missing or has changed is refused: its own weights were learnt with that one.
"""

from typing import Any, ClassVar

from pydantic import Field

from jumok.config.section import Section


class ComponentConfig(Section):
    """A run that serves another."""

    FILLED_IN: ClassVar[tuple[str, ...]] = ("hash", "model")
    TASK: ClassVar[str]  # of runs that can be such a component

    run: str = Field("", description="the folder of the run")
    hash: str = Field("", description="filled in: sha256 of the weights it starts from")
    model: dict[str, Any] = Field({}, description="filled in: [model] of the run")

    @property
    def frozen(self) -> bool:
        """Whether its weights stay as they are."""
        return True

    @property
    def title(self) -> str:
        """What it is called in messages."""
        return self.run

    def taken(self, *, hash: str, size: int, model: dict[str, Any]) -> dict[str, Any]:
        """Return what is filled in of the component that was found."""
        return {"hash": hash, "model": model}


class CodesConfig(ComponentConfig):
    """The image codes that a drawer draws in."""

    TASK = "image-codes"


def as_run(value: Any) -> Any:
    """Return a component that is given by its folder alone as a table."""
    return {"run": value} if isinstance(value, str) else value
