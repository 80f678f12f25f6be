"""Operands of formulas with members of their own: figures at every place, scope, drill and refusals.

Rules: Operands with members of their own.
"""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import Refusal
from engine.model.requests import Condition
from engine.report import ranking
from tests.laws.oracle.asking import UNCUT
from tests.support.answers.drills import calls, figure_behind
from tests.support.answers.reader import answer
from tests.support.books.inspected import rows_of
from tests.support.books.small import codes, figures, granting, small_books

FACTS = """
    date       scenario product region amount
    2026-01-10 actual   A       EU     60
    2026-01-11 actual   A       US     40
    2026-01-12 actual   B       EU     30
    2026-01-13 actual   B       US     10
    2026-01-14 actual   B       AP     7
    2026-01-10 budget   A       EU     50
    2026-01-10 budget   B       US     20
"""
DOMAIN = """
    time: {column: date}
    dimensions: {product: product, region: region}
    measures: {amount: {places: 2}}
    inspect_enabled: true
    metrics:
      sales: {measure: amount}
      largest: {measure: amount, over_members: max}
      ratio: {formula: "sales / largest"}
"""
DIMENSIONS = """
    product: {kind: leaf}
    region: {kind: leaf, members: live.region}
    block: {kind: derived, from: region, attribute: block}
    world: {kind: ragged, leaf_dimension: region, nodes: live.world}
    month: {kind: leaf, grain: month}
"""
TABLES = {
    "region": "id name block\nEU Europe West\nUS States West\nAP Asia~Pacific East",
    "world": "node parent weight\nAll - 1\nEU All 1\nUS All -1\nAP All 0.5",
}


def ledger(folder: Path) -> Door:
    """Return books of sales by product and region."""
    return small_books(folder, facts={"gl": FACTS}, domains={"gl": DOMAIN}, dimensions=DIMENSIONS, tables=TABLES)


def found(books: Door, formula: str, **asked: Any) -> dict[Any, Decimal | None]:
    """Return the figures of a formula by member."""
    asked = {"scenarios": {"A": "actual"}, "period": "2026-01", **asked}
    report = books.metric("sales", formulas={"x": formula}, **asked)
    keys = figures(report, "metric", *report.breakdown)
    if not report.breakdown:
        return {None: keys["x"]}
    return {key[1] if len(key) == 2 else key[1:]: value for key, value in keys.items() if key[0] == "x"}


def near(figure: Fraction | int) -> Any:
    """Return a fraction as the digits of an answer have it."""
    return pytest.approx(
        Decimal(Fraction(figure).numerator) / Decimal(Fraction(figure).denominator), rel=Decimal("1e-14")
    )


def test_own_members_replace_those_of_the_row_and_of_the_filter(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    ratio = "sales{region: EU} / sales{region: US}"
    by_product = found(books, ratio, dimensions=["product"])
    assert by_product == {"A": Decimal("1.5"), "B": 3, None: near(Fraction(90, 50))}
    for asked in ({"filters": {"region": "AP"}}, {"filters": {"block": "East"}}, {"filters": {"world": "EU"}}):
        assert found(books, ratio, **asked)[None] == near(Fraction(90, 50)), asked
    assert found(books, ratio, filters={"product": "A"})[None] == Decimal("1.5")
    by_region = found(books, "sales / sales{region: EU}", dimensions=["region"])
    assert by_region == {
        "EU": 1,
        "US": near(Fraction(50, 90)),
        "AP": near(Fraction(7, 90)),
        None: near(Fraction(147, 90)),
    }
    by_block = found(books, "sales / sales{region: EU}", dimensions=["block"])
    assert by_block == {"West": near(Fraction(140, 90)), "East": near(Fraction(7, 90)), None: near(Fraction(147, 90))}


def test_all_members_make_a_share_of_the_whole_whatever_is_filtered(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    shares = found(books, 'sales / sales{product: "(all)"}', dimensions=["product"])
    assert shares == {"A": near(Fraction(100, 147)), "B": near(Fraction(47, 147)), None: 1}
    of_one = found(books, 'sales / sales{product: "(all)"}', filters={"product": "A"})
    assert of_one == {None: near(Fraction(100, 147))}


def test_members_and_a_scenario_of_its_own(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    by_product = found(books, "sales{region: [EU, US]} - sales{region: EU}[budget]", dimensions=["product"])
    assert by_product == {"A": 100 - 50, "B": 40, None: 140 - 50}
    assert found(books, "sales{region: EU}", scenarios={"A": "var(actual,budget)"}) == {None: 90 - 50}


def test_sub_totals_and_others_are_computed_at_their_own_level(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    asked: dict[str, Any] = {"dimensions": ["region", "product"], "subtotals": True}
    nested = found(books, "sales / sales{region: EU}", **asked)
    assert nested["US", "A"] == near(Fraction(40, 60))
    assert nested["US", None] == near(Fraction(50, 90))
    assert nested[None, None] == near(Fraction(147, 90))
    ranked = found(books, "sales / sales{region: EU}", dimensions=["region"], order_by="x", top=1)
    assert ranked == {"EU": 1, "(others)": near(Fraction(57, 90)), None: near(Fraction(147, 90))}


def test_weights_of_a_node_count_and_a_maximum_takes_members(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    assert found(books, "sales{world: All}")[None] == 90 - 50 + Decimal("3.5")
    assert found(books, "ratio{region: US}")[None] == near(Fraction(50, 40))
    assert found(books, "largest{region: EU}", filters={"region": "US"})[None] == 60
    assert found(books, "largest{world: [EU]}", filters={"world": "AP"})[None] == 60
    weighed = books.metric("sales", formulas={"x": "largest{world: All}"}, scenarios={"A": "actual"}, period="2026-01")
    assert "not_computable" in codes(weighed)


def test_codes_and_names_are_read_as_those_of_filters(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    assert found(books, 'sales{region: "Asia Pacific"}') == {None: 7}
    assert found(books, "sales{region: europe}") == {None: 90}


def test_permissions_always_cut(tmp_path: Path) -> None:
    ledger(tmp_path)
    books = granting(tmp_path, "{actual: {dimensions: {product: {allow: [B]}}}}")
    assert found(books, "sales{region: EU} / sales{region: US}") == {None: 3}
    assert found(books, 'sales{product: "(all)"}') == {None: 47}
    for member in ("A", "Q"):
        refused = refusal(books, f"sales{{product: {member}}}")
        assert (refused.error_type, refused.field, refused.got) == ("unknown_name", "formulas.x", member)
        assert (
            refused.error.replace(member, "?") == "There is no member '?' of product. search_hierarchy finds the ids."
        )


def refusal(books: Door, formula: str) -> Refusal:
    """Return the refusal of a formula."""
    with pytest.raises(Refusal) as refused:
        books.metric("sales", formulas={"x": formula}, scenarios={"A": "actual"}, period="2026-01")
    return refused.value


@pytest.mark.parametrize(
    ("formula", "kind", "says"),
    [
        ("sales{month: 2026-01}", "dimension_unavailable", "month has the periods of the call"),
        ("sales{regio: EU}", "unknown_name", "There is no dimension 'regio'. Did you mean 'region'?"),
        ("sales{region: EU, block: West}", "bad_arguments", "region and block are of one dimension"),
        ("sales{region: EU, region: US}", "bad_arguments", "region stands in the braces twice"),
        ("sales{region}", "bad_arguments", "braces hold dimension: member"),
        ("sales{region: EU", "bad_arguments", "'{' has no '}' after it"),
        ("sales[actual]{region: EU}", "bad_arguments", "cannot stand there"),
        ("sales{world: [EU, All]}[@py]", "bad_arguments", "no refusal"),
    ],
)
def test_a_refusal_says_what_is_wrong(tmp_path: Path, formula: str, kind: str, says: str) -> None:
    if says == "no refusal":
        assert found(ledger(tmp_path), formula) == {None: None}
        return
    refused = refusal(ledger(tmp_path), formula)
    assert (refused.error_type, says in refused.error) == (kind, True), refused.error


def test_the_rows_of_each_operand_are_one_call(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    asked: dict[str, Any] = {"scenarios": {"A": "actual"}, "period": "2026-01", "dimensions": ["region"]}
    report = books.metric("sales", formulas={"x": "sales / sales{region: EU}"}, **asked)
    result = answer(report, UNCUT)
    column = next(column for column in result["columns"] if column["metric"] == "x")
    made = {
        row.get("members", {}).get("region"): [
            figure_behind(call, lambda given: rows_of(books, **given)) for _, _, call in calls(row, column)
        ]
        for row in result["rows"]
    }
    assert made == {"EU": [90, 90], "US": [50, 90], "AP": [7, 90], None: [147, 90]}
    in_tree = books.metric("sales", formulas={"x": "sales{region: EU}"}, **{**asked, "dimensions": ["world"]})
    columns = answer(in_tree, UNCUT)["columns"]
    assert [column["of_metric"].get("drill", 1) for column in columns if column["metric"] == "x"] == [None]


@pytest.mark.parametrize(
    "formula",
    [
        "sales{region: EU} / sales",
        "sales - sales[budget]",
        "sales{region: [EU, US]}[budget] / sales",
        "max(sales, sales{product: A})",
        "sales / sales[@pp]",
    ],
)
def test_a_ranking_beside_such_a_formula_is_the_same_where_members_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, formula: str
) -> None:
    """Members above the bound stay in frames, or fall back to lists: the answers have the same bytes."""
    rankings: list[dict[str, Any]] = [
        {"order_by": "x", "top": 1},
        {"order_by": "sales", "top": 1},
        {"having": [Condition(column="sales", min=45)]},
        {"having": [Condition(column="x", min=0)], "top": 1},
    ]
    asked: dict[str, Any] = {"formulas": {"x": formula}, "scenarios": {"A": "actual"}, "period": "2026-01"}
    told: list[list[Any]] = []
    for small in (1_000, 0):
        monkeypatch.setattr(ranking, "MAX_SMALL", small)
        books = ledger(tmp_path / str(small))
        each = [
            books.metric("sales", dimensions=[key], **asked, **by) for by in rankings for key in ("product", "region")
        ]
        told.append([answer(report, UNCUT) for report in each])
    assert told[0] == told[1]
