"""Writes the JSON Schemas of an instance's files to docs/schemas, for editors that complete and check YAML."""

import json
from pathlib import Path

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import ModelSchema

from engine.instance.read import FILES, INTEGRATIONS
from server.feeds.integrations import IntegrationsFile
from server.wire.arguments import field_docs

SCHEMAS = Path(__file__).parents[1] / "docs" / "schemas"


class DescribedSchema(GenerateJsonSchema):
    """Describes each key by the docstring below its field, which no process that serves reads."""

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        """Return the schema of a mapping."""
        made, model = super().model_schema(schema), schema["cls"]
        docs = field_docs(model, BaseModel)
        for name, field in model.model_fields.items():
            if name in docs:
                made["properties"][field.alias or name]["description"] = docs[name]
        return made


def schemas() -> dict[str, str]:
    """Return the schema of each kind of file as text, by file name: domains/*.yaml is domains.json."""
    return {name: schema_text(model) for name, model in file_models().items()}


def file_models() -> dict[str, type[BaseModel]]:
    """Return the model of each kind of file by the name of its schema."""
    files: dict[str, type[BaseModel]] = {**FILES, INTEGRATIONS: IntegrationsFile}
    return {f"{pattern.split('/')[0].removesuffix('.yaml')}.json": model for pattern, model in files.items()}


def schema_text(model: type[BaseModel]) -> str:
    """Return the schema of a kind of file as text."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **model.model_json_schema(by_alias=True, schema_generator=DescribedSchema),
    }
    return json.dumps(schema, indent=2) + "\n"


if __name__ == "__main__":
    SCHEMAS.mkdir(parents=True, exist_ok=True)
    for name, text in schemas().items():
        (SCHEMAS / name).write_text(text, encoding="utf-8")
