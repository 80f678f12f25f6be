"""Finance cases T58-T66 and T69: rounding once, scale, large sums, noise, and the same load twice.

Rules: Exact, Rounding and scale, Order.
"""

import json
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest

from engine.door import Door, open_books
from engine.model.exact import Exact
from engine.present.answers import reports
from engine.present.answers.budget import tokens
from engine.present.blocks import table as render_block
from engine.report.report import Report
from tests.support.answers.reader import answer
from tests.support.books.loads import load_instance
from tests.support.books.small import figure, figures, small_books, write_ledger

JAN = "2021-01"
A = {"A": "actual"}


def amounts(folder: Path, rows: str, places: int = 2, more: str = "") -> Door:
    """Amounts by product, a share and a head count."""
    return small_books(
        folder,
        facts={"gl": f"date scenario product amount heads\n{rows}"},
        domains={
            "gl": f"""
            time: {{column: date}}
            dimensions: {{product: product}}
            measures: {{amount: {{places: {places}}}, heads: {{type: number, places: 1}}}}
            metrics:
              revenue: {{measure: amount}}
              headcount: {{measure: heads}}
              half: {{formula: revenue / 2}}
              third: {{formula: revenue / 3}}
              share: {{formula: half / revenue, format: percent}}
              base: {{formula: revenue - half - half}}
              per_head: {{formula: revenue / headcount}}
              {more}
            """
        },
        dimensions="product: {kind: leaf}",
    )


def json_figures(report: Report) -> list[object]:
    """Return the figures of a report as its JSON text has them, read by an ordinary parser."""
    rows = json.loads(json.dumps(answer(report, 100_000)))["rows"]
    return [value for row in rows for value in row["values"]]


def text_cells(report: Report, heading: str) -> list[str]:
    """Return the shown text of each row whose label begins with a heading."""
    return [line.split()[-1] for line in repr(report).splitlines() if line.startswith(heading)]


def test_t58_totals_are_rounded_from_the_exact_sum(tmp_path: Path) -> None:
    rows = "\n".join(f"2021-01-05 actual {product} 1.4 0" for product in "PQR")
    report = amounts(tmp_path, rows).metric("revenue", scenarios=A, period=JAN, dimensions=["product"], decimals=0)
    assert [text_cells(report, product) for product in ("P ", "Q ", "R ", "Total")] == [["1"], ["1"], ["1"], ["4"]]
    assert figures(report, "product")[None] == Decimal("4.2")


@pytest.mark.parametrize(
    ("figure", "places", "shown"),
    [("0.5", 0, "1"), ("1.5", 0, "2"), ("2.5", 0, "3"), ("-0.5", 0, "-1"), ("2.675", 2, "2.68"), ("-0.004", 2, "0")],
)
def test_t59_and_t64_half_away_from_zero_and_no_negative_zero(figure: str, places: int, shown: str) -> None:
    assert Exact.of(figure).rounded(places).digits() == shown


def test_t60_scale_is_a_unit_of_money_alone(tmp_path: Path) -> None:
    books = amounts(tmp_path, "2021-01-05 actual P 1234567.89 175.6")
    thousands = books.metric("revenue", "headcount", "share", scenarios=A, period=JAN, scale=3, decimals=1)
    assert json_figures(thousands) == [1234.56789, 175.6, 0.5]
    assert "1,234.6" in repr(thousands)
    assert "175.6" in repr(thousands)
    assert "50.0%" in repr(thousands)
    millions = books.metric("revenue", scenarios=A, period=JAN, scale=6, decimals=2)
    assert "1.23" in repr(millions)
    assert json_figures(millions) == [1.23456789]
    assert figures(millions, "metric")["revenue"] == Decimal("1234567.89")  # frames and snapshots are unscaled


@pytest.mark.parametrize(("scale", "said"), [(0, ", in USD"), (3, ", in USD thousands, Largest in USD")])
def test_t60_a_caption_names_what_is_not_scaled(tmp_path: Path, scale: int, said: str) -> None:
    books = amounts(tmp_path, "2021-01-05 actual P 1234567 2", more="largest: {measure: amount, over_members: max}")
    for keys in (("largest", "revenue", "per_head"), ("headcount", "revenue", "largest")):
        report = books.metric(*keys, scenarios=A, period=JAN, scale=scale)
        assert repr(report).splitlines()[0].endswith(f"Jan 2021{said}")


def test_t60_scale_divides_neither_a_price_nor_a_share(tmp_path: Path) -> None:
    books = amounts(tmp_path, "2021-01-05 actual P 3000 2\n2021-01-05 budget P 2000 2")
    columns = {"A": "actual", "%": "var_pct(actual,budget)"}
    report = books.metric("revenue", "per_head", scenarios=columns, period=JAN, scale=3)
    assert json_figures(report) == [3, 0.5, 1500, 0.5]


def test_t62_large_sums_to_the_cent(tmp_path: Path) -> None:
    rows = "2021-01-05 actual P 90071992547409.92 0\n2021-01-06 actual P 0.01 0"
    report = amounts(tmp_path / "one", rows).metric("revenue", scenarios=A, period=JAN)
    assert json_figures(report) == ["90071992547409.93"]  # as a JSON number, parsers would read …409.94
    assert figure(report) == Decimal("90071992547409.93")
    rows = "2021-01-05 actual P 10000000000000000.01 0\n2021-01-05 budget P 10000000000000000.00 0"
    books = amounts(tmp_path / "two", rows)
    difference = books.metric("revenue", scenarios={"V": "var(actual,budget)"}, period=JAN)
    assert json_figures(difference) == [0.01]
    plain = books.metric("revenue", scenarios=A, period=JAN)
    assert json_figures(plain) == ["10000000000000000.01"]


def test_sums_past_63_bits_do_not_wrap(tmp_path: Path) -> None:
    rows = "\n".join(f"2021-01-{day:02} actual P 92233720368547758.07 0" for day in range(1, 5))
    report = amounts(tmp_path, rows).metric("revenue", scenarios=A, period=JAN)
    assert json_figures(report) == ["368934881474191032.28"]


def test_sums_that_would_wrap_one_by_one_do_not_although_together_they_are_nothing(tmp_path: Path) -> None:
    huge = "92233720368547758.07"  # 2^63 - 1 cents
    rows = "\n".join(
        f"2021-01-{day:02} actual {product} 0" for day in (1, 2) for product in (f"P {huge}", f"Q -{huge}")
    )
    report = amounts(tmp_path, rows).metric("revenue", scenarios=A, period=JAN, dimensions=["product"])
    assert json_figures(report) == ["184467440737095516.14", "-184467440737095516.14", 0]


def test_last_known_values_of_a_blend_are_as_long_as_the_longer_part(tmp_path: Path) -> None:
    huge = 2**63 - 1
    books = small_books(
        tmp_path,
        facts={
            "gl": f"""date scenario product amount
            2021-01-05 actual P {huge}
            2021-01-05 actual Q {huge}
            2021-02-05 forecast Q -5"""
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {product: product}
            measures: {amount: {places: 0}}
            metrics: {known: {measure: amount, over_time: {last_known: always}}}
            """
        },
        dimensions="product: {kind: leaf}",
        scenarios="actual: {alias: A, kind: actual, closed_through: 2021-01}\nforecast: {alias: F, kind: forecast}\n",
    )
    columns = {"Jan": "actual+forecast@pp", "Feb": "actual+forecast", "Then": "forecast"}
    report = books.metric("known", scenarios=columns, period="2021-02")
    assert figures(report, "alias") == {"Jan": 2 * huge, "Feb": huge - 5, "Then": -5}


def test_t63_noise_that_is_zero(tmp_path: Path) -> None:
    rows = (
        "2021-01-05 budget P 0.10 0\n2021-01-06 budget P 0.20 0\n2021-01-07 budget P -0.30 0\n2021-01-05 actual P 5 0"
    )
    books = amounts(tmp_path, rows)
    report = books.metric("revenue", scenarios={"B": "budget", "%": "var_pct(actual,budget)"}, period=JAN)
    assert json_figures(report) == [0, None]


def test_t64_negative_zero_does_not_exist(tmp_path: Path) -> None:
    books = amounts(tmp_path, "2021-01-05 actual P -5 0\n2021-01-06 actual P 5 0\n2021-01-05 budget P -0.4 0")
    text = json.dumps(json_figures(books.metric("revenue", "half", scenarios=A, period=JAN)))
    assert text == "[0, 0]"
    shown = repr(books.metric("revenue", scenarios={"B": "budget"}, period=JAN, scale=3, decimals=0))
    assert "(0)" not in shown
    assert "-0" not in shown


def test_t66_rows_are_rounded_once_after_adding(tmp_path: Path) -> None:
    rows = "\n".join(f"2021-01-{day:02} actual P 0.335 0" for day in (5, 6, 7))
    report = amounts(tmp_path, rows, places=3).metric("revenue", scenarios=A, period=JAN, decimals=2)
    assert figure(report) == Decimal("1.005")
    assert "1.01" in repr(report)


def test_quotients_carry_fifteen_digits_half_even(tmp_path: Path) -> None:
    report = amounts(tmp_path, "2021-01-05 actual P 1 0").metric("third", "base", scenarios=A, period=JAN)
    assert json_figures(report) == [0.333333333333333, 0]


def test_a_quotient_is_rounded_half_even(tmp_path: Path) -> None:
    rows = "2021-01-05 actual P 2000000000000.01 2\n2021-01-05 actual Q 2000000000000.03 2"  # …000.005 and …000.015
    report = amounts(tmp_path, rows).metric("per_head", scenarios=A, period=JAN, dimensions=["product"])
    assert json_figures(report)[:2] == [1000000000000, 1000000000000.02]


@pytest.mark.parametrize(
    ("metric", "amount", "heads", "shown"),
    [
        ("per_head", "2000000000000.01", 2, "1,000,000,000,000.00"),  # 1000000000000.005 has 16 digits
        ("per_head", "98971126312077.94", 7, "14,138,732,330,296.80"),  # …296.8485…
        ("third", "1000000000000000", 1, "333,333,333,333,333.00"),  # a decimal that never ends
        ("half", "2000000000000000.01", 1, "1,000,000,000,000,000.01"),  # all digits of 1000000000000000.005
    ],
)
def test_a_table_shows_the_digits_of_the_figure(
    tmp_path: Path, metric: str, amount: str, heads: int, shown: str
) -> None:
    books = amounts(tmp_path, f"2021-01-05 actual P {amount} {heads}")
    report = books.metric(metric, scenarios=A, period=JAN, dimensions=["product"], decimals=2)
    told = figures(report, "product")["P"]
    assert told is not None
    assert text_cells(report, "P ") == [shown]
    for row in render_block(report)["rows"]:
        (cell,) = row["cells"]
        assert cell[0] == shown
        assert Decimal(str(cell[1])).quantize(Decimal("0.01"), ROUND_HALF_UP) == Decimal(shown.replace(",", ""))


def test_a_difference_of_quotients_is_divided_once(tmp_path: Path) -> None:
    books = amounts(tmp_path, "2021-01-05 actual P 1 3\n2021-01-05 budget P 3 10")  # 1/3 - 3/10 = 1/30
    report = books.metric("per_head", scenarios={"V": "var(actual,budget)"}, period=JAN)
    assert figure(report) == Decimal("0.0333333333333333")


def test_t69_the_same_file_loaded_twice(tmp_path: Path) -> None:
    instance = write_ledger(tmp_path, "2021-01-05 actual 10\n2021-01-06 actual 20\n2021-01-07 actual 30")
    for _ in range(2):
        load_instance(instance, tmp_path / "state")
    books = open_books(instance, state=tmp_path / "state")
    assert figure(books.metric("revenue", scenarios=A, period=JAN)) == 60


def test_where_an_answer_is_too_long_members_go_and_are_counted_and_totals_stay(tmp_path: Path) -> None:
    rows = "\n".join(f"2021-01-05 actual P{product:03} 1 0" for product in range(900))
    books = amounts(tmp_path, rows)
    report = books.metric("revenue", scenarios=A, period=JAN, dimensions=["product"])
    assert tokens(reports.answer(report, 8_000)) <= 8_000
    result = answer(report, 8_000)
    assert result["rows"][0]["key"] == "P000"
    assert (result["rows"][-1]["key"], result["rows"][-1]["values"]) == ("total", [900])
    assert result["agent_truncated"] == {"members": 901 - len(result["rows"])}
    assert "agent_truncated" not in answer(report, 100_000)
