"""What every section of a recipe is: strict about keys and types, and clear about what is wrong.

TOML → dict → Section classes. A wrong key or value becomes a ConfigError that names the nearest right one.
Zero means "choose for me" or "off" wherever a number may be left out; recipes hold no empty values.
"""

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from jumok.errors import ConfigError, did_you_mean


class Section(BaseModel):
    """A table of a recipe: unknown keys are refused, values are not converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, protected_namespaces=())
    INSIDE: ClassVar["type[Section] | None"] = None  # the tables that stand inside this one
    FILLED_IN: ClassVar[tuple[str, ...]] = ()  # keys that a run takes from its data where the recipe leaves them out

    @classmethod
    def parse(cls, values: Any, where: str) -> Self:
        """Return the section made of values; where names it in messages, e.g. 'model'."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise ConfigError(explain(error, cls, where)) from None


def one_is_a_list(schema: dict[str, Any]) -> None:
    """Say in the schema that one corpus may stand for a list of one."""
    schema["anyOf"] = [schema["items"], {"type": schema.pop("type"), "items": schema.pop("items")}]


def one_or_its_name(schema: dict[str, Any]) -> None:
    """Say in the schema that a file's name may stand for the file, and one for a list of one."""
    file = {"anyOf": [schema["items"], {"type": "string"}]}
    schema["anyOf"] = [*file["anyOf"], {"type": schema.pop("type"), "items": file}]
    schema.pop("items")


def table_or_name(schema: dict[str, Any]) -> None:
    """Say in the schema that a name alone may stand for a table."""
    table = {"$ref": schema.pop("$ref")} if "$ref" in schema else {"allOf": schema.pop("allOf")}
    schema["anyOf"] = [table, {"type": "string"}]


def explain(error: ValidationError, cls: type[Section], where: str) -> str:
    """Return one line for each problem, with the allowed values or the nearest key."""
    return "\n".join(_explain_one(dict(detail), cls, where) for detail in error.errors())


def _explain_one(detail: dict[str, Any], cls: type[Section], where: str) -> str:
    path = [where, *(str(part) for part in detail["loc"])]
    place, given, context = ".".join(path), detail["input"], detail.get("ctx", {})
    match detail["type"]:
        case "extra_forbidden":
            known = ((len(path) > 2 and cls.INSIDE) or cls).model_fields
            return f"[{'.'.join(path[:-1])}] has no key '{path[-1]}'; {did_you_mean(path[-1], known)}"
        case "missing":
            return f"{place} is missing"
        case "literal_error":
            return f"{place} = {given!r}: must be {context['expected']}"
        case "greater_than_equal":
            return f"{place} = {given!r}: must be at least {context['ge']}"
        case "greater_than":
            return f"{place} = {given!r}: must be above {context['gt']}"
        case "less_than_equal":
            return f"{place} = {given!r}: must be at most {context['le']}"
        case "less_than":
            return f"{place} = {given!r}: must be below {context['lt']}"
        case kind if kind.endswith("_type"):
            wanted = {
                "int": "a whole number",
                "float": "a number",
                "bool": "true or false",
                "string": "text in quotes",
                "list": "a list",
                "model": "a table",
            }
            return f"{place} = {given!r}: must be {wanted.get(kind.removesuffix('_type'), kind.removesuffix('_type'))}"
        case _:
            return f"{place} = {given!r}: {detail['msg'][0].lower()}{detail['msg'][1:]}"
