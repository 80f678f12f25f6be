"""The table of docs/figures.md on references and places is walked over HTTP: each cell says what a call does there."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.spec.test_views import SHOP
from tests.support.answers.drills import calls, figure_behind
from tests.support.answers.reader import filled_in
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance
from tests.support.books.worked import PAGE
from tests.support.service.servers import McpBooks, connected, serving

REFERENCES = {  # as the table names them: the column that is asked, and the metric that has it
    "share(x)": ("share(actual)", "revenue"),
    "share(x,parent)": ("share(actual,parent)", "revenue"),
    "share(x,line)": ("share(actual,revenue)", "revenue"),
    "var(share(x),share(y))": ("var(share(actual),share(budget))", "revenue"),
    "var_pct(share(x),share(y))": ("var_pct(share(actual),share(budget))", "revenue"),
    "var(share(x,line),share(y,line))": ("var(share(actual,revenue),share(budget,revenue))", "revenue"),
    "rank(x)": ("rank(actual)", "revenue"),
    "running(x)": ("running(actual)", "revenue"),
    "running(share(x))": ("running(share(actual))", "revenue"),
    "x@last2": ("actual@last2", "revenue"),
    "x@avg2": ("actual@avg2", "revenue"),
    "x@mtd": ("actual@mtd", "revenue"),
    "x@pm": ("actual@pm", "revenue"),
    "x@opening": ("actual@opening", "stock"),
}
WORKS, BLANK, REFUSED, NONE = "works", "blank", "refused", "no rows"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpBooks]:
    """A client of the books of sales and stocks."""
    folder = tmp_path_factory.mktemp("references")
    profiles = "everyone: {scenarios: {'*': {}}}\nassign: [{subject: dev, profile: everyone}]\n"
    instance = write_instance(folder / "books", **SHOP, profiles=profiles)
    load_instance(instance, folder / "state")
    with serving(instance, folder / "state") as server, connected(server.url, "auto") as client:
        yield client


def table() -> list[tuple[str, str, str]]:
    """Return the reference, the place and the words of each cell of the table."""
    text = PAGE.read_text(encoding="utf-8")
    (head, *body) = [
        [cell.strip(" `") for cell in row.strip("|").split("|")]
        for row in re.findall(r"^\| reference .*?\n\n", text, re.MULTILINE | re.DOTALL)[0].strip().splitlines()
        if not row.startswith("|--")
    ]
    return [(row[0], place, said) for row in body for place, said in zip(head[1:], row[1:], strict=True)]


def asked_of(name: str, **more: Any) -> dict[str, Any]:
    """Return the arguments of a call for a reference: by region and customer with sub-totals."""
    reference, metric = REFERENCES[name]
    period = "2021-02-20" if "@mtd" in reference else "2021-01" if "budget" in reference else "2021-02"
    call: dict[str, Any] = {
        "metrics": [metric],
        "scenarios": [{"scenario": reference, "alias": "V"}],
        "period_start": period,
        "period_end": period,
        "dimensions": ["region", "customer"],
        "subtotals": True,
    }
    return {**call, **more}


def outcome(shop: McpBooks, tool: str, call: dict[str, Any], at: Callable[[dict[str, Any]], Any]) -> str:
    """Return what a call does: refuses in words, or has a figure at a place, or none."""
    called = shop.call(tool, **call)
    if called.is_error:
        assert called.result["field"].startswith("scenarios"), called.result
        return REFUSED
    return BLANK if at(filled_in(called.result)) is None else WORKS


def row_of(kind: str, depth: int) -> Callable[[dict[str, Any]], Any]:
    """Return what finds the first figure of the rows of a kind at a depth."""

    def find(answer: dict[str, Any]) -> Any:
        rows = [row for row in answer["rows"] if row.get("kind") == kind and len(row["members"]) == depth]
        found = [row["values"][0] for row in rows if row["values"][0] is not None]
        return found[0] if found else None

    return find


def in_total(answer: dict[str, Any]) -> Any:
    """Return the figure of the total."""
    return answer["rows"][-1]["values"][0]


def in_first_line(answer: dict[str, Any]) -> Any:
    """Return the first figure of the first line of a statement."""
    return next((value for value in answer["rows"][0]["values"] if value is not None), None)


def of_statement(shop: McpBooks, name: str) -> str:
    """Ask the reference of a statement."""
    call = {key: part for key, part in asked_of(name).items() if key != "metrics"}
    statement = "pl" if REFERENCES[name][1] == "revenue" else "held"
    if "line" in name:
        call = {key: part for key, part in call.items() if key not in ("dimensions", "subtotals")}
    return outcome(shop, "run_statement", {**call, "statement": statement}, in_first_line)


def of_explanation(shop: McpBooks, name: str) -> str:
    """Ask the reference as a side of a variance to explain."""
    reference, metric = REFERENCES[name]
    call = {key: part for key, part in asked_of(name).items() if key.startswith("period")}
    sides = {"metric": metric, "scenarios": [reference, "actual@py"], "by": ["region"]}
    return outcome(shop, "explain_variance", {**call, **sides}, lambda answer: answer)


def of_drill(shop: McpBooks, name: str) -> str:
    """Follow the drill of a member's cell: its rows add up to the figure that the reference is made of."""
    call = asked_of(name, dimensions=["customer"], subtotals=False)
    called = shop.call("run_metric_data", **call)
    if called.is_error:
        return REFUSED
    answer = filled_in(called.result)
    row = next(row for row in answer["rows"] if row["values"][0] is not None)
    found = list(calls(row, answer["columns"][0]))
    if not found:
        return NONE
    behind = [figure_behind(asked, lambda given: shop.ask("inspect_rows", **given)) for _, _, asked in found]
    assert len(behind) == (2 if "y" in name else 1)
    assert None not in behind
    return WORKS


def of_kept(shop: McpBooks, name: str, then: Callable[[str], Any]) -> str:
    """Keep the result of the reference and use it."""
    statement = "line" in name
    call = asked_of(name, dimensions=[] if statement else ["customer"], subtotals=False)
    if statement:
        call = {key: part for key, part in call.items() if key != "metrics"} | {"statement": "pl"}
    then(shop.keep("run_statement" if statement else "run_metric", **call))
    return WORKS


def told(shop: McpBooks, name: str, place: str) -> str:
    """Return what a call does with a reference at a place of the table."""
    if place == "statement":
        return of_statement(shop, name)
    if place == "explain_variance":
        return of_explanation(shop, name)
    if place == "drill":
        return of_drill(shop, name)
    if place == "kept result":
        return of_kept(shop, name, lambda ref: shop.ask("export_dataset", data_ref=ref, format="json"))
    if place == "chart":
        spec = {"chart_type": "bar", "title": "t"}
        return of_kept(shop, name, lambda ref: shop.ask("eval_chart_transform", data_refs=[ref], chart_spec=spec))
    if place == "export":
        return of_kept(shop, name, lambda ref: shop.ask("export_dataset", data_ref=ref, format="xlsx"))
    cut: dict[str, Any] = {"having": [{"column": "V", "min": 0.3}]} if "y" in name else {"top": 1}
    more = cut if place == "(others)" else {}
    at = {"metric": row_of("member", 2), "total": in_total, "sub-total": row_of("member", 1)}.get(
        place,
        row_of("others", 1 if "y" in name else 2),  # conditions are on the first dimension
    )
    return outcome(shop, "run_metric", asked_of(name, **more), at)


@pytest.mark.parametrize(("name", "place", "said"), table())
def test_a_reference_does_at_a_place_what_the_table_says(shop: McpBooks, name: str, place: str, said: str) -> None:
    assert told(shop, name, place) == said


def test_the_table_names_every_reference() -> None:
    assert list(dict.fromkeys(name for name, _, _ in table())) == list(REFERENCES)


def test_conditions_lines_and_the_order_of_periods_are_asked_over_http(shop: McpBooks) -> None:
    year: dict[str, Any] = {"scenarios": [{"scenario": "actual"}], "period_start": "2021-01", "period_end": "2021-02"}
    sales = {**year, "metrics": ["revenue"]}
    above = shop.ask("run_metric", **sales, dimensions=["customer"], having=[{"column": "revenue", "min": 100}])
    assert [row["values"][0] for row in above["rows"]] == [120, 300, 80, 500]
    assert (above["rows"][2]["holds"], above["rows"][2]["unmet"]) == (3, 3)
    months = shop.ask("run_metric", **sales, dimensions=["period"], order_by="revenue", asc=True)
    assert [row["values"][0] for row in months["rows"]] == [70, 430, 500]
    half = shop.ask("run_statement", **year, statement="pl", lines=["half"])
    assert [(row["key"], row["values"]) for row in half["rows"]] == [("half", [250])]
    told = shop.call("run_metric", **sales, dimensions=["customer"], having=[{"column": "nothing", "min": 1}]).result
    assert (told["field"], told["valid"]) == ("having.0.column", ["revenue"])
