"""One wrong key hides no other fault: every file is checked, and what follows from a fault is not told."""

from pathlib import Path

import pytest

from engine.instance.documents import InstanceFaults
from server.feeds.instance import read_instance
from tests.support.books.small import write_instance

DOMAIN = """
time: {column: date}
dimensions: {entity: entity, site: site}
measures: {amount: {places: 2}}
metrics:
  revenue: {measure: amount, wher: {entity: A}}
  margin: {formula: revenue - costs}
  twice: {formula: revenue * 2}
"""
SCENARIOS = """
actual: {alias: A, kind: actual}
budget: {alias: B}
comparisons:
  - [actual, budget]
  - [actual, nobody]
"""
PROFILES = """
all:
  scenarios:
    budget: {}
    somebody: {}
assign: [{subject: dev, profile: al}]
"""


def test_each_file_tells_its_faults_beside_a_wrong_key_of_every_other(tmp_path: Path) -> None:
    folder = write_instance(
        tmp_path / "shop",
        facts={"gl": "date scenario entity site amount"},
        domains={"gl": DOMAIN},
        dimensions="entity: {kind: leaf}\nsite: {kind: leaf, lable: Site}\n",
        scenarios=SCENARIOS,
        statements={"pnl": "  - {metric: revenue}\n  - {metric: sales}\n"},
        profiles=PROFILES,
        bindings={"gl": {"target": "live.gll"}},
    )
    with (folder / "instance.yaml").open("a") as file:
        file.write("curency: EUR\n")
    with pytest.raises(InstanceFaults) as faults:
        read_instance(folder)
    assert [(fault.file, fault.found) for fault in faults.value.faults] == [
        ("dimensions.yaml", "unknown key 'site.lable'"),
        ("domains/gl.yaml", "unknown key 'metrics.revenue.wher'"),
        ("domains/gl.yaml", "margin: there is no metric 'costs'; known: margin, revenue, twice"),
        ("instance.yaml", "unknown key 'curency'"),
        ("integrations.yaml", "the catalogue has no table 'live.gll'"),
        ("profiles.yaml", "there is no scenario 'somebody'"),
        ("profiles.yaml", "there is no profile 'al'"),
        ("scenarios.yaml", "budget.kind is missing"),
        ("scenarios.yaml", "'nobody' is no scenario reference"),
        ("statements/pnl.yaml", "there is no metric 'sales'"),
    ]


@pytest.mark.parametrize(("key", "part"), [("statement", "pnl"), ("domain", "gl")])
def test_a_file_of_which_nothing_fits_leaves_the_faults_of_others(tmp_path: Path, key: str, part: str) -> None:
    folder = write_instance(
        tmp_path / "shop",
        facts={"gl": "date scenario amount"},
        domains={
            "gl": "time: {column: date}\ndimensions: {}\nmeasures: {amount: {}}\nmetrics: {all: {measure: amount}}\n"
        },
        statements={"pnl": "  - {metric: all}\n"},
    )
    (folder / f"{key}s" / f"{part}.yaml").write_text(f"{key}: {part}\n")
    (folder / "scenarios.yaml").write_text("actual: {alias: A, kind: actual, colour: red}\n")
    with pytest.raises(InstanceFaults) as faults:
        read_instance(folder)
    assert {fault.file for fault in faults.value.faults} == {f"{key}s/{part}.yaml", "scenarios.yaml"}


SMALL = """
time: {column: date}
dimensions: {entity: entity}
measures: {amount: {}}
metrics:
  m: {measure: amount}
"""
BROKEN = {
    "a bad line": "statement: pnl\nlines:\n  - {metrc: revenue}\n",
    "another key than its file": "statement: pnl\nlines: 7\n",
    "no YAML": "statement: pnl\nlines: [\n",
}


@pytest.mark.parametrize(
    ("fault", "file"),
    [(fault, file) for fault in BROKEN for file in ("pnl.yaml", "profit.yaml")][:-1],  # no YAML says no key
)
def test_a_statement_whose_file_has_a_fault_is_not_said_to_be_missing(tmp_path: Path, fault: str, file: str) -> None:
    folder = write_instance(
        tmp_path / "shop",
        facts={"gl": "date scenario entity amount"},
        domains={"gl": SMALL},
        dimensions="entity: {kind: leaf}\n",
        statements={"whole": "  - {include: pnl}\n  - {include: lost}\n"},
    )
    (folder / "statements" / file).write_text(BROKEN[fault])
    with (folder / "instance.yaml").open("a") as written:
        written.write("default: {statement: pnl}\n")
    with pytest.raises(InstanceFaults) as faults:
        read_instance(folder)
    told = [(known.file, known.found) for known in faults.value.faults]
    assert [name for name, found in told if "no statement" in found] == ["statements/whole.yaml"], told
    assert ("statements/whole.yaml", "there is no statement 'lost'") in told
    assert any(name == f"statements/{file}" for name, _ in told)
