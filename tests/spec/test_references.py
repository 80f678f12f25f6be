"""Texts that are no scenario reference are refused with forms that work; unknown names are left out, as ever."""

import re
from pathlib import Path
from typing import Any

import pytest

from engine.model.errors import BadArguments
from engine.model.stopping import never
from engine.present.answers.catalogue import scenarios_answer
from tests.spec.test_cases_time import daily
from tests.spec.test_cases_trading import WEEKS
from tests.spec.test_orientation import fed
from tests.support.books.fed import Fed

YEAR = {"period_start": "2021-01", "period_end": "2021-12"}
NOTHING = "{scenarios: {}}"
EXPLAINED = {"metric": "m0", "by": ["entity"], "scenarios": ["actual", "budget"], **YEAR}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Fed:
    """Books with actual and budget."""
    return fed(tmp_path_factory.mktemp("references"))


def columns(reference: str) -> dict[str, Any]:
    """Return the arguments of a report with one column."""
    return {"metrics": ["m0"], "scenarios": [{"scenario": reference}], **YEAR}


def explaining(reference: str) -> dict[str, Any]:
    """Return the arguments of an explanation of actual against a reference."""
    return {**EXPLAINED, "scenarios": ["actual", reference]}


MALFORMED = [
    ("var(actual)", "take two references", "var(actual,budget)"),
    ("VAR(Actual)", "take two references", "var(actual,budget)"),
    ("var_pct(actual)", "take two references", "var_pct(actual,budget)"),
    ("var(actual,budget,actual)", "take two references", "var(actual,budget)"),
    ("variance(actual,budget)", "take two references", "var(actual,budget)"),
    ("actual@yty", "there is no shift @yty", "actual@ytd"),
    ("var(actual,actual@yty)", "there is no shift @yty", "var(actual,actual@ytd)"),
    ("actual@py0", "there is no shift @py0", "actual@py"),
    ("actual@last1", "@last takes a number from 2 to 120", "actual@last3"),
    ("actual@last121", "@last takes a number from 2 to 120", "actual@last3"),
    ("var(actual,actual@last)", "@last takes a number from 2 to 120", "var(actual,actual@last3)"),
    ("actual-budget", "a difference is written var(a,b)", "var(actual,budget)"),
    ("actual - budget", "a difference is written var(a,b)", "var(actual,budget)"),
    ("Actual vs. Budget", "a difference is written var(a,b)", "var(actual,budget)"),
    ("actual \N{MINUS SIGN} actual@py", "a difference is written var(a,b)", "var(actual,actual@py)"),
    ("actual/budget", "a difference is written var(a,b)", "var_pct(actual,budget)"),
    ("actual @py", "without blanks", "actual@py"),
    ("actual+budget+actual", "a blend is made of two", None),
    ("(actual)", "var( ) and var_pct( ) take two references", "var(actual,budget)"),
    ("actual,budget", "without blanks or brackets", None),
]


@pytest.mark.parametrize(("text", "reason", "meant"), MALFORMED)
def test_a_text_that_is_no_reference_is_refused_with_what_it_may_mean(
    shop: Fed, text: str, reason: str, meant: str | None
) -> None:
    error = shop.refused("run_metric_data", **columns(text))
    assert (error["error_type"], error["field"], error["got"]) == ("bad_arguments", "scenarios.0.scenario", text)
    assert reason in error["error"]
    assert error.get("did_you_mean", [None])[0] == meant
    for form in (*error["valid"], *error.get("did_you_mean", ())):
        answer = shop.ask("run_metric_data", **columns(form))
        assert [column["scenario"] for column in answer["scenarios"]] == [form]
    mended = shop.ask("run_metric_data", **{**columns(text), **error["example"]})
    assert mended["scenarios"]
    assert not [note for note in mended.get("notes", ()) if note["code"] == "unknown_scenario"]


@pytest.mark.parametrize("text", ["var(actual)", "actual@yty", "actual-budget", "actual vs budget"])
def test_every_argument_that_takes_a_reference_refuses_one_that_is_none(shop: Fed, text: str) -> None:
    rows = {"source_key": "gl", "scenario_id": "actual", **YEAR}
    for tool, field, arguments in (
        ("run_statement", "scenarios.1.scenario", {"scenarios": [{"scenario": "actual"}, {"scenario": text}], **YEAR}),
        ("explain_variance", "scenarios.1", {**EXPLAINED, "scenarios": ["actual", text]}),
        ("list_variants", "scenario_id", {"scenario_id": text}),
        ("inspect_rows", "scenario_id", {**rows, "scenario_id": text}),
        ("inspect_rows", "filters.scenario", {**rows, "filters": {"scenario": text}}),
    ):
        error = shop.refused(tool, **arguments)
        assert (error["error_type"], error["field"]) == ("bad_arguments", field)
        views = {"filters"} if tool == "inspect_rows" else set()  # a view stands beside its scenario
        assert error["example"].keys() - views == {field.partition(".")[0]} - views


@pytest.mark.parametrize("text", ["nobody", "nobody@py", "actual/upside", "actual-nobody", "prior year", "ACTUAL@PY"])
def test_a_name_that_is_unknown_is_left_out_with_a_note(shop: Fed, text: str) -> None:
    answer = shop.ask("run_metric_data", **columns(text))
    assert (answer["scenarios"], [note["code"] for note in answer["notes"]]) == ([], ["unknown_scenario"])


@pytest.mark.parametrize("text", ["{}-actual", "actual/{}", "var({})", "{}@yty", "var({},actual,actual)", "{}@"])
def test_a_hidden_scenario_is_answered_as_one_that_does_not_exist(tmp_path: Path, text: str) -> None:
    seen = fed(tmp_path, "{scenarios: {actual: {}}}")
    for tool, arguments in (("run_metric_data", columns), ("explain_variance", explaining)):
        said = (
            seen.call(tool, **arguments(text.format(name)))[2].replace(name, "NAME") for name in ("budget", "nobody")
        )
        hidden, unknown = (re.sub(r"ds_\w+", "ds_", answer) for answer in said)
        assert hidden == unknown


def test_trading_shifts_are_offered_where_the_books_have_a_trading_calendar(tmp_path: Path) -> None:
    for name, trading in (("plain", None), ("trading", WEEKS)):
        books = daily(tmp_path / name, "2026-05-01 7", **({"trading": trading} if trading else {}))
        with pytest.raises(BadArguments) as refused:
            books.metric("revenue", scenarios={"A": "actual@yty"}, period="2026-05")
        said = scenarios_answer(books.reader, 10_000, never)["grammar"]
        for text in (said, refused.value.error):
            assert ("@tytd" in text) is bool(trading)
        assert "@ytd" in said


def test_a_caller_who_sees_nothing_is_told_so_whatever_they_ask(tmp_path: Path) -> None:
    blind = fed(tmp_path, NOTHING)
    assert "Nothing is visible to this caller" in blind.ask("svc_orientation")["orientation"]
    for tool in ("list_scenarios", "list_kpis", "list_dimensions"):
        assert [note["code"] for note in blind.ask(tool)["notes"]] == ["nothing_visible"]
    assert "nothing_visible" in [note["code"] for note in blind.ask("list_variants", scenario_id="actual")["notes"]]
    rows = {"source_key": "gl", "scenario_id": "actual"}
    for tool, arguments in (
        ("run_metric", columns("actual")),
        ("run_statement", {"statement": "pnl", **YEAR}),
        ("explain_variance", EXPLAINED),
        ("inspect_rows", rows),
    ):
        error = blind.refused(tool, **arguments)
        assert (error["error_type"], "svc_orientation says" in error["error"]) == ("unknown_name", True)


@pytest.mark.parametrize(
    ("tool", "arguments"), [("run_metric", {"order_by": "m0", **columns("actual")}), ("explain_variance", EXPLAINED)]
)
def test_more_rows_than_an_answer_ranks_are_cut_to_the_maximum_with_a_note(
    shop: Fed, tool: str, arguments: dict[str, Any]
) -> None:
    answer = shop.ask(tool, **{**arguments, **({"dimensions": ["entity"]} if tool == "run_metric" else {}), "top": 201})
    (note,) = [note for note in answer["notes"] if note["code"] == "top_reduced"]
    assert note["message"] == "top 201 is above the maximum; 200 was used."
