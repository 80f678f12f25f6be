"""Counts the classes above 200 lines, and fails where one grows or a new one comes: `python -m scripts.class_sizes`."""

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROOMS = ("benches", "engine", "instances", "sandbox", "scripts", "server", "tests")
MAX_LINES = 200
LONG = {  # lines of each class that is longer; a class that gets shorter lowers its number
    "tests/differential/figures.py Oracle": 385,
    "server/files/detection.py FeedFormat": 313,
    "engine/books/reader.py Reader": 291,
    "engine/model/members/trees.py RaggedNodes": 296,
    "engine/model/calendar/calendar.py Calendar": 267,
    "server/warehouses/warehouse.py Warehouse": 253,
    "server/warehouses/statements.py StatementText": 244,
    "scripts/verification.py Verification": 216,
    "server/warehouses/facts.py WarehouseFacts": 213,
}


def long_classes(files: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield the classes of some files, by name and text, that have more lines than a class should."""
    for name, text in files.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and (lines := (node.end_lineno or 0) - node.lineno + 1) > MAX_LINES:
                yield f"{name} {node.name}", lines


def complaints(found: Mapping[str, int], known: Mapping[str, int]) -> list[str]:
    """Return what differs between the long classes that there are and those that are known."""
    grown = [
        f"{name}: {lines} lines, more than {known.get(name, MAX_LINES)}. Split it."
        for name, lines in found.items()
        if lines > known.get(name, MAX_LINES)
    ]
    shrunk = [
        f"{name}: {found.get(name, 'at most 200')} lines now. Write that into scripts/class_sizes.py."
        for name, lines in known.items()
        if found.get(name, 0) < lines
    ]
    return [*grown, *shrunk]


def main() -> int:
    """Print the number of long classes and what is wrong with them; return the exit status."""
    paths = (path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
    files = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    found = dict(long_classes(files))
    wrong = complaints(found, LONG)
    sys.stdout.write("\n".join([f"{len(found)} classes above {MAX_LINES} lines", *wrong, ""]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
