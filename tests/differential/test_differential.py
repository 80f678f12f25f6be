"""The differential: its oracle stands alone, its questions meet the faults that it is for, and figures agree."""

import ast
from pathlib import Path

import pytest

from tests.differential.comparing import InstanceComparison
from tests.differential.met import faults_met

FOLDER = Path(__file__).parent
ASKS_THE_PRODUCT = {"comparing.py", "more.py", "__main__.py", Path(__file__).name}
NOT_MENDED: frozenset[str] = frozenset()
FOUND = [  # a fault, and where a question meets it: the seed of its instance, and which question of it
    ("F2", 5012, 22),
    ("F3", 5009, 3),
    ("F4", 105, 3),
    ("F9", 1004, 17),
    ("F10", 5003, 12),
    ("F11", 5003, 9),
    ("F12", 7003, 15),
    ("F13", 5006, 23),
    ("F16", 5004, 7),
    ("late_operand", 5001, 0),
]

AGREED = [  # what the two read differently once, and where: the seed of its instance, and which question of it
    ("a tree that weighs a member which any scenario shows", 629856027, 3),
    ("a filter by periods is the window of a variance", 5016, 12),
    ("a filter of a month that cuts no week of the range", 20042, 14),
    ("a filter of a month over data by week", 20011, 12),
    ("a member whose rows below it alone have figures", 5010, 7),
    ("an opening whose members have rows long before it", 20019, 23),
    ("a row without an amount is no last value", 20121, 18),
    ("a window that begins before the calendar does", 20104, 11),
    ("a window of days whose year before begins before the calendar does", 60029, 1),
    ("the only root that the caller sees", 20112, 17),
    ("a quarter to date that ends with a year of a table", 400311, 1),
    ("others that a metric's own where weighs", 100028, 18),
    ("a fiscal year to date past the end of the calendar", 100009, 21),
    ("a member whose rows stand below an inner dimension that a line lacks", 100330, 20),
    ("a profile that denies what the books lack", 20070, 0),
    ("the digits of a third that end", 20028, 0),
]


def test_the_oracle_imports_nothing_of_the_product() -> None:
    imported = {
        (path.name, module.split(".")[0])
        for path in FOLDER.glob("*.py")
        if path.name not in ASKS_THE_PRODUCT
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for module in modules_of(node)
    }
    assert {(name, package) for name, package in imported if package in ("engine", "server", "sandbox")} == set()
    others = {path.stem for path in FOLDER.glob("*.py")} - {Path(name).stem for name in ASKS_THE_PRODUCT}
    of_tests = {module for path in FOLDER.glob("*.py") if path.stem in others for module in modules_in(path)}
    assert of_tests <= {f"tests.differential.{stem}" for stem in others}


def modules_in(path: Path) -> set[str]:
    """Return the modules of the tests that a file imports."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {module for node in nodes for module in modules_of(node) if module.startswith("tests.")}


def modules_of(node: ast.AST) -> list[str]:
    """Return the modules that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []


@pytest.mark.parametrize(("fault", "seed", "at"), FOUND)
def test_its_questions_meet_the_faults_that_it_is_for(fault: str, seed: int, at: int, tmp_path: Path) -> None:
    assert fault in faults_met(seed, at, tmp_path)


@pytest.mark.parametrize("seed", [100, 105, 108])
def test_every_figure_is_what_the_oracle_says(seed: int) -> None:
    comparison = InstanceComparison()
    unknown = [
        f"{difference.call}\n{difference}"
        for difference in comparison.instance(seed, 8)
        if not set(difference.name.split(" and ")) <= NOT_MENDED
    ]
    assert not unknown, "\n".join(unknown)
    assert comparison.cells > 100


@pytest.mark.parametrize(("question", "seed", "at"), AGREED, ids=[name for name, _, _ in AGREED])
def test_what_was_read_differently_is_read_alike(question: str, seed: int, at: int) -> None:
    comparison = InstanceComparison()
    differing = [f"{each.call}\n{each}" for each in comparison.instance(seed, at + 1, at)]
    assert not differing, f"{question}\n" + "\n".join(differing)
