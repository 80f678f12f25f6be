"""Explained variances: the page's examples, refusals, kept results, files, charts, and what they ask of the store.

Rules: Explained variances.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door, open_books
from engine.instance.documents import InstanceFaults
from engine.model.errors import BadArguments, Refusal
from engine.model.requests import ChartSpec
from engine.model.stopping import never
from engine.present.answers.budget import NOT_KEPT, tokens
from engine.present.answers.catalogue import metric_json
from engine.present.answers.explanations import explanation_answer
from engine.present.charts.charts import chart
from engine.present.charts.results import drawn_as_it_is
from engine.present.exports.about import ExportStamp
from engine.present.exports.workbook import write_workbook
from engine.report.explanation import Explanation
from engine.report.report import Report
from engine.report.snapshots import keep, opened
from server.feeds.instance import read_instance
from tests.support.answers.drills import calls_explained, exactly
from tests.support.answers.workbooks import go_on, grid
from tests.support.books.explained import (
    BOTH,
    MARGINS,
    PROFITS,
    contributions,
    explained,
    fraction,
    materiality,
    parts,
    write_books,
)
from tests.support.books.inspected import rows_of
from tests.support.books.small import small_books, write_instance
from tests.support.books.worked import PageTable, tables
from tests.support.engines.watched import WatchedStore

Write = Callable[..., Door]
MADE = ExportStamp(at=datetime(2026, 11, 23, 9, 30, tzinfo=UTC), subject="ann")


@pytest.fixture
def books(tmp_path: Path) -> Write:
    """Write books of one ledger."""
    return partial(write_books, tmp_path)


@pytest.mark.parametrize("table", [table for table in tables() if table.section == "Explained variances"])
def test_the_examples_of_the_page_are_computed(books: Write, table: PageTable) -> None:
    given = {
        (row[0], scenario): dict(zip(table.head, row, strict=True))
        for row in table.body
        if not row[0].startswith("(")
        for scenario in BOTH
    }
    rows = []
    for (entity, scenario), known in given.items():
        side = "a" if scenario == "actual" else "b"
        amounts = {name: known.get(f"{side}: {name}") or "0" for name in ("revenue", "earned", "units")}
        rows.append(f"2026-01-05 {scenario} {entity} {' '.join(amounts.values())}")
    drivers = "price" in table.head
    (found,) = explained(books("\n".join(rows)), "revenue" if drivers else "margin", "entity", drivers=drivers).lists
    shown: dict[str, tuple[Fraction | None, ...]] = {
        key: (rest, mix) for key, (rest, mix) in parts(found).items() if mix is not None
    }
    shown |= {row.key: (None, fraction(row.contribution)) for row in found.rows if row.mix is None}
    said = [[cell.strip("*").replace("\N{MINUS SIGN}", "-") for cell in row] for row in table.body]
    assert shown == {row[0]: tuple(Fraction(text) if text else None for text in row[-2:]) for row in said}


@pytest.mark.parametrize(
    ("asked", "field", "words"),
    [
        ({"scenarios": ("actual", "actual")}, "scenarios", "twice"),
        ({"scenarios": ("actual",)}, "scenarios", "names 1. Name two"),
        ({"scenarios": ("actual", "var(actual,budget)")}, "scenarios", "is a variance itself"),
        ({"top": 0}, "top", "below 1"),
        ({"depth": 6}, "depth", "not between 1 and 5"),
        ({"materiality": materiality()}, "materiality", "one number"),
        ({"materiality": materiality(absolute=1, percent=1)}, "materiality", "one number"),
        ({"materiality": materiality(percent=-1)}, "materiality", "one number"),
        ({"metric": "cogs", "drivers": True}, "drivers", "has no drivers"),
        ({"metric": "cogs", "by": ("lines",)}, "by", "has no formula"),
        ({"metric": "margin", "by": ("lines",), "depth": 2}, "depth", "is a ratio"),
        ({"by": ()}, "by", "names 0"),
        ({"by": ("entity", "entity")}, "by", "twice"),
        ({"by": ("entity", "lines", "period", "ownership")}, "by", "names 4"),
    ],
)
def test_what_cannot_be_explained_is_refused_with_what_can(
    books: Write, asked: dict[str, Any], field: str, words: str
) -> None:
    given = {"metric": "revenue", "by": ("entity",), **asked}
    with pytest.raises(BadArguments, match=words) as refused:
        explained(books(PROFITS), given.pop("metric"), *given.pop("by"), **given)
    assert refused.value.field == field


@pytest.mark.parametrize("by", [(), ("entity", "lines", "period", "ownership")])
@pytest.mark.parametrize("metric", ["revenue", "profit", "margin", "rent_share"])
def test_each_list_that_a_refusal_offers_explains_the_figure(books: Write, metric: str, by: tuple[str, ...]) -> None:
    shop = books(PROFITS)
    with pytest.raises(BadArguments) as refused:
        explained(shop, metric, *by)
    formula = [] if metric == "revenue" else ["lines"]
    assert refused.value.valid == [*formula, "period", "entity", "ownership"]
    for offered in refused.value.valid:
        assert explained(shop, metric, offered).lists
    assert explained(shop, metric, *refused.value.example["by"]).lists


def test_a_balance_is_not_explained_by_periods_and_a_figure_of_two_domains_by_what_both_have(tmp_path: Path) -> None:
    of_people = "time: {column: date}\ndimensions: {entity: entity}\nmeasures: {heads: {places: 0, type: number}}\n"
    of_sales = "time: {column: date}\ndimensions: {entity: entity, product: product}\nmeasures: {amount: {places: 2}}\n"
    shop = small_books(
        tmp_path,
        facts={
            "hr": "date scenario entity heads\n2026-01-31 actual DE 4\n2026-01-31 budget DE 5",
            "sales": "date scenario entity product amount\n2026-01-31 actual DE P 8\n2026-01-31 budget DE P 5",
        },
        domains={
            "hr": f"{of_people}metrics: {{heads: {{measure: heads, over_time: closing}}}}\n",
            "sales": f"{of_sales}metrics: {{sold: {{measure: amount}}, each: {{formula: sold / hr.heads}}}}\n",
        },
        dimensions="entity: {kind: leaf}\nproduct: {kind: leaf}\n",
    )
    for metric, valid in (
        ("heads", ["entity"]),
        ("sold", ["period", "entity", "product"]),
        ("each", ["lines", "entity"]),
    ):
        with pytest.raises(BadArguments) as refused:
            explained(shop, metric)
        assert refused.value.valid == valid
        assert all(explained(shop, metric, offered).lists for offered in valid)


@pytest.mark.parametrize(
    ("asked", "example"),
    [
        ((), ["actual", "budget"]),
        (("forecast",), ["forecast", "actual"]),
        (("budget@py",), ["budget@py", "actual"]),
        (("var(forecast,budget@py)",), ["forecast", "budget@py"]),
        (("ghost",), ["actual", "budget"]),
        (("budget", "actual", "forecast"), ["budget", "actual"]),
    ],
)
def test_other_than_two_scenarios_are_echoed_with_two_that_can_be_explained(
    books: Write, asked: tuple[str, ...], example: list[str]
) -> None:
    with pytest.raises(BadArguments) as refused:
        explained(books(PROFITS), "revenue", "entity", scenarios=asked)
    assert (refused.value.field, refused.value.got) == ("scenarios", list(asked))
    assert refused.value.example == {"scenarios": example}


def test_drivers_of_a_figure_without_them_are_left_out_as_the_refusal_says(books: Write) -> None:
    shop = books(PROFITS)
    with pytest.raises(BadArguments, match="Leave drivers out, or explain 'revenue', which has drivers") as refused:
        explained(shop, "cogs", "entity", drivers=True)
    assert (refused.value.got, refused.value.valid) == (True, [False])
    assert explained(shop, "cogs", "entity", drivers=refused.value.valid[0]).lists


def test_both_bounds_of_a_materiality_are_echoed(books: Write) -> None:
    with pytest.raises(BadArguments) as refused:
        explained(books(PROFITS), "cogs", "entity", materiality=materiality(percent=5, absolute=3))
    assert refused.value.got == {"percent": 5, "absolute": 3}


@pytest.mark.parametrize("metric", ["worth", "relative", "most_units"])
def test_a_product_a_quotient_of_quotients_and_a_maximum_are_refused_with_what_can_be_explained(
    books: Write, metric: str
) -> None:
    shop = books(PROFITS)
    with pytest.raises(BadArguments, match=f"{metric} is neither a sum over its members nor one such sum over") as told:
        explained(shop, metric, "entity")
    assert told.value.field == "metric"
    assert {"revenue", "profit", "margin", "net_price"} <= set(told.value.valid)
    assert not {"worth", "relative", "most_units"} & set(told.value.valid)
    for offered in told.value.valid:
        assert explained(shop, offered, "entity").lists


@pytest.mark.parametrize("name", ["ghost", "budget/upside", "ghost@py", "actual+ghost"])
def test_a_scenario_that_is_unknown_is_left_out_with_a_note_and_nothing_is_explained(
    books: Write, tmp_path: Path, name: str
) -> None:
    shop = books(PROFITS)
    found = explained(shop, "revenue", "entity", scenarios=("actual", name))
    assert (found.sides, found.lists, found.variance) == ((), (), None)
    (note,) = found.notes
    assert (note.code, dict(note.about)["scenarios"]) == ("unknown_scenario", (name,))
    said = explanation_answer(found, 10_000, NOT_KEPT, never)
    assert (said["scenarios"], said["lists"], said["variance"]) == ([], [], None)
    assert opened(keep(found), shop.reader).notes == found.notes
    write_workbook(found, MADE, tmp_path / "nothing.xlsx", go_on)


def test_a_line_of_a_statement_is_explained_by_its_lines(books: Write) -> None:
    lines = """
      - {metric: revenue}
      - {metric: cogs}
      - formula: {key: gross, label: Gross, is: revenue - cogs, format: currency, favourable: up}
      - formula: {key: net, label: Net, is: gross - opex, format: currency}
      - formula: {key: share, label: Share, is: gross / revenue, format: percent}
    """
    shop = books(PROFITS, statements={"pnl": lines})
    (found,) = explained(shop, "pnl.net", "lines", depth=2).lists
    assert contributions(found) == [("revenue", 20), ("personnel", -10), ("cogs", 5), ("rent", -5)]
    assert [row.label for row in found.rows] == ["Revenue", "Personnel", "Cogs", "Rent"]
    share, by_entity = explained(shop, "pnl.share", "lines", "entity").lists
    assert [key for key, _ in contributions(share)] == ["gross", "revenue"]
    assert len(contributions(by_entity)) == 2


def test_an_answer_keeps_to_its_budget_and_counts_what_it_leaves_out(books: Write) -> None:
    rows = [f"2026-01-05 {scenario} E{at} {at if scenario == 'actual' else 0}" for at in range(60) for scenario in BOTH]
    found = explained(books("\n".join(rows)), "revenue", "entity", "period", top=60)
    whole = explanation_answer(found, 10_000, NOT_KEPT, never)
    cut = explanation_answer(found, 2_000, NOT_KEPT, never)
    assert tokens(whole) > 2_500
    assert tokens(cut) <= 2_000
    (whole_rows, _), (rows_left, periods) = ([known["rows"] for known in answer["lists"]] for answer in (whole, cut))
    assert rows_left == whole_rows[: len(rows_left)]
    assert len(rows_left) + cut["agent_truncated"]["rows"] == 60
    assert len(periods) == 1


YEARS = """
    2026-01-05 actual DE 120 - 3 50
    2026-01-05 actual FR 80 - 4 40
    2026-02-05 actual DE 60 - 5 20
    2026-01-05 budget DE 110 - 4 55
    2026-02-05 budget FR 70 - 6 40
"""
WITHOUT_UNITS = YEARS + "    2026-02-05 budget NL 9 - 0 4\n"


@pytest.mark.parametrize(
    ("rows", "asked", "holds"),
    [
        (YEARS, {"by": ("entity", "period")}, [("(others)", -80), ("(others)", -80)]),
        (YEARS, {"by": ("entity",), "top": 1}, [("DE", -70), ("(others)", -10)]),
        (YEARS, {"by": ("ownership",), "filters": {"ownership": ("DE", "FR")}}, [("(others)", -80)]),
        (YEARS, {"by": ("entity",), "drivers": True}, [("(volume)", None), ("(others)", -80)]),
        (WITHOUT_UNITS, {"by": ("entity",), "drivers": True}, [("(volume)", None), ("(others)", None)]),
    ],
)
def test_others_lead_to_their_rows_where_these_stand_alone(
    books: Write, rows: str, asked: dict[str, Any], holds: list[tuple[str, int | None]]
) -> None:
    shop, fold = books(rows), {} if "top" in asked else {"materiality": materiality(percent=200)}
    by = asked.pop("by")
    found = explained(
        shop, "revenue", *by, period=("2026-01", "2026-02"), scenarios=("budget", "actual"), **fold, **asked
    )
    answer = explanation_answer(found, 10_000, NOT_KEPT, never)
    behind = []
    for known in answer["lists"]:
        for row in known["rows"]:
            calls = list(calls_explained(answer, known, row))
            sums = [
                (exactly(rows_of(shop, **call)["contribution_total"]) or 0) * (1 if sign == "+" else -1)
                for sign, call in calls
            ]
            behind.append((row["key"], sum(sums) if calls else None))
    assert behind[: len(holds)] == holds


def test_the_mix_of_many_others_is_a_number_of_15_digits(books: Write, tmp_path: Path) -> None:
    primes = [at for at in range(2, 2000) if all(at % known for known in range(2, int(at**0.5) + 1))]
    lines = [f"2026-01-05 budget E{at} {at + 7} - {at}\n2026-01-05 actual E{at} {at} - {at + 1}" for at in primes]
    shop = books("\n".join(lines))
    found = explained(shop, "revenue", "entity", drivers=True, top=1)
    rows = {row["key"]: row for row in explanation_answer(found, 10_000, NOT_KEPT, never)["lists"][0]["rows"]}
    (top,) = (int(key[1:]) for key in rows if key.startswith("E"))
    growth = Fraction(sum(at + 1 for at in primes), sum(primes))
    mix = sum((at + 1 - at * growth) * Fraction(at + 7, at) for at in primes if at != top)
    said = rows["(others)"]["mix"]
    assert isinstance(said, float)
    assert said == float(f"{float(mix):.15g}")
    write_workbook(found, MADE, tmp_path / "made.xlsx", go_on)
    head, *below = grid(tmp_path / "made.xlsx")
    (cell,) = (line[head.index("mix")] for line in below if line[1] == "(others)")
    assert float(cell) == pytest.approx(said)
    assert len(cell) <= 17  # a number, not a text of 30 digits


@pytest.mark.parametrize(("by", "words"), [("quarter", "do not fit into"), ("customer", "There is no dimension")])
def test_a_dimension_that_cannot_be_explained_by_is_said_of_by(books: Write, by: str, words: str) -> None:
    with pytest.raises(Refusal, match=words) as refused:
        explained(books(PROFITS), "revenue", by)
    assert refused.value.field == "by"


def test_list_kpis_says_what_drives_a_metric(books: Write) -> None:
    reader = books(PROFITS).reader
    drivers = {key: metric_json(metric, reader).get("drivers") for key, metric in reader.metrics.items()}
    assert drivers.pop("revenue") == {"volume": "units", "price": "net_price"}
    assert set(drivers.values()) == {None}


def test_an_explanation_is_kept_as_it_was(books: Write) -> None:
    shop = books(MARGINS)
    whole = explained(shop, "margin", "entity", "lines", filters={"entity": ["N", "S"]})
    kept = opened(keep(whole), shop.reader)
    assert isinstance(kept, Explanation)
    assert (kept.lists, kept.filters, kept.sides, kept.notes) == (whole.lists, whole.filters, whole.sides, whole.notes)
    assert kept.frame.equals(whole.frame)


def test_an_explanation_is_a_workbook_with_a_row_for_each_contribution(books: Write, tmp_path: Path) -> None:
    file = tmp_path / "explained.xlsx"
    write_workbook(explained(books(PROFITS), "profit", "entity", "lines"), MADE, file, go_on)
    rows = [row for row in grid(file) if row[:1] in (["entity"], ["lines"])]
    assert [(row[0], row[1], float(row[7])) for row in rows] == [
        ("entity", "DE", 5),
        ("entity", "FR", 5),
        ("lines", "revenue", 20),
        ("lines", "opex", -15),
        ("lines", "cogs", 5),
    ]


def test_an_explanation_is_drawn_as_a_waterfall_without_a_script(books: Write) -> None:
    whole = explained(books(PROFITS), "profit", "lines", "entity")
    drawn = drawn_as_it_is(ChartSpec(chart_type="waterfall", title="Profit"), whole)
    made = chart(drawn.spec, drawn.frame, {"value": "USD"})
    assert made.unit == "USD"
    assert made.rows == (
        ("budget", "total", 40.0),
        ("Revenue", "change", 20.0),
        ("Opex", "change", -15.0),
        ("Cogs", "change", 5.0),
        ("actual", "total", 50.0),
    )


def questions(folder: Path, ask: Callable[[Door], object]) -> int:
    """Return how many questions a request asks of the store of books that have worked out nothing."""
    shop = open_books(folder / "small", state=folder / "state")
    opened_books, told = shop.reader._books, list[object]()
    opened_books.facts = WatchedStore(opened_books.facts, told.append)
    ask(shop)
    return len(told)


@pytest.mark.parametrize("metric", ["revenue", "profit", "margin"])
@pytest.mark.parametrize("by", [("entity",), ("ownership",), ("period",), ("lines",), ("entity", "lines", "ownership")])
def test_an_explanation_asks_no_more_than_the_reports_of_its_lists(
    books: Write, tmp_path: Path, metric: str, by: tuple[str, ...]
) -> None:
    by = tuple(key for key in by if (key, metric) != ("lines", "revenue"))
    books(PROFITS)
    lists = [[key] if key != "lines" else [] for key in by if key != "lines" or len(by) == 1]
    scenarios = {"A": "actual", "B": "budget"}

    def report_by(keys: list[str], shop: Door) -> Report:
        return shop.metric(metric, scenarios=scenarios, period="2026-01", dimensions=keys)

    reports = sum(questions(tmp_path, partial(report_by, keys)) for keys in lists)
    if by:
        assert 0 < questions(tmp_path, lambda shop: explained(shop, metric, *by)) <= reports


def test_both_sides_of_a_variance_are_those_of_the_range_whatever_explains_it(tmp_path: Path) -> None:
    rows = "\n".join(
        f"{day} {scenario} {entity} {amount * times}"
        for scenario, times in (("actual", 1), ("budget", 10))
        for day, entity, amount in (("2025-08-01", "N", 2), ("2026-02-01", "S", 4), ("2026-08-01", "N", 8))
    )
    shop = write_books(tmp_path, rows, fiscal_year="{starts: 7, named_by: end}")
    views: dict[str, Any] = {"scenarios": ("actual@fy", "budget@fy"), "period": "CY2026"}
    found = explained(shop, "revenue", "entity", **views)
    assert (fraction(found.a), fraction(found.b)) == (4 + 8, 40 + 80)
    for by in (["quarter", "entity"], ["entity", "quarter"], ["quarter"]):
        with pytest.raises(BadArguments, match="beside the last quarter is not that of the range") as refused:
            explained(shop, "revenue", *by, **views)
        assert refused.value.field == "by"
    for by in (["quarter", "entity"], ["entity", "quarter"]):
        of_year = explained(shop, "revenue", *by, scenarios=("actual@fy", "budget@fy"), period="2026")
        assert (fraction(of_year.a), fraction(of_year.b)) == (2 + 4, 20 + 40)


PRICED = """
time: {column: date}
dimensions: {}
measures: {revenue: {places: 2}, units: {places: 0, type: number}}
metrics:
  revenue:
    measure: revenue
    drivers: {volume: %s, price: %s}
  units: {measure: units}
  most: {measure: units, over_members: max}
  net_price: {formula: revenue / units}
  other_price: {formula: revenue / units / 2}
"""


@pytest.mark.parametrize(
    ("volume", "price", "fault"),
    [
        ("units", "other_price", "gl.yaml:10: other_price is not the price of revenue"),
        ("net_price", "units", "gl.yaml:10: net_price does not add up over its members"),
        ("most", "net_price", "gl.yaml:10: most does not add up over its members"),
        ("unit", "net_price", "gl.yaml:10: revenue: there is no metric 'unit'"),
    ],
)
def test_drivers_that_are_no_volume_and_price_are_a_fault_with_its_line(
    tmp_path: Path, volume: str, price: str, fault: str
) -> None:
    instance = write_instance(
        tmp_path, facts={"gl": "date scenario revenue units"}, domains={"gl": PRICED % (volume, price)}
    )
    with pytest.raises(InstanceFaults, match=fault):
        read_instance(instance)
