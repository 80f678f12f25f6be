"""The house rules that no linter knows: sizes, openings, names, and where anything may be caught."""

import ast
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.support.books.loads import ROOT
from tests.support.checks.tracked import tracked

LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")
LONGEST, LONGEST_TEST, SHORTEST = 400, 450, 40  # lines
PACKAGES = ("engine", "sandbox", "server")
NOT_USED = ("manager", "service", "handler", "processor", "helper", "util", "utils", "context")


CODE = [path for path in tracked("*.py") if path.relative_to(ROOT).parts[0] in PACKAGES]


def named(path: Path) -> str:
    """Return a file's name in the checkout."""
    return path.relative_to(ROOT).as_posix()


def test_a_file_opens_with_what_it_is_and_is_short() -> None:
    product = {named(path): path.read_text(encoding="utf-8") for path in tracked("*.py") if "tests" not in path.parts}
    assert [name for name, text in product.items() if len(text.splitlines()) > LONGEST] == []
    tests = {named(path): path.read_text(encoding="utf-8").splitlines() for path in tracked("tests/*.py")}
    assert [name for name, lines in tests.items() if len(lines) > LONGEST_TEST] == []
    openings = {name: (ast.get_docstring(ast.parse(text)) or "").split("\n")[0] for name, text in product.items()}
    assert [name for name, first in openings.items() if not first.endswith((".", ":"))] == []


def rooms_above(package: str) -> dict[str, set[str]]:
    """Return the rooms of a package, each a folder or a module, with the other rooms that it imports."""
    above: dict[str, set[str]] = {}
    for path in (path for path in CODE if path.relative_to(ROOT).parts[0] == package):
        name, *_ = path.relative_to(ROOT / package).parts
        if name == "__init__.py":
            continue
        room = name.removesuffix(".py")
        modules = [
            node.module or ""
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom)
        ]
        below = {module.split(".")[1] for module in modules if module.startswith(f"{package}.")}
        above.setdefault(room, set()).update(below - {room})
    return above


def drawn(package: str) -> str:
    """Return the picture of a package: its numbers, then its rooms floor by floor, each above all that it imports."""
    above = rooms_above(package)

    def floor(room: str) -> int:
        return 1 + max((floor(below) for below in above[room]), default=0)

    floors = defaultdict[int, list[str]](list)
    for room in sorted(above):
        floors[floor(room)].append(room)
    head = f"{package}: {len(above)} rooms, {len(floors)} floors, {sum(map(len, above.values()))} arrows"
    return "\n".join([head, *(f"  {number}  {' · '.join(floors[number])}" for number in sorted(floors, reverse=True))])


@pytest.mark.parametrize("package", ["engine", "server"])
def test_the_picture_of_the_rooms_is_that_of_the_code(package: str) -> None:
    assert drawn(package) in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_a_short_file_says_why_it_stands_alone() -> None:
    """Entry points and the commands are short by their nature."""
    modules = [path for path in CODE if path.name not in ("__init__.py", "__main__.py")]
    short = {named(path) for path in modules if len(path.read_text(encoding="utf-8").splitlines()) < SHORTEST}
    told = {name for name in short if "stands alone because" in (ROOT / name).read_text(encoding="utf-8")}
    by_nature = {name for name in short if name.startswith("server/run/commands/")}
    assert short - told - by_nature == set()


def test_everything_is_caught_in_one_place_only() -> None:
    broad = [
        named(path)
        for path in CODE
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")))
    ]
    # a script of somebody's; a call of a driver, in its thread; a call of somebody's, in its thread and around it
    caught = ["sandbox/script.py", "server/files/databases.py", "server/http/dispatch.py", "server/http/dispatch.py"]
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


def test_no_class_of_the_product_is_named_by_a_participle() -> None:
    irregular = "Done|Found|Given|Gone|Held|Kept|Known|Made|Meant|Put|Read|Said|Seen|Sent|Set|Shown|Taken|Told|Written"
    participle = re.compile(rf"([A-Z][a-z]+ed|{irregular})(?<!Embed)(?<!Speed)(?<!Feed)")
    names = {
        node.name: named(path)
        for path in CODE
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and participle.fullmatch(node.name)
    }
    assert names == {}


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
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if homes.search(line) and path.name != Path(__file__).name
    ]
    assert found == []
