"""The pieces that the files of an instance are made of."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

KEY = r"^[a-z][a-z0-9_]*$"
LIVE_TABLE = r"^live\.[a-z][a-z0-9_]*$"
Key = Annotated[str, Field(pattern=KEY)]
LiveTable = Annotated[str, Field(pattern=LIVE_TABLE)]


def core_bool(text: object) -> object:
    """Read a truth value as YAML 1.2 writes it."""
    return {"true": True, "false": False}.get(text, text) if isinstance(text, str) else text


def as_list(value: object) -> object:
    """Let one id stand for a list of one."""
    return [value] if isinstance(value, str) else value


# An id or code: the text that was written. Editors read 0010 or NO as a number or a truth value; they may.
Id = Annotated[str, WithJsonSchema({"type": ["string", "number", "boolean"]})]
Flag = Annotated[bool, Field(strict=True), BeforeValidator(core_bool)]
Ids = Annotated[
    list[Id],
    BeforeValidator(as_list),
    Field(min_length=1),
    WithJsonSchema(
        {"anyOf": [{"type": ["string", "number", "boolean"]}, {"type": "array", "minItems": 1, "items": {}}]}
    ),
]
Where = dict[Key, Ids]


class Part(BaseModel):
    """A mapping whose keys are all known."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)
