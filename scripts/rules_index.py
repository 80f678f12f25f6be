"""The index from rules to tests: `python -m scripts.rules_index [SECTION …]`.

For each section of docs/figures.md it prints the test functions that hold it, those of the files in tests/spec whose
docstring ends with `Rules: SECTION, …`, and the rules that are broken on purpose and found by these files. For each
numbered case it prints its test functions.
"""

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.mutations.__main__ import RULES, read_mutations

ROOT: Final = Path(__file__).parents[1]
SPEC: Final = ROOT / "tests" / "spec"
HEADING: Final = re.compile(r"^#{2,3} (.+)$", re.MULTILINE)
NAMED: Final = re.compile(r"\sRules: ([\w, -]+)\.\n?\Z")
NUMBERED: Final = re.compile(r"test_([tv]\d\d)_")


def sections() -> Sequence[str]:
    """Return the headings of the page of rules, in their order."""
    return HEADING.findall((ROOT / "docs" / "figures.md").read_text(encoding="utf-8"))


def tests_of(path: Path) -> tuple[Sequence[str], Sequence[str]]:
    """Return the sections that a file of tests names, and its test functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    named = NAMED.search(ast.get_docstring(tree, clean=False) or "")
    functions = [part.name for part in tree.body if isinstance(part, ast.FunctionDef) and part.name.startswith("test_")]
    return named[1].split(", ") if named else [], functions


def index() -> dict[str, dict[str, Sequence[str]]]:
    """Return the test functions of each section by file; sections that no page has are among them."""
    found: dict[str, dict[str, Sequence[str]]] = {name: {} for name in sections()}
    for path in sorted(SPEC.glob("test_*.py")):
        named, functions = tests_of(path)
        for name in named:
            found.setdefault(name, {})[path.name] = functions
    return found


def cases() -> dict[str, list[str]]:
    """Return the test functions of each numbered case, T01 of the finance cases and V01 of the explained variances."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for function in tests_of(path)[1]:
            if number := NUMBERED.match(function):
                found.setdefault(number[1].upper(), []).append(f"{path.relative_to(ROOT)}::{function}")
    return dict(sorted(found.items()))


def lines(asked: Sequence[str]) -> Iterator[str]:
    """Yield the index of the sections that are asked for, all of them and the cases where none is."""
    rules = read_mutations(RULES)
    for name, files in index().items():
        if asked and name.lower() not in asked:
            continue
        yield f"{name}"
        for file, functions in files.items():
            yield from (f"  tests/spec/{file}::{function}" for function in functions)
            broken = [known.rule for known in rules if f"tests/spec/{file}" in known.tests]
            yield from (f"    broken on purpose: {rule}" for rule in broken)
    if not asked:
        for number, functions in cases().items():
            yield from (f"{number}  {function}" for function in functions)


def main() -> None:
    """Print the index."""
    sys.stdout.writelines(f"{line}\n" for line in lines([name.lower() for name in sys.argv[1:]]))


if __name__ == "__main__":
    main()
