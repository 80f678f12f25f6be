"""The block that the inspection grid renders: the answer's rows with their texts, and goldens of it for the view."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door, open_books
from engine.model.errors import BadArguments
from engine.present.answers.budget import DataRef
from engine.present.answers.rows import rows_answer
from engine.present.blocks import grid
from tests.support.answers.drills import exactly
from tests.support.answers.goldens import dated, held
from tests.support.answers.reader import filled_in
from tests.support.books.inspected import ledger

Json = dict[str, Any]

SHOWN = 50  # rows of an inspection that the specification has the widget show
UNCUT = 10**9
FEW = 2_000  # tokens: fewer rows than are shown
REFERENCE = DataRef("ds_golden")
LEDGER = """
    2020-12-31 actual Sales     -  J1 10.01                a
    2021-01-05 actual Sales     E1 J1 1234567.89           b~c
    2021-01-05 actual Returns   E1 -  0.53                 =1+1
    2021-01-05 actual Sales     E1 J2 0                    -
    2021-01-06 actual Sales     E2 J2 -1000.01             d
    2021-02-06 actual Heads     E2 J3 12                   e
    2021-02-07 actual -         E1 J3 -7                   f
    2021-03-01 actual Sales     E1 J4 12345678901234567.89 g
    2021-03-02 actual Sales     E1 J4 -345678901234567.8   h
    -          actual Sales     E1 J5 1000                 i
"""


@dataclass(frozen=True, slots=True)
class RowsOfBooks:
    """Rows of some books, the call that asks for them, and the tokens that their answer may take."""

    books: str
    source: str = "gl"
    rest: Json = field(default_factory=dict)
    tokens: int = UNCUT


def of_demo(metric: str, period: str | tuple[str, str], **rest: Any) -> Json:
    """Return the rest of a call for rows behind a figure of the demo."""
    return {"period": period, "filters": {"metric": metric}, **rest}


def of_ledger(metric: str, period: str | tuple[str, str], *columns: str, **filters: str) -> Json:
    """Return the rest of a call for rows behind a figure of the ledger."""
    return {"period": period, "columns": columns, "filters": {"metric": metric, **filters}}


SEVERAL = ("date", "account", "entity", "amount")
GOLDENS = {
    "preview": RowsOfBooks("demo", rest=of_demo("revenue", "2026-09", columns=SEVERAL)),
    "limited": RowsOfBooks("demo", rest=of_demo("opex", ("2026-01", "2026-09"), columns=SEVERAL, limit=60)),
    "capped": RowsOfBooks("demo", rest=of_demo("cash", "2026-09", limit=3)),
    "withheld": RowsOfBooks("demo", rest=of_demo("revenue", "2026-09"), tokens=FEW),
    "of_another_year": RowsOfBooks(
        "demo",
        rest={"period": "2026-08", "filters": {"metric": "other_opex", "scenario": "actual@py"}, "columns": SEVERAL},
    ),
    "heads": RowsOfBooks("demo", "people", of_demo("headcount", "2026-09")),
    "pieces": RowsOfBooks("demo", "sales", of_demo("units", "2026-08", columns=("product", "customer", "units"))),
    "of_no_figure": RowsOfBooks("demo", rest={"period": "2026-09", "limit": 12}),
    "of_nobody": RowsOfBooks("demo", rest={"period": "2026-09", "filters": {"metric": "revenue", "entity": "nobody"}}),
    "of_no_scenario": RowsOfBooks("demo", rest=of_demo("revenue", "2026-09", scenario="unknown")),
    "as_they_stand": RowsOfBooks("ledger"),
    "mean": RowsOfBooks("ledger", rest=of_ledger("mean", "2021-01", "account", "amount", account="Sales")),
    "months": RowsOfBooks("ledger", rest=of_ledger("monthly", ("2021-01", "2021-02"), "date", "amount")),
    "halves": RowsOfBooks("ledger", rest=of_ledger("half", "2021-01", "account", "text")),
    "counted": RowsOfBooks("ledger", rest=of_ledger("postings", "2021-01", "account")),
    "different": RowsOfBooks("ledger", rest=of_ledger("accounts", "2021-01", "account")),
    "least": RowsOfBooks("ledger", rest=of_ledger("least", "2021-01", "entity", "amount")),
    "subtracted": RowsOfBooks("ledger", rest=of_ledger("net_sales", "2021", "date", "journal", "amount")),
    "ordered": RowsOfBooks("demo", rest={**of_demo("opex", "2026-09"), "order_by": "contribution", "limit": 5}),
    "searched": RowsOfBooks(
        "ledger",
        rest={
            **of_ledger("net_sales", "2021"),
            "columns": ("text", "amount"),
            "text": "c",
            "asc": True,
            "order_by": "amount",
        },
    ),
    "counted_by": RowsOfBooks("demo", rest={**of_demo("opex", "2026-09"), "count_by": ("account",), "limit": 4}),
    "long": RowsOfBooks("ledger", rest=of_ledger("total", "2021-03", "text", "amount")),
}


@pytest.fixture(scope="module")
def every_books(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Door]:
    """The books of the demo, and a small ledger of all that is rare."""
    return {"demo": open_books(demo_folder), "ledger": ledger(tmp_path_factory.mktemp("ledger"), LEDGER)}


def said(amount: Decimal | None, places: int) -> str:
    """Return an amount as the grid shows it."""
    if amount is None:
        return ""
    rounded = amount.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP)
    if not rounded:
        return "\N{EN DASH}"
    return f"{abs(rounded):,}" if rounded > 0 else f"({abs(rounded):,})"


def cell_said(column: Json, value: Any, labels: Json) -> list[str]:
    """Return the text and the label of a cell."""
    if column["type"] == "number":
        return [said(exactly(value), column["places"]), ""]
    return [value or "", labels.get(column["name"], {}).get(value, "")]


def sums_said(answered: Json, shown: int) -> list[list[str]]:
    """Return the sums under the first rows of an answer that holds them all: the style and the text of each."""
    total, column = exactly(answered.get("contribution_total")), answered["columns"][-1]
    if total is None:
        return []
    contributed = [exactly(row[-1]) or Decimal(0) for row in answered["rows"]]
    assert answered["truncated"] or sum(contributed, Decimal(0)) == total
    seen = sum(contributed[:shown], Decimal(0))
    parts = [seen, total - seen] if answered["truncated"] or shown < len(contributed) else []
    quotient = [("figure", total / Decimal(answered["divisor"]))] if "divisor" in answered else []
    sums = [*(("part", part) for part in parts), ("total", total), *quotient]
    return [[style, said(amount, column["places"])] for style, amount in sums]


def captioned(answered: Json) -> str:
    """Return the words under a grid's title: its source where the title is a figure, its scenario and its period."""
    source = answered["source_label"] if answered.get("metric") else ""
    chosen = (f"{heading}: {words}" for heading, words in answered.get("chosen", {}).items())
    words = (source, answered["scenario_id"], answered.get("period", {}).get("label", ""), *chosen)
    return " \N{MIDDLE DOT} ".join(filter(None, words))


def seen(answered: Json) -> Json:
    """Return what the view shows of an answer that holds every row."""
    figure = answered.get("metric_label") or answered.get("metric")
    columns = answered["columns"]
    return {
        "label": figure or answered["source_label"],
        "caption": captioned(answered),
        "columns": [[column["label"], column.get("unit", "")] for column in columns],
        "rows": [
            [cell_said(column, value, answered["labels"]) for column, value in zip(columns, row, strict=True)]
            for row in answered["rows"][:SHOWN]
        ],
        "sums": sums_said(answered, min(SHOWN, len(answered["rows"]))),
        "notes": [note["message"] for note in answered["notes"]],
        "found": answered["row_count"],
        "truncated": answered["truncated"],
        "all": [answered.get("total_rows"), answered.get("total_groups")],
    }


def values(row: Sequence[Any]) -> list[Any]:
    """Return a rendered row as the answer has it."""
    return [cell[1] if isinstance(cell, list) else cell for cell in row]


@pytest.mark.parametrize("name", GOLDENS)
def test_a_grid_is_the_answer_with_a_text_beside_each_amount(every_books: dict[str, Door], name: str) -> None:
    asked = GOLDENS[name]
    inspection = every_books[asked.books].rows(asked.source, **{"scenario": "actual", **asked.rest})
    whole, answered = (rows_answer(inspection, tokens, REFERENCE) for tokens in (UNCUT, asked.tokens))
    block = grid(inspection, answered)
    shown = seen(filled_in({**whole, **({"period": block["period"]} if "period" in block else {})}))
    assert [values(row) for row in block["rows"]] == whole["rows"][:SHOWN]
    texts = [[cell[0] if isinstance(cell, list) else cell or "" for cell in row] for row in block["rows"]]
    assert texts == [[text for text, _ in row] for row in shown["rows"]]
    assert block["rows_answered"] == len(answered["rows"])
    for key in answered.keys() - {"rows", "labels", "period", "contribution_total", "figure"}:
        assert block[key] == answered[key]
    for key in {"contribution_total", "figure"} & answered.keys():
        assert values([block.get(key)]) == [answered[key]]
    kept = {
        "block": block,
        "result": answered,
        "seen": shown,
        "sums": sums_said(whole, min(SHOWN, len(answered["rows"]))),
    }
    held(f"inspection-grid/{name}", dated(kept))


def test_rows_of_a_source_that_does_not_make_the_figure_are_refused(every_books: dict[str, Door]) -> None:
    with pytest.raises(BadArguments, match=r"revenue is made of rows of gl, not of people\.") as refused:
        every_books["demo"].rows("people", scenario="actual", period="2026-09", filters={"metric": "revenue"})
    held("inspection-grid/of_another_source", {"refusal": refused.value.as_data()})
