"""Options that change how a command decodes, made from DecodingConfig: name, type, bound and help are written there once.

app.command(cls=decoding_command("beam"))(function) → options made when they are first needed → decoding_given(context)

They are made late because DecodingConfig needs pydantic, which `jumok --help` has no other use for.
"""

import inspect
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand

KEY = "jumok.decoding"  # where a context keeps what was given


class DecodingCommand(TyperCommand):
    """A command that takes decoding options beside its own."""

    chosen: ClassVar[tuple[str, ...]] = ()  # fields of DecodingConfig; none: all
    without: ClassVar[tuple[str, ...]] = ()
    _options: list[Any] | None = None

    @property
    def params(self) -> list[Any]:
        """The command's own parameters, then the decoding options: always the same list, which its library changes."""
        if self._options is None:
            self._options = decoding_parameters(self.chosen, self.without)
            self._params += self._options
        return self._params

    @params.setter
    def params(self, own: list[Any]) -> None:
        self._params = list(own)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; what was given for decoding is kept in its context."""
        values = {option.name: ctx.params.pop(option.name, None) for option in self._options or ()}
        ctx.meta[KEY] = {name: value for name, value in values.items() if _was_given(value)}
        return super().invoke(ctx)


def decoding_command(*chosen: str, without: tuple[str, ...] = ()) -> type[DecodingCommand]:
    """Return the class of a command that takes some fields of DecodingConfig as options, or all without some."""
    return type("DecodingCommand", (DecodingCommand,), {"chosen": chosen, "without": without})


def decoding_given(context: typer.Context) -> dict[str, Any]:
    """Return the decoding options that the user gave, by the names of their fields."""
    given: dict[str, Any] = context.meta[KEY]
    return given


def decoding_parameters(chosen: tuple[str, ...], without: tuple[str, ...] = ()) -> list[Any]:
    """Return an option for each chosen field of DecodingConfig, as typer makes them."""
    from jumok.config import DecodingConfig

    fields = DecodingConfig.model_fields
    names = [name for name in chosen or fields if name not in without]
    parameters = [_parameter(name, fields[name]) for name in names]

    def options(**values: Any) -> None:
        """Have a signature for typer to read."""

    vars(options)["__signature__"] = inspect.Signature(parameters)
    options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    app = typer.Typer(add_completion=False)
    app.command()(options)
    return list(typer.main.get_command(app).params)


def _parameter(name: str, field: Any) -> inspect.Parameter:
    """Return a field of DecodingConfig as a parameter of a typer command; bounds of floats are the config's to tell."""
    from annotated_types import Ge

    kind, several = field.annotation, field.annotation not in (int, float, bool)
    least: list[Any] = [bound.ge for bound in field.metadata if isinstance(bound, Ge)] if kind is int else []
    option = typer.Option(
        [] if several else False if kind is bool else None,
        f"--{name.replace('_', '-')}",
        min=least[0] if least else None,
        help=f"{field.description[0].upper()}{field.description[1:]}.{' May be repeated.' if several else ''}",
        rich_help_panel="Decoding",
        show_default=False,
    )
    annotation = list[str] if several else bool if kind is bool else kind | None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=option, annotation=annotation)


def _was_given(value: Any) -> bool:
    return value is not None and value is not False and value != [] and value != ()
