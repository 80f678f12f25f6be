"""Operands with a scenario of their own over HTTP: a run rate against the plan, days of receivables, refusals."""

from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.support.answers.drills import calls, figure_behind
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance
from tests.support.service.servers import ERAS, McpBooks, connected, serving

FACTS = """
date       scenario shop sales  owed
2026-01-15 actual   A    310    200
2026-01-20 actual   B    93     50
2026-02-15 actual   A    280    260
2026-02-20 actual   B    28     90
2026-01-15 budget   A    360    0
2026-02-15 budget   A    360    0
2026-03-15 budget   B    1440   0
2026-01-15 board    A    9999   0
"""
SHOPS = """
time: {column: date}
dimensions: {shop: shop}
measures: {sales: {places: 2}, owed: {places: 2}}
inspect_enabled: true
metrics:
  sales: {measure: sales}
  owed: {measure: owed, over_time: closing}
  growth: {formula: "sales / sales[@py] - 1"}
  secret: {formula: "sales - sales[board]"}
"""
SCENARIOS = """
actual: {alias: Actuals, kind: actual, closed_through: 2026-02}
budget: {alias: Budget, kind: budget, closed_through: 2026-12}
board: {alias: Board, kind: plan, closed_through: 2026-12}
"""
PROFILES = """
seen: {scenarios: {actual: {}, budget: {dimensions: {shop: {allow: [A]}}}}}
assign: [{subject: dev, profile: seen}]
"""
QUARTER = {"period_start": "2026-01", "period_end": "2026-02"}


@pytest.fixture(scope="module", params=ERAS)
def shops(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBooks]:
    """A client of books of two shops, who sees the budget of one of them and nothing of the board's plan."""
    folder: Path = tmp_path_factory.mktemp("shops")
    instance = write_instance(
        folder / "books",
        facts={"gl": FACTS},
        domains={"gl": SHOPS},
        dimensions="shop: {kind: leaf}",
        statements={"pnl": "- {metric: sales}\n- {metric: secret}"},
        scenarios=SCENARIOS,
        profiles=PROFILES,
    )
    load_instance(instance, folder / "state")
    with serving(instance, folder / "state") as server, connected(server.url, request.param) as client:
        yield client


def asked(formula: str, scenario: str = "actual", **more: Any) -> dict[str, Any]:
    """Return the arguments of a call for one formula in one column."""
    return {"metrics": ["sales"], "formulas": {"x": formula}, "scenarios": [{"scenario": scenario}], **QUARTER, **more}


def told(figure: Fraction) -> Decimal:
    """Return a fraction to the digits of an answer."""
    return Context(prec=15).divide(Decimal(figure.numerator), Decimal(figure.denominator))


def test_days_of_receivables_are_one_call(shops: McpBooks) -> None:
    answer = shops.ask("run_metric_data", **asked("owed / sales * days(period)", dimensions=["shop"]))
    found = {row["members"].get("shop"): Decimal(str(row["values"][1])) for row in answer["rows"]}
    owed, sales = {"A": 260, "B": 90, None: 350}, {"A": 590, "B": 121, None: 711}
    assert found == {shop: told(Fraction(owed[shop] * 59, sales[shop])) for shop in owed}


def test_a_run_rate_against_the_plan_of_the_year_is_one_call(shops: McpBooks) -> None:
    formula = "sales / sales[budget@fy] * 12 / periods(period)"
    for scenario in ("actual", "actual@ytd"):
        answer = shops.ask("run_metric_data", **asked(formula, scenario))
        assert Decimal(str(answer["rows"][0]["values"][1])) == told(Fraction(590 * 6, 720))  # of shop A alone
        (note,) = (note for note in answer["notes"] if note["code"] == "scope_differs")
        assert "only of what you may see in all of" in note["message"]
    by_shop = shops.ask("run_metric_data", **asked(formula, dimensions=["shop"]))
    assert [row["values"][1] for row in by_shop["rows"]] == [
        float(told(Fraction(590 * 6, 720))),
        None,
        by_shop["rows"][0]["values"][1],
    ]


def test_the_rows_behind_each_operand_make_its_figure(shops: McpBooks) -> None:
    answer = shops.ask("run_metric_data", **asked("(sales - sales[budget]) / sales[budget]"))
    (row,) = answer["rows"]
    (column,) = (column for column in answer["columns"] if column["metric"] == "x")
    made = [figure_behind(call, lambda given: shops.ask("inspect_rows", **given)) for _, _, call in calls(row, column)]
    assert made == [Decimal(590), Decimal(720)]
    assert Decimal(str(row["values"][1])) == told(Fraction(590 - 720, 720))


def test_it_is_kept_drawn_and_exported(shops: McpBooks) -> None:
    kept = shops.ask("run_metric_data", **asked("abs(sales - sales[budget])", dimensions=["shop"]))
    spec = {"chart_type": "bar", "title": "Off the plan", "x": "shop", "y": "value"}
    code = "result = df.filter(pl.col('metric') == 'x').drop_nulls(['shop', 'value'])"
    drawn = shops.ask("eval_chart_transform", data_refs=[kept["data_ref"]], transform_code=code, chart_spec=spec)
    assert drawn["data_ref"]
    exported = shops.ask("export_dataset", data_ref=kept["data_ref"], format="xlsx")
    assert exported["file_id"]


@pytest.mark.parametrize("formula", ["sales / sales[board]", "sales[actual+board]", "sales[board@nothing]"])
def test_a_hidden_scenario_is_refused_as_an_unknown_one(shops: McpBooks, formula: str) -> None:
    hidden = shops.call("run_metric_data", **asked(formula)).told
    unknown = shops.call("run_metric_data", **asked(formula.replace("board", "bored"))).told
    assert hidden == {key: swapped(part) for key, part in unknown.items()}


def swapped(part: Any) -> Any:
    """Return a text with the hidden name in place of the unknown one."""
    return part.replace("bored", "board") if isinstance(part, str) else part


def test_what_names_a_hidden_scenario_is_in_no_list(shops: McpBooks) -> None:
    (domain,) = shops.ask("list_kpis")["domains"]
    assert [metric["key"] for metric in domain["metrics"]] == ["sales", "owed", "growth"]
    refused = shops.call("run_metric_data", metrics=["secret"], scenarios=[{"scenario": "actual"}], **QUARTER).told
    assert (refused["error_type"], refused["valid"]) == ("unknown_name", ["growth", "owed", "sales"])
    statement = shops.ask("run_statement_data", statement="pnl", scenarios=[{"scenario": "actual"}], **QUARTER)
    assert [row["key"] for row in statement["rows"]] == ["sales"]


def test_its_variance_is_refused_in_words(shops: McpBooks) -> None:
    explained = {"metric": "growth", "scenarios": ["actual", "budget"], "by": ["shop"], **QUARTER}
    refused = shops.call("explain_variance", **explained).told
    assert refused["error"].startswith("growth is neither a sum over its members nor one such sum over another")
    assert refused["valid"] == ["sales", "owed"]
