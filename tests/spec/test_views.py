"""Views: shares, ranks and running sums of the columns of a report, exact, and why some are blank or refused.

Rules: Views.
"""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.errors import BadArguments, Refusal, UnknownName
from engine.model.exact import Exact
from engine.report import ranking
from engine.report.report import Report
from engine.report.snapshots import keep, opened
from tests.support.answers.reader import answer
from tests.support.books.small import codes, granting, small_books

SHOP: dict[str, Any] = {
    "facts": {
        "gl": "date scenario customer region amount units\n"
        "2021-01-05 actual C1 EU 100 10\n2021-02-05 actual C1 US 20 1\n"
        "2021-01-05 actual C2 EU 300 20\n2021-02-05 actual C3 US 50 4\n"
        "2021-01-05 actual C4 EU 50 5\n2021-01-05 actual C5 EU -20 1\n"
        "2021-01-05 budget C1 EU 400 1\n2021-01-05 budget C2 EU 100 1",
        "stock": "date scenario customer region held\n2021-01-31 actual C1 EU 5\n"
        "2021-01-31 actual C2 EU 1\n2021-02-28 actual C1 EU 7\n"
        "2021-02-28 actual C2 EU 3",
    },
    "domains": {
        "gl": """
        time: {column: date}
        dimensions: {customer: customer, region: region}
        measures: {amount: {places: 2}, units: {places: 0, type: number}}
        inspect_enabled: true
        metrics:
          revenue: {measure: amount, favourable: up}
          sold: {measure: units}
          price: {formula: revenue / sold}
          largest: {measure: amount, over_members: max}
        """,
        "stock": """
        time: {column: date}
        dimensions: {customer: customer, region: region}
        measures: {held: {places: 0, type: number}}
        inspect_enabled: true
        metrics:
          stock: {measure: held, over_time: closing}
        """,
    },
    "dimensions": """
        customer: {kind: leaf, members: live.customer}
        tree: {kind: ragged, leaf_dimension: customer, nodes: live.tree}
        region: {kind: leaf}
    """,
    "tables": {
        "customer": "id\nC1\nC2\nC3\nC4\nC5",
        "tree": "node parent weight\nNet - 1\nSales Net 1\nReturns Net -1\nC1 Sales 1\nC2 Sales 1\nC3 Returns 1",
    },
    "statements": {
        "pl": """
        - {metric: revenue}
        - {metric: sold}
        - {metric: price}
        - {formula: {key: half, label: Half, is: revenue / 2}}
        """,
        "held": "- {metric: stock}\n",
    },
}
PERIOD = "2021"
TOTAL = 500


@pytest.fixture
def shop(tmp_path: Path) -> Door:
    """Sales of five customers by region, one below zero, and stocks."""
    return small_books(tmp_path, **SHOP)


def of(report: Report, column: int = -1, line: int = 0) -> dict[str, Fraction | None]:
    """Return the figures of a line in a column by the ids of its rows."""
    keys = ["/".join(member.id for member in place.members) or "total" for place in report.places]
    figures = report.figures[line][len(report.columns) - 1 if column == -1 else column]
    found = [Fraction(each.numerator, each.denominator) if isinstance(each, Exact) else None for each in figures]
    return dict(zip(keys, found, strict=True))


def view(shop: Door, reference: str, *metrics: str, **asked: Any) -> Report:
    """Return metrics by customer in one column that is a view."""
    asked = {"dimensions": ["customer"], "period": PERIOD, **asked}
    return shop.metric(*(metrics or ("revenue",)), scenarios={"V": reference}, **asked)


def refused(shop: Door, reference: str, *metrics: str, **asked: Any) -> Refusal:
    """Return the refusal of a view."""
    with pytest.raises(Refusal) as refusal:
        view(shop, reference, *metrics, **asked)
    return refusal.value


def test_a_share_divides_by_the_total_as_shown(shop: Door) -> None:
    sales = {"C1": 120, "C2": 300, "C3": 50, "C4": 50, "C5": -20, "total": TOTAL}
    assert of(view(shop, "share(actual)")) == {key: Fraction(each, TOTAL) for key, each in sales.items()}
    kept = view(shop, "share(actual)", filters={"customer": ["C1", "C3"]})
    assert of(kept) == {"C1": Fraction(12, 17), "C3": Fraction(5, 17), "total": 1}
    of_variance = {"C1": -280, "C2": 200, "C3": 50, "C4": 50, "C5": -20, "total": 0}
    assert sum(of_variance.values()) == 0
    blank = view(shop, "share(var(actual,budget))")
    assert set(of(blank).values()) == {None}
    assert "no_divisor" in codes(blank)


def test_a_share_of_the_parent_divides_by_the_sub_total(shop: Door) -> None:
    asked: dict[str, Any] = {"dimensions": ["region", "customer"], "subtotals": True}
    parent = of(view(shop, "share(actual,parent)", **asked))
    assert (parent["EU"], parent["US"]) == (Fraction(430, TOTAL), Fraction(70, TOTAL))
    assert (parent["EU/C1"], parent["US/C1"], parent["total"]) == (Fraction(100, 430), Fraction(20, 70), 1)
    whole = of(view(shop, "share(actual)", **asked))
    assert (whole["EU"], whole["EU/C1"], whole["US/C3"]) == (
        Fraction(430, TOTAL),
        Fraction(100, TOTAL),
        Fraction(50, TOTAL),
    )
    assert of(view(shop, "share(actual,parent)"))["C1"] == Fraction(120, TOTAL)  # of one dimension: the total
    told = refused(shop, "share(actual,parent)", dimensions=["region", "customer"])
    assert told.as_data()["example"] == {"subtotals": True}


def test_rows_of_a_weighted_tree_enter_a_share_as_they_count_in_the_total(shop: Door) -> None:
    report = view(shop, "share(actual)", dimensions=["tree"])
    plain = view(shop, "actual", dimensions=["tree"])
    assert of(plain) == {"Sales": 420, "Returns": 50, "(unassigned)": 30, "total": 400}
    counts = {"Sales": 420, "Returns": -50, "(unassigned)": 30, "total": 400}
    assert of(report) == {key: Fraction(each, 400) for key, each in counts.items()}
    running = of(view(shop, "running(actual)", dimensions=["tree"]))
    assert running == {"Sales": 420, "Returns": 370, "(unassigned)": 400, "total": 400}
    counted = view(shop, "share(actual)", "sold", dimensions=["tree"])
    assert sum(each or 0 for each in list(of(counted).values())[:-1]) == 1


def test_a_rank_is_of_all_members_before_any_is_cut(shop: Door) -> None:
    ranks = {"C1": 2, "C2": 1, "C3": 3, "C4": 3, "C5": 5, "total": None}
    report = view(shop, "rank(actual)")
    assert of(report) == ranks
    assert {note.code: note.message for note in report.notes}["no_rank"] == (
        "'(total)' is blank: members have ranks, sub-totals, others and totals have none."
    )
    both = shop.metric(
        "revenue",
        "sold",
        dimensions=["customer"],
        period=PERIOD,
        scenarios={"A": "actual", "Rank": "rank(actual)"},
        order_by="sold@A",
        top=2,
    )
    assert of(both, 1) == {"C2": 1, "C1": 2, "(others)": None, "total": None}
    assert of(both, 1, line=1) == {"C2": 1, "C1": 2, "(others)": None, "total": None}
    smallest = view(shop, "rank(actual)", order_by="revenue", asc=True, top=2)
    assert of(smallest) == {"C5": 5, "C3": 3, "(others)": None, "total": None}


def test_ranks_begin_anew_in_each_group_of_a_second_dimension(shop: Door) -> None:
    flat = of(view(shop, "rank(actual)", dimensions=["region", "customer"]))
    assert (flat["EU/C2"], flat["EU/C1"], flat["EU/C4"], flat["EU/C5"]) == (1, 2, 3, 4)
    assert (flat["US/C3"], flat["US/C1"], flat["total"]) == (1, 2, None)
    nested = of(view(shop, "rank(actual)", dimensions=["region", "customer"], subtotals=True))
    assert (nested["EU"], nested["US"], nested["US/C3"]) == (None, None, 1)
    months = of(view(shop, "rank(actual)", dimensions=["period"], period=("2021-01", "2021-02")))
    assert months == {"2021-01": 1, "2021-02": 2, "total": None}


@pytest.mark.parametrize("small", [0, 1_000])
def test_the_rank_of_a_top_ten_is_the_same_from_frames(shop: Door, monkeypatch: pytest.MonkeyPatch, small: int) -> None:
    monkeypatch.setattr(ranking, "MAX_SMALL", small)
    scenarios = {"A": "actual", "Rank": "rank(actual)", "Share": "share(actual)", "Sum": "running(share(actual))"}
    asked: dict[str, Any] = {"dimensions": ["customer"], "scenarios": scenarios, "period": PERIOD}
    report = shop.metric("revenue", top=2, **asked)
    assert of(report, 1) == {"C2": 1, "C1": 2, "(others)": None, "total": None}
    assert of(report, 2) == {"C2": Fraction(3, 5), "C1": Fraction(6, 25), "(others)": Fraction(4, 25), "total": 1}
    assert of(report, 3) == {"C2": Fraction(3, 5), "C1": Fraction(21, 25), "(others)": 1, "total": 1}
    assert of(shop.metric("revenue", order_by="Rank", asc=True, top=1, **asked), 1)["C5"] == 5
    of_budget = {**scenarios, "Rank": "rank(budget)"}
    other = shop.metric("revenue", top=1, **{**asked, "scenarios": of_budget})
    assert of(other, 1)["C2"] == 2  # C1 has the larger budget


def test_a_running_sum_adds_the_rows_in_their_order_and_ends_at_the_total(shop: Door) -> None:
    assert of(view(shop, "running(actual)")) == {"C1": 120, "C2": 420, "C3": 470, "C4": 520, "C5": 500, "total": 500}
    ranked = view(shop, "running(actual)", order_by="revenue", top=2)
    assert of(ranked) == {"C2": 300, "C1": 420, "(others)": 500, "total": 500}
    groups = of(view(shop, "running(actual)", dimensions=["region", "customer"], subtotals=True))
    assert (groups["EU"], groups["US"], groups["EU/C5"], groups["US/C3"]) == (430, 500, 430, 70)
    months = view(shop, "running(actual)", dimensions=["period"], period=("2021-01", "2021-03"))
    assert of(months) == {"2021-01": 430, "2021-02": 500, "2021-03": None, "total": 500}
    variance = of(view(shop, "running(var(actual,budget))", filters={"customer": ["C1", "C2"]}))
    assert variance == {"C1": -280, "C2": -80, "total": -80}


def test_what_does_not_add_up_has_no_share_and_the_note_names_the_lines(shop: Door) -> None:
    report = view(shop, "share(actual)", "revenue", "price", "largest")
    assert of(report)["C1"] == Fraction(120, TOTAL)
    assert set(of(report, line=1).values()) == set(of(report, line=2).values()) == {None}
    (note,) = (note for note in report.notes if note.code == "no_share")
    assert dict(note.about)["lines"] == ("price", "largest")
    assert of(view(shop, "rank(actual)", "price"))["C1"] == 3  # 120 / 11, after 15 and 12.5


@pytest.mark.parametrize(
    ("reference", "metric", "asked", "words"),
    [
        ("share(actual)", "price", {}, "do not add up over customer; rank( ) works"),
        ("running(actual)", "largest", {}, "do not add up over customer"),
        ("share(actual)", "stock", {"dimensions": ["period"], "period": ("2021-01", "2021-02")}, "over period"),
        ("running(actual@ytd)", "revenue", {"dimensions": ["period"], "period": ("2021-01", "2021-02")}, "overlap"),
        ("share(actual)", "revenue", {"dimensions": []}, "Name a dimension"),
        ("rank(actual)", "revenue", {"dimensions": []}, "Name a dimension"),
        ("share(var_pct(actual,budget))", "revenue", {}, "relative variances"),
        ("share(actual,revenue)", "revenue", {}, "only a statement has lines"),
        ("share(rank(actual))", "revenue", {}, "perhaps a base"),
        ("share()", "revenue", {}, "perhaps a base"),
        ("rank(actual,budget)", "revenue", {}, "takes a scenario or a variance"),
        ("running(running(actual))", "revenue", {}, "or share( ) of one"),
        ("share(actual@nope)", "revenue", {}, "there is no shift @nope"),
    ],
)
def test_a_view_of_nothing_is_refused_in_words(
    shop: Door, reference: str, metric: str, asked: dict[str, Any], words: str
) -> None:
    told = refused(shop, reference, metric, **asked)
    assert isinstance(told, BadArguments)
    assert words in told.error
    data = told.as_data()
    assert str(data["field"]).startswith("scenarios")
    if example := data.get("example"):
        again = {**asked, **{key: value for key, value in example.items() if key != "scenarios"}}
        forms = [column["scenario"] for column in example.get("scenarios", [{"scenario": reference}])]
        view(shop, forms[0], metric, **again)


def test_balances_have_shares_of_members_though_not_of_months(shop: Door) -> None:
    asked: dict[str, Any] = {"dimensions": ["period", "customer"], "period": ("2021-01", "2021-02"), "subtotals": True}
    report = view(shop, "share(actual,parent)", "stock", **asked)
    found = of(report)
    assert (found["2021-01/C1"], found["2021-02/C1"], found["2021-02/C2"]) == (
        Fraction(5, 6),
        Fraction(7, 10),
        Fraction(3, 10),
    )
    assert (found["2021-01"], found["2021-02"]) == (None, None)


def test_a_statement_divides_by_a_line(shop: Door) -> None:
    report = shop.statement("pl", scenarios={"A": "actual", "Of sales": "share(actual,revenue)"}, period=PERIOD)
    assert [of(report, 1, line)["total"] for line in range(4)] == [1, None, None, Fraction(1, 2)]
    (note,) = (note for note in report.notes if note.code == "no_share")
    assert dict(note.about)["lines"] == ("sold", "price")
    by_region = shop.statement("pl", scenarios={"V": "share(actual)"}, period=PERIOD, dimensions=["region"])
    assert of(by_region) == {"EU": Fraction(430, TOTAL), "US": Fraction(70, TOTAL), "total": 1}
    for reference, example in (
        ("share(actual)", "share(actual,revenue)"),
        ("share(actual,price)", "share(actual,revenue)"),
    ):
        with pytest.raises(BadArguments) as refusal:
            shop.statement("pl", scenarios={"V": reference}, period=PERIOD)
        assert refusal.value.as_data()["example"] == {"scenarios": [{"scenario": example}]}
    with pytest.raises(UnknownName) as unknown:
        shop.statement("pl", scenarios={"V": "share(actual,nothing)"}, period=PERIOD)
    assert "revenue" in unknown.value.as_data()["valid"]


def test_views_have_their_own_units_and_drill_to_what_they_are_made_of(shop: Door) -> None:
    scenarios = {"Share": "share(actual)", "Rank": "rank(actual)", "Sum": "running(actual)"}
    report = shop.metric("revenue", scenarios=scenarios, period=PERIOD, dimensions=["customer"])
    told = answer(report, 100_000)
    assert [column["unit"] for column in told["columns"]] == ["fraction", "number", "USD"]
    share, rank, running = told["scenarios"]
    assert (share["drill"]["scenario_id"], rank["drill"]["scenario_id"]) == ("actual", "actual")
    assert running["drill"] is None
    assert told["rows"][0]["values"] == [0.24, 2, 120]
    kept = opened(keep(report), shop.reader)
    assert answer(kept, 100_000) == told  # type: ignore[arg-type]  # what was kept is a report
    assert report.frame.filter(alias="Share")["exact"].to_list()[:2] == ["0.24", "0.6"]
    assert Decimal(report.frame.filter(alias="Rank")["exact"][0]) == 2


def test_a_view_of_an_unknown_scenario_is_left_out_with_what_it_may_mean(shop: Door) -> None:
    report = shop.metric(
        "revenue", scenarios={"A": "actual", "V": "share(actuall)"}, period=PERIOD, dimensions=["customer"]
    )
    (note,) = (note for note in report.notes if note.code == "unknown_scenario")
    assert dict(note.about) == {"scenarios": ("share(actuall)",), "did_you_mean": ("share(actual)",)}
    assert [column.scenario for column in report.columns] == ["actual"]


def test_a_view_of_a_hidden_scenario_is_as_one_of_an_unknown(shop: Door, tmp_path: Path) -> None:
    assert shop.reader.scenarios
    seen = granting(tmp_path, "{actual: {}}")
    for form in ("share({})", "rank({})", "running(share({}))"):
        notes = [view(seen, form.format(name), filters={"customer": "C1"}).notes for name in ("budget", "budgex")]
        hidden, unknown = ([(note.code, note.message.replace("budgex", "budget")) for note in each] for each in notes)
        assert hidden == unknown


@pytest.mark.parametrize("reference", ["share(actual)", "rank(actual)", "running(share(actual))"])
def test_views_are_columns_of_reports_alone(shop: Door, reference: str) -> None:
    with pytest.raises(BadArguments) as refusal:
        shop.rows("gl", scenario=reference, period=PERIOD)
    told = refusal.value.as_data()
    assert "are columns of a report" in told["error"]
    assert told["did_you_mean"][0] == "actual"
