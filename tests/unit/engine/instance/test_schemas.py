"""The published JSON Schemas: current, valid, and holding the project's own instances."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from engine.instance.documents import read_document
from scripts.schemas import SCHEMAS, file_models, schema_text
from tests.support.books.loads import ROOT

MODELS = file_models()


@pytest.mark.parametrize("name", MODELS)
def test_a_published_schema_is_current_and_valid(name: str) -> None:
    assert (SCHEMAS / name).read_text(encoding="utf-8") == made(name), "run: make schemas"
    Draft202012Validator.check_schema(validator(name).schema)


def validator(name: str) -> Draft202012Validator:
    """Return what an editor checks a file with."""
    return Draft202012Validator(json.loads(made(name)))


@cache
def made(name: str) -> str:
    """Return a schema as it would be published now."""
    return schema_text(MODELS[name])


FILES = [
    path
    for instance in ("demo", "adventureworks", "oxford")
    for path in sorted((ROOT / "instances" / instance).rglob("*.yaml"))
    if ".tieout" not in path.parts
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_instances_of_the_project_fit_the_schemas(path: Path) -> None:
    folder = path.parent.parent if path.parent.name in ("domains", "statements") else path.parent
    kind = path.parent.name if path.parent.name in ("domains", "statements") else path.stem
    tree = typed(read_document(folder, path.relative_to(folder).as_posix()).tree)
    assert [error.message for error in validator(f"{kind}.json").iter_errors(tree)] == []


def typed(tree: Any) -> Any:
    """Return a tree of text as an editor reads it by YAML 1.2: numbers and truth values where they look like them."""
    if isinstance(tree, dict):
        return {key: typed(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [typed(item) for item in tree]
    if isinstance(tree, str) and re.fullmatch(r"[-+]?\d+(\.\d+)?", tree):
        return float(tree) if "." in tree else int(tree)
    return {"true": True, "false": False}.get(tree, tree) if isinstance(tree, str) else tree
