"""docs/architecture.md names types that exist, and the core sentence stands where a reader meets the house."""

import ast
import re

from tests.support.books.loads import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CORE = "Reads are lazy Polars plans with the cell pushed into them."


def classes_of(path: str) -> set[str]:
    """Return the classes that a file defines."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.ClassDef)}


def test_each_type_of_the_table_stands_in_its_file_and_in_the_picture() -> None:
    table = re.findall(r"^\| `(\w+)` \| `([\w/]+\.py)` \|", PAGE, re.MULTILINE)
    assert len(table) > 15
    assert [name for name, path in table if name not in classes_of(path)] == []
    picture = PAGE.split("```")[1]
    beside = {"Reader", "BaseGroup", "Question"}  # what each of the others uses
    assert {name for name, _ in table if name not in picture} <= beside


def test_each_file_that_the_page_names_is_there() -> None:
    named = set(re.findall(r"`((?:engine|server|tests)/[\w/.]*)`", PAGE))
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_core_sentence_stands_in_readme_glossary_and_on_the_page() -> None:
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/glossary.md")}
    flat = {name: " ".join(text.split()) for name, text in {**texts, "docs/architecture.md": PAGE}.items()}
    assert [name for name, text in flat.items() if CORE not in text] == []
    assert "lazy frame over a cell" not in "".join(flat.values())
