"""Writes the JSON Schemas of an instance's files to docs/schemas, for editors that complete and check YAML."""

import json
from pathlib import Path

from engine.instance.read import FILES
from engine.instance.validation import schema_of

SCHEMAS = Path(__file__).parents[1] / "docs" / "schemas"


def schemas() -> dict[str, str]:
    """Return the schema of each kind of file as text, by file name: domains/*.yaml is domains.json."""
    return {
        f"{pattern.split('/')[0].removesuffix('.yaml')}.json": json.dumps(
            {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema_of(model)}, indent=2
        )
        + "\n"
        for pattern, model in FILES.items()
    }


if __name__ == "__main__":
    SCHEMAS.mkdir(parents=True, exist_ok=True)
    for name, text in schemas().items():
        (SCHEMAS / name).write_text(text, encoding="utf-8")
