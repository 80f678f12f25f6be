"""Formulas of a request: exact figures of visible metrics, with the grammar, nulls and units of the catalogue.

Rules: Order, Nothing.
"""

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import BadArguments, UnknownName
from engine.model.exact import Exact
from engine.report.report import Report
from tests.support.answers.reader import answer
from tests.support.books.small import figures, small_books

ASKED: dict[str, Any] = {"scenarios": {"A": "actual"}, "period": "2021"}


@pytest.fixture
def books(tmp_path: Path) -> Door:
    """A ledger with money and units by product, and heads in a domain of their own."""
    ledger = """
        time: {column: date}
        dimensions: {product: product}
        measures: {amount: {places: 2}, units: {places: 0, type: number}}
        inspect_enabled: true
        metrics:
          revenue: {measure: amount}
          sold: {measure: units}
          price: {formula: revenue / sold}
    """
    return small_books(
        tmp_path,
        facts={
            "gl": "date scenario product amount units\n2021-01-05 actual A 10 3\n2021-01-05 actual B 7 0\n"
            "2021-01-05 budget A 8 2\n",
            "people": "date scenario product fte\n2021-01-05 actual A 2",
        },
        domains={
            "gl": ledger,
            "people": "time: {column: date}\ndimensions: {product: product}\n"
            "measures: {fte: {places: 1, type: number}}\nmetrics: {heads: {measure: fte}}\n",
        },
        dimensions="product: {kind: leaf}",
    )


def of(report: Report, line: int) -> list[Fraction | None]:
    """Return the figures of a line in the first column, by place."""
    return [
        Fraction(figure.numerator, figure.denominator) if isinstance(figure, Exact) else None
        for figure in report.figures[line][0]
    ]


def test_a_formula_is_exact_and_a_total_is_computed_again(books: Door) -> None:
    formulas = {"each": "revenue / sold", "less": "revenue - 0.5 * revenue", "twice": "(revenue + gl.revenue) / 2"}
    report = books.metric("revenue", formulas=formulas, dimensions=["product"], **ASKED)
    assert [line.key for line in report.lines] == ["revenue", "each", "less", "twice"]
    assert of(report, 1) == [Fraction(10, 3), None, Fraction(17, 3)]
    assert of(report, 2) == [5, Fraction(7, 2), Fraction(17, 2)]
    assert of(report, 3) == [10, 7, 17]


def test_formulas_need_no_metric_beside_them(books: Door) -> None:
    asked: dict[str, Any] = {**ASKED, "dimensions": ["product"], "order_by": "each", "asc": True}
    alone = books.metric(formulas={"each": "revenue * 2", "head": "revenue / people.heads"}, **asked)
    assert [figures(alone, "product", "metric")[at, "each"] for at in ("B", "A", None)] == [14, 20, 34]
    assert list(dict.fromkeys(alone.frame["product"])) == ["B", "A", None]
    assert [of(alone, 0), of(alone, 1)] == [[14, 20, 34], [None, 5, Fraction(17, 2)]]
    of_people = books.metric(formulas={"half": "heads / 2"}, **ASKED)
    assert of(of_people, 0) == [1]
    with pytest.raises(BadArguments, match=r"Name at least one metric"):
        books.metric(**ASKED)


def test_a_formula_has_the_unit_of_its_operands(books: Door) -> None:
    formulas = {"each": "revenue / sold", "sum": "revenue + revenue", "share": "revenue / revenue", "units": "sold * 2"}
    result = answer(books.metric("revenue", formulas=formulas, **ASKED), 100_000)
    assert [column["unit"] for column in result["columns"]] == ["USD", "USD each", "USD", "ratio", "number"]


def test_a_formula_ranks_and_compares(books: Door) -> None:
    report = books.metric(
        "revenue", formulas={"minus": "0 - revenue"}, dimensions=["product"], order_by="minus", top=1, **ASKED
    )
    assert [place.members[0].id for place in report.places[:-1]] == ["B", "(others)"]
    assert of(report, 1) == [-7, -10, -17]
    against: dict[str, Any] = {"scenarios": {"V": "var(actual,budget)"}, "period": "2021"}
    assert of(books.metric("revenue", formulas={"each": "revenue / sold"}, **against), 1) == [Fraction(17, 3) - 4]


def test_the_rows_behind_a_formula_are_those_of_its_operands(books: Door) -> None:
    report = books.metric("sold", formulas={"less": "revenue - revenue / 4", "each": "price * 2"}, **ASKED)
    drills = [line.drill for line in report.lines[1:]]
    assert [[call["filters"]["metric"] for call in drill["operands"]] for drill in drills if drill] == [
        ["revenue"],
        ["revenue", "sold"],
    ]


@pytest.mark.parametrize(
    ("alias", "text", "words"),
    [
        ("x", "revenue +", "is no formula at character 10"),
        (
            "x",
            "revenue + sum(sold)",
            "at character 11: there is no function 'sum'; there are .*: use names, decimal numbers",
        ),
        ("x", "revenue ** 2", "at character 10: '.' cannot stand there"),
        ("x", "  (revenue * 2", "at character 15: '.' is missing"),
        ("x", "revenue\n+ * 2", "at character 11: '.' cannot stand there"),
        ("x", "revenue # note", "at character 9"),
        ("x", "revenue * 1e5", "at character 11: a constant has at most 30 digits and no exponent"),
        ("x", "revenue * 0x10", "at character 11"),
        ("x", f"revenue * {'1' * 31}", "at most 30 digits"),
        ("x", " + ".join(["revenue"] * 60), "500 is the most"),
        ("x", "*".join(["(sold / sold)"] * 22), "deeper than 20 levels"),
        ("x", "1 + 2", "names no metric"),
        ("x", "revenue + sold", "only like figures add up"),
        ("x", "revenue / 0", "divides by zero"),
        ("x", "", "is no formula"),
        ("price", "revenue / sold", "is a metric"),
        ("A", "revenue / sold", "is the alias of a scenario"),
        (" ", "revenue / sold", "1 to 200 characters"),
    ],
)
def test_a_formula_beyond_the_grammar_or_the_limits_is_refused(books: Door, alias: str, text: str, words: str) -> None:
    with pytest.raises(BadArguments, match=words) as refused:
        books.metric("revenue", formulas={alias: text}, **ASKED)
    assert str(refused.value.as_data()["field"]).startswith("formulas")


def test_thirty_digits_and_twenty_levels_are_taken(books: Door) -> None:
    formulas = {"long": f"revenue * {'1' * 30}", "deep": "sold" + " * (sold / sold)" * 19}
    report = books.metric("revenue", formulas=formulas, **ASKED)
    assert of(report, 1) == [17 * int("1" * 30)]
    assert of(report, 2) == [3]


def test_more_than_ten_formulas_are_refused(books: Door) -> None:
    with pytest.raises(BadArguments, match="10 is the most"):
        books.metric("revenue", formulas={f"f{at}": "revenue * 2" for at in range(11)}, **ASKED)


def test_a_formula_keeps_to_the_metrics_that_are_visible(books: Door) -> None:
    with pytest.raises(UnknownName, match="There is no metric 'revenu'"):
        books.metric("revenue", formulas={"x": "revenu * 2"}, **ASKED)
    with pytest.raises(UnknownName, match=r"'people\.revenue'"):
        books.metric("revenue", formulas={"x": "people.revenue * 2"}, **ASKED)
    across = books.metric("revenue", formulas={"x": "revenue / heads"}, dimensions=["product"], **ASKED)
    assert of(across, 1) == [5, None, Fraction(17, 2)]


BY_NAME = {
    "a + k": 11,
    "k + a": 11,
    "a - k": 1,
    "2 * k + a": 16,
    "a + k + k": 16,
    "a - twice": -4,
    "a + twice / 4": Fraction(17, 2),
    "k": None,
    "2 * k": None,
    "a * (k / a)": None,
    "k / a": None,
    "a + best": None,
    "b + k": 9,
}


def test_a_formula_that_is_used_by_name_is_computed_as_written_out(tmp_path: Path) -> None:
    metrics = {
        "a": "{measure: amount, where: {product: A}}",
        "b": "{measure: amount, where: {product: B}}",
        "c": "{measure: amount, where: {product: C}}",
        "k": "{formula: c + 5}",
        "twice": "{formula: 2 * k}",
        "best": "{formula: most + 5}",
        "most": "{measure: amount, where: {product: C}, over_members: max}",
    }
    written = {"k": "(c + 5)", "twice": "(2 * (c + 5))", "best": "(most + 5)"}
    books = small_books(
        tmp_path,
        facts={"gl": "date scenario product amount\n2021-01-05 actual A 6\n2021-01-05 actual B 4"},
        domains={
            "gl": "time: {column: date}\ndimensions: {product: product}\nmeasures: {amount: {places: 2}}\n"
            f"metrics: {{{', '.join(f'{key}: {body}' for key, body in metrics.items())}}}\n"
        },
        dimensions="product: {kind: leaf}",
        statements={
            "page": "- {metric: a}\n- {metric: k}\n- {formula: {key: line, label: L, is: a + k}}\n"
            "- {formula: {key: more, label: M, is: c + 1}}\n- {formula: {key: both, label: B, is: line + more}}\n"
        },
    )
    for text, expected in BY_NAME.items():
        spelled = re.sub(r"[a-z]+", lambda name: written.get(name[0], name[0]), text)
        report = books.metric("a", formulas={"named": text, "written": spelled}, **ASKED)
        assert of(report, 1) == of(report, 2) == [expected], text
    statement = books.statement("page", **ASKED)
    assert [of(statement, line) for line in range(5)] == [[6], [None], [11], [None], [12]]
    variances: dict[str, Any] = {"scenarios": {"V": "var(actual,budget)"}, "period": "2021"}
    assert of(books.metric("a", formulas={"f": "a + k"}, **variances), 1) == [None]  # of no budget nothing is known
