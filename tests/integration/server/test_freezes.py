"""`tieout freeze` beside a running server, and every tool that reads what was frozen."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from engine.facts.manifest import pin_current
from engine.instance.read import STORE
from tests.support.books.loads import load_feeds, load_instance
from tests.support.books.small import csv, write_instance
from tests.support.service.forks import tieout
from tests.support.service.servers import McpBooks, connected, serving

ROWS = """date scenario region amount memo
2025-01-05 actual north 10 rent
2025-01-07 actual south 5 fees
2025-02-05 actual north 20 rent
2025-02-05 budget north 18 plan
"""
LATER = """date scenario region amount memo
2025-01-05 actual north 11 rent
2025-02-05 actual north 20 rent
2025-02-06 actual south 2 late
2025-02-05 budget north 18 plan
"""
DOMAIN = """
time: {column: date}
dimensions: {region: region}
measures: {amount: {places: 2}}
metrics: {revenue: {measure: amount}}
inspect_enabled: true
inspect_columns: [date, amount, memo]
"""
SCENARIOS = "actual: {alias: Actuals, kind: actual, closed_through: 2025-01}\nbudget: {alias: Budget, kind: budget}"
RANGE = {"period_start": "2025-01", "period_end": "2025-02"}


def written(tmp_path: Path, *, grants: dict[str, Any] | None = None) -> Path:
    """Write and load books of a ledger, seen by grants of scenarios; by default everything."""
    profiles = {"everyone": {"scenarios": grants or {"*": {}}}, "assign": [{"subject": "dev", "profile": "everyone"}]}
    instance = write_instance(
        tmp_path / "small",
        facts={"gl": ROWS},
        domains={"gl": DOMAIN},
        dimensions="region: {kind: leaf}",
        statements={"pl": "- {label: Revenue, metric: revenue}"},
        scenarios=SCENARIOS,
        profiles=yaml.safe_dump(profiles, sort_keys=False),
    )
    load_instance(instance, instance / ".tieout")
    return instance


@contextmanager
def asking(instance: Path) -> Iterator[McpBooks]:
    """Serve the books and connect to them."""
    with serving(instance, instance / ".tieout") as server, connected(server.url, "auto") as books:
        yield books


def freeze(instance: Path, *arguments: str) -> str:
    """Run the command, which must succeed, and return what it says."""
    ended = tieout("freeze", *arguments, "--instance", instance)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def refused(instance: Path, *arguments: str) -> str:
    """Run the command, which must be refused, and return what it says."""
    ended = tieout("freeze", *arguments, "--instance", instance)
    assert ended.returncode == 1, ended.stdout
    return ended.stderr.replace("\n", " ")


def load_later(instance: Path) -> None:
    """Load other rows in place of those."""
    (instance / "data" / "gl.csv").write_text(csv(LATER))
    load_feeds(instance, instance / ".tieout")


def figures(books: McpBooks, *scenarios: str, **asked: Any) -> list[list[object]]:
    """Return the revenue of some columns, a row for each member and the total."""
    columns = [{"scenario": scenario} for scenario in scenarios]
    answer = books.ask("run_metric_data", metrics=["revenue"], scenarios=columns, **{**RANGE, **asked})
    return [row["values"] for row in answer["rows"]]


def test_every_tool_reads_a_freeze_that_is_made_while_the_server_runs(tmp_path: Path) -> None:
    instance = written(tmp_path)
    with asking(instance) as books:
        assert figures(books, "actual") == [[35]]
        said = freeze(instance, "feb")
        assert said.startswith("actual#feb: 3 rows of gl, of version 1 of the books.")
        assert "closed through 2025-01-31 and has rows through 2025-02-05, which may have been open" in said
        assert "closed through" not in freeze(instance, "jan", "--scenario", "actual", "--through", "2025-01")
        load_later(instance)
        assert figures(books, "actual", "actual#feb", "actual#jan", "var(actual,actual#feb)") == [[33, 35, 15, -2]]
        assert figures(books, "actual#feb@ytd", "actual#feb+budget", period_start="2025-02") == [[35, 18]]
        each = figures(books, "actual", "actual#feb", dimensions=["region"])
        assert each == [[31, 30], [2, 5], [33, 35]]
        formula = books.ask(
            "run_metric_data",
            formulas={"late": "revenue - revenue[actual#feb]"},
            scenarios=[{"scenario": "actual"}],
            **RANGE,
        )
        assert formula["rows"][-1]["values"] == [-2]
        columns = [{"scenario": "actual"}, {"scenario": "actual#feb"}]
        statement = books.ask("run_statement_data", statement="pl", scenarios=columns, **RANGE)
        assert statement["rows"][0]["values"] == [33, 35]
        assert books.ask("export_dataset", data_ref=statement["data_ref"], format="json")
        explained = books.ask(
            "explain_variance", metric="revenue", scenarios=["actual", "actual#feb"], by=["region"], **RANGE
        )
        assert [(row["key"], row["difference"]) for row in explained["lists"][0]["rows"]] == [
            ("south", -3),
            ("north", 1),
        ]
        rows = books.ask("inspect_rows", source_key="gl", scenario_id="actual#feb", **RANGE)
        assert [row[2] for row in rows["rows"]] == ["rent", "fees", "rent"]
        assert rows["sums"]["amount"]["sum"] == 35


def test_the_answer_of_a_freeze_says_which_days_are_closed_and_nothing_may_change(tmp_path: Path) -> None:
    instance = written(tmp_path)
    freeze(instance, "feb")
    with asking(instance) as books:
        answers = {
            scenario: books.ask("run_metric_data", metrics=["revenue"], scenarios=[{"scenario": scenario}], **RANGE)
            for scenario in ("actual", "actual#feb")
        }
        codes = {key: [note["code"] for note in answer.get("notes", [])] for key, answer in answers.items()}
        assert codes == {"actual": ["open_in_range"], "actual#feb": []}
        fresh = {key: answer["freshness"]["gl"][key] for key, answer in answers.items()}
        assert fresh["actual#feb"] == fresh["actual"]  # what was open then, and the load that brought it


def test_freezes_are_listed_under_what_was_frozen_the_newest_first(tmp_path: Path) -> None:
    instance = written(tmp_path)
    assert freeze(instance, "--list") == "There is no freeze. tieout freeze NAME makes one.\n"
    with asking(instance) as books:
        assert "freezes" not in books.ask("svc_orientation")
        before = books.ask("list_scenarios")
        for name in ("a", "b", "c"):
            freeze(instance, name)
        assert books.ask("svc_orientation")["freezes"] == {"number": 3, "newest": ["actual#c", "actual#b"]}
        after = books.ask("list_scenarios")
        actual, budget = after["scenarios"]
        newest, *_ = named = actual.pop("freezes")
        assert [each["id"] for each in named] == ["actual#c", "actual#b", "actual#a"]
        assert (newest["alias"], newest["closed_through"]) == ("Actuals (c)", {"*": "2025-01-31"})
        assert [actual, budget] == before["scenarios"]
        assert after["comparisons"] == before["comparisons"]
    lines = freeze(instance, "--list").splitlines()
    assert [line.partition(":")[0] for line in lines] == ["actual#c", "actual#b", "actual#a"]
    assert lines[0].endswith("3 rows, version 3 of the books")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Give a NAME to freeze, such as tieout freeze sep; or --list; or --drop NAME."),
        (["sep", "--list"], "Give a NAME to freeze"),
        (["Sep"], "'Sep' is no name of a freeze: take 1 to 32 small letters"),
        (["s" * 33], "is no name of a freeze"),
        (["actual#sep"], "'actual#sep' is no name of a freeze"),
        (["sep", "--scenario", "actuals"], "There is no scenario actuals; known: actual, budget."),
        (["sep", "--scenario", "actual#feb"], "actual#feb names a freeze, which never changes. Freeze actual itself."),
        (["sep", "--through", "2025-13"], "2025-13"),
        (["sep", "--through", "2024-12"], "actual has no rows through 2024-12-31, so there is nothing to freeze"),
        (["feb"], "There is a freeze actual#feb already, of 20"),
        (["--drop", "nov"], "There is no freeze nov; known: actual#feb."),
        (["--drop", "budget#feb"], "There is no freeze budget#feb; known: actual#feb."),
    ],
)
def test_what_cannot_be_frozen_is_said_and_changes_nothing(tmp_path: Path, arguments: list[str], says: str) -> None:
    instance = written(tmp_path)
    freeze(instance, "feb")
    assert says in refused(instance, *arguments)
    pin = pin_current(instance / ".tieout" / STORE)
    pin.drop()
    assert (pin.manifest.version, [*pin.manifest.frozen]) == (2, ["actual#feb"])


def test_a_freeze_that_is_dropped_is_unknown_like_one_that_never_was(tmp_path: Path) -> None:
    instance = written(tmp_path)
    freeze(instance, "feb")
    freeze(instance, "feb", "--scenario", "budget")
    with asking(instance) as books:
        assert figures(books, "actual#feb", "budget#feb") == [[35, 18]]
        assert "say actual#feb or budget#feb" in refused(instance, "--drop", "feb")
        freeze(instance, "--drop", "feb", "--scenario", "actual")
        told_of = [asked_of(books, name) for name in ("actual#feb", "actual#fex")]
        assert told_of[0] == told_of[1].replace("actual#fex", "actual#feb")
        assert "There is no scenario 'actual#feb'" in told_of[0]
        assert figures(books, "budget#feb") == [[18]]


def asked_of(books: McpBooks, scenario: str, tool: str = "run_metric_data") -> str:
    """Return what is told of the rows or the revenue of one scenario, without the reference of the result."""
    report = {"metrics": ["revenue"], "scenarios": [{"scenario": scenario}]}
    asked = report if tool == "run_metric_data" else {"source_key": "gl", "scenario_id": scenario}
    told = books.call(tool, **asked, **RANGE).told
    return str({key: value for key, value in told.items() if key != "data_ref"})


@pytest.mark.parametrize("grants", [{"budget": {}}, {"kind:budget": {}}, {"actual#other": {}, "budget": {}}])
def test_who_does_not_see_a_scenario_does_not_see_its_freezes(tmp_path: Path, grants: dict[str, Any]) -> None:
    instance = written(tmp_path, grants=grants)
    freeze(instance, "feb")
    with asking(instance) as books:
        hidden, unknown = asked_of(books, "actual#feb"), asked_of(books, "actual#fex")
        assert hidden == unknown.replace("actual#fex", "actual#feb")
        assert "35" not in hidden
        assert "freezes" not in books.ask("svc_orientation")
        assert "#" not in str(books.ask("list_scenarios")["scenarios"])
        rows = [asked_of(books, name, "inspect_rows") for name in ("actual#feb", "actual#fex")]
        assert rows[0] == rows[1].replace("actual#fex", "actual#feb")


NORTH, SOUTH = ({"dimensions": {"region": {"allow": [region]}}} for region in ("north", "south"))


@pytest.mark.parametrize(
    ("grants", "actual", "feb", "jan"),
    [
        ({"actual": NORTH}, 31, 30, 10),
        ({"*": SOUTH}, 2, 5, 5),
        ({"actual": {}, "actual#*": SOUTH}, 33, 5, 5),
        ({"actual": NORTH, "actual#feb": SOUTH, "actual#*": {}}, 31, 5, 15),
    ],
)
def test_who_sees_a_part_of_a_scenario_sees_that_part_of_its_freezes(
    tmp_path: Path, grants: dict[str, Any], actual: int, feb: int, jan: int
) -> None:
    instance = written(tmp_path, grants=grants)
    freeze(instance, "feb")
    freeze(instance, "jan", "--through", "2025-01")
    load_later(instance)
    with asking(instance) as books:
        assert figures(books, "actual", "actual#feb", "actual#jan") == [[actual, feb, jan]]
        rows = books.ask("inspect_rows", source_key="gl", scenario_id="actual#feb", **RANGE)
        assert rows["sums"]["amount"]["sum"] == feb


def test_a_grant_of_a_freeze_alone_shows_nothing_else(tmp_path: Path) -> None:
    instance = written(tmp_path, grants={"actual#feb": NORTH})
    freeze(instance, "feb")
    freeze(instance, "jan")
    with asking(instance) as books:
        assert figures(books, "actual#feb") == [[30]]
        assert [each["id"] for each in books.ask("list_scenarios")["scenarios"]] == ["actual#feb"]
        assert asked_of(books, "actual#jan") == asked_of(books, "actual#jax").replace("jax", "jan")


@pytest.mark.parametrize(("content", "why"), [("{", "it is damaged"), (None, "No such file or directory")])
def test_a_damaged_freeze_is_unavailable_by_its_name_and_everything_else_answers(
    tmp_path: Path, content: str | None, why: str
) -> None:
    instance = written(tmp_path)
    freeze(instance, "feb")
    (file,) = (instance / ".tieout" / STORE / "frozen").iterdir()
    file.unlink() if content is None else file.write_text(content)
    with asking(instance) as books:  # once the server says that it is ready
        assert figures(books, "actual", "budget") == [[35, 18]]
        told = books.call("run_metric_data", metrics=["revenue"], scenarios=[{"scenario": "actual#feb"}], **RANGE)
        assert (told.is_error, told.told["error_type"]) == (True, "unavailable")
        assert f"The freeze actual#feb cannot be read: frozen/{file.name} ({why})" in told.told["error"]
        assert "tieout freeze --drop actual#feb" in told.told["error"]
        assert "freeze actual#feb cannot be read" in freeze(instance, "--list")
        assert "actual#feb cannot be read" in tieout("provision", "--instance", instance).stderr.replace("\n", " ")
        freeze(instance, "--drop", "actual#feb")
        assert figures(books, "actual") == [[35]]
