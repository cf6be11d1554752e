"""What `jumok schema` does: the JSON schema of recipes, for editors."""

from typing import Any

from jumok.catalogue import MODELS, TASKS, config_class, task_class
from jumok.config import DecodingConfig, Section, TokenizerConfig, TrainingConfig


def recipe_schema() -> dict[str, Any]:
    """Return the JSON schema of recipes."""
    sections: dict[str, list[type[Section]]] = {
        "data": [task_class(name).Data for name in TASKS],
        "tokenizer": [TokenizerConfig],
        "model": [config_class(name) for name in MODELS],
        "training": [TrainingConfig],
        "decoding": [DecodingConfig],
    }
    definitions: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    for name, classes in sections.items():
        for found in classes:
            schema = found.model_json_schema(ref_template="#/$defs/{model}")
            definitions |= schema.pop("$defs", {}) | {found.__name__: schema}
        properties[name] = {"anyOf": [{"$ref": f"#/$defs/{found.__name__}"} for found in classes]}
    own = {"type": "string", "pattern": ":"}  # "package.module:Class", whose keys nobody knows here
    definitions["OwnModel"] = {
        "type": "object",
        "properties": {"name": own},
        "required": ["name"],
        "additionalProperties": True,
    }
    properties["model"]["anyOf"].append({"$ref": "#/$defs/OwnModel"})
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "jumok recipe",
        "type": "object",
        "properties": {"task": {"anyOf": [{"enum": list(TASKS)}, own]}, **properties},
        "required": ["data"],
        "additionalProperties": False,
        "$defs": definitions,
    }
