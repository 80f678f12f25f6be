"""The house rules that no linter knows: sizes, openings, names, and where anything may be caught."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from tests.support.books import ROOT
from tests.support.tracked import tracked

LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")
LONGEST = 400
PACKAGES = ("engine", "sandbox", "server")
NOT_USED = ("manager", "service", "handler", "processor", "helper", "util", "utils", "context")


CODE = [path for path in tracked("*.py") if path.relative_to(ROOT).parts[0] in PACKAGES]


def named(path: Path) -> str:
    """Return a file's name in the checkout."""
    return path.relative_to(ROOT).as_posix()


def test_a_file_opens_with_what_it_is_and_is_short() -> None:
    product = {named(path): path.read_text(encoding="utf-8") for path in tracked("*.py") if "tests" not in path.parts}
    assert [name for name, text in product.items() if len(text.splitlines()) > LONGEST] == []
    openings = {name: (ast.get_docstring(ast.parse(text)) or "").split("\n")[0] for name, text in product.items()}
    assert [name for name, first in openings.items() if not first.endswith((".", ":"))] == []


def test_everything_is_caught_in_one_place_only() -> None:
    broad = [
        named(path)
        for path in CODE
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")))
    ]
    # a script of somebody's; a call of somebody's, in its thread and around it; a call of a driver, in its thread
    caught = ["sandbox/script.py", "server/http/dispatch.py", "server/http/dispatch.py", "server/ingest/databases.py"]
    assert broad == caught


def test_no_class_or_module_is_named_after_what_it_does_in_general() -> None:
    words = re.compile("|".join(NOT_USED), re.IGNORECASE)
    modules = [named(path) for path in CODE if words.search(path.stem)]
    classes = [
        f"{named(path)}:{node.name}"
        for path in CODE
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and words.search(node.name)
    ]
    assert modules + classes == []


def test_no_class_name_occurs_twice() -> None:
    """Neither in the product nor in tests, benches, scripts and the generator of the demo."""
    places = defaultdict[str, list[str]](list)
    for path in tracked("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(named(path))
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


def test_silenced_checks_say_why() -> None:
    silenced = re.compile(r"# (noqa|type: ignore)(\[[^]]*\]|: [A-Z0-9, ]+)?\s*$")
    bare = [
        f"{named(path)}:{number}"
        for path in tracked("*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if silenced.search(line)
    ]
    assert bare == []


def test_the_architecture_holds() -> None:
    checked = subprocess.run([LINT_IMPORTS, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout


def test_no_path_of_a_machine_and_no_index_address_is_committed() -> None:
    homes = re.compile(r"/(work|home|root)/|https?://[^\s\"')]*(pypi|npmjs|debian)[^\s\"')]*")
    found = [
        f"{named(path)}:{number}"
        for path in tracked()
        if path.suffix not in {".arrow", ".csv", ".png", ".webp"}
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if homes.search(line) and path.name != Path(__file__).name
    ]
    assert found == []
