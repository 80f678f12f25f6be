"""Every digit of a figure from the books to an ordinary JSON parser: raw bodies and client values, in both eras."""

import json
from decimal import Decimal
from typing import Any

from tests.support.service.servers import McpBooks

COLUMNS = [{"scenario": "actual", "alias": "A"}, {"scenario": "budget", "alias": "B"}]
SHARE = [{"scenario": "var_pct(actual,budget)", "alias": "%"}]


def raw_result(books: McpBooks) -> dict[str, Any]:
    """Return the last result as its bytes have it: numbers as the digits that were sent."""
    parsed = (json.loads(body, parse_float=Decimal, parse_int=Decimal) for body in reversed(books.bodies))
    return next(body["result"] for body in parsed if "content" in body["result"])


def copies(books: McpBooks) -> tuple[Any, Any]:
    """Return both copies of the last result with the digits that were sent."""
    result = raw_result(books)
    (text,) = result["content"]
    return result["structuredContent"], json.loads(text["text"], parse_float=Decimal, parse_int=Decimal)


def test_both_copies_are_the_same_digits(books: McpBooks) -> None:
    asked = {"scenarios": COLUMNS, "period_start": "2021-01", "period_end": "2021-02", "dimensions": ["period"]}
    seen = books.call("run_statement_data", statement="pnl", **asked).result
    data, text = copies(books)
    assert data == text
    assert json.loads(json.dumps(seen), parse_float=Decimal, parse_int=Decimal) == data


def test_figures_are_numbers_where_every_parser_reads_them_exactly_and_text_where_not(books: McpBooks) -> None:
    books.ask(
        "run_metric_data",
        metrics=["revenue"],
        scenarios=COLUMNS[:1],
        period_start="2021-01",
        period_end="2021-02",
        dimensions=["product"],
    )
    data, _ = copies(books)
    assert [row["values"] for row in data["rows"]] == [
        ["90071993781977.82"],
        [Decimal("-0.1")],
        [Decimal("90071993781977.72")],
    ]
    assert repr(90071993781977.82) == "90071993781977.81"  # what a parser of doubles would have shown


def test_quotients_arrive_with_fifteen_digits(books: McpBooks) -> None:
    books.ask("run_metric_data", metrics=["third"], scenarios=COLUMNS, period_start="2021-01")
    data, _ = copies(books)
    assert data["rows"][0]["values"] == [Decimal("411522.596666667"), Decimal("333333.333333333")]
    books.ask("run_metric_data", metrics=["revenue"], scenarios=SHARE, period_start="2021-01")
    data, _ = copies(books)
    assert data["rows"][0]["values"] == [Decimal("0.23456779")]


def test_rendering_and_data_variants_return_the_same_figures(books: McpBooks) -> None:
    asked = {"statement": "full_pnl", "scenarios": COLUMNS, "period_start": "2021-01", "scale": 3, "decimals": 1}
    shown, raw = books.call("run_statement", **asked), books.call("run_statement_data", **asked)
    assert shown.told == raw.told
    block = shown.meta["tieout/table"]
    assert "tieout/table" not in raw.meta
    assert [row["cells"][0][0] for row in block["rows"]] == ["1,234.6", "1,234.6", "\N{EN DASH}", "6.0"]
    assert [row["cells"][0][1] for row in block["rows"]] == [row["values"][0] for row in raw.result["rows"]]


def test_blank_and_zero_are_told_apart(books: McpBooks) -> None:
    result = books.ask("run_statement_data", statement="pnl", scenarios=COLUMNS, period_start="2021-03")
    assert [row["values"] for row in result["rows"]] == [[None, None], [None, None]]
