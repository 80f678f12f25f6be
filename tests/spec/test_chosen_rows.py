"""Chosen rows: their order, the amounts and texts that are kept, and the columns that they are counted by.

Rules: Chosen rows.
"""

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from unicodedata import combining, normalize

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.door import Door
from engine.model.errors import BadArguments, ColumnUnavailable, Refusal
from engine.model.requests import Bounds
from engine.report import row_reads
from tests.support.answers.drills import exactly
from tests.support.books.inspected import ledger, rows_of
from tests.support.books.small import LEDGER, small_books
from tests.support.books.worked import tables

FACTS = """
    2020-12-31 actual Sales     E1 J1 10.01  Opening
    2021-01-05 actual Sales     E1 J1 100    Invoice~7
    2021-01-05 actual Sales     E2 J1 -30    CRÉDIT~~Note~7
    2021-01-06 actual Returns   E1 J2 5      credit-note~for~8
    2021-01-06 actual Discounts E2 J2 3      =Note
    2021-01-09 actual Heads     E2 J3 12     note~of~credit
    2021-01-10 actual Sales     E2 -  40.5   -
    2021-01-10 actual -         E1 J4 -7     Ｃｒｅｄｉｔ
    2021-02-08 actual Sales     E2 J2 40.5   credit~note
    2021-02-09 actual Returns   E2 J4 -0.25  Storno
    -          actual Sales     E1 J5 1000   credit~note
    2021-01-05 budget Sales     E1 J1 90     plan
    2021-01-06 budget Sales     E2 J1 -8.3   plan~credit~note
    2021-01-06 budget Returns   E2 J2 4      plan
"""
JANUARY: dict[str, Any] = {"period_start": "2021-01"}
SHOWN = ("account", "amount")


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Door:
    """A ledger with texts and amounts of both signs."""
    return ledger(tmp_path_factory.mktemp("books"), FACTS)


def sums(answer: dict[str, Any], column: str) -> list[Decimal | None]:
    """Return the sum, the positive and the negative sum of a column."""
    return [exactly(answer["sums"][column][name]) for name in ("sum", "positive", "negative")]


def test_the_rows_chosen_on_the_page_are_those_that_are_answered(tmp_path: Path) -> None:
    posted, choices = (table for table in tables() if table.section == "Chosen rows")
    facts = [
        " ".join((day, "actual", account, number(amount), memo.replace(" ", "~") or "-"))
        for day, account, amount, memo in posted.body
    ]
    domain = LEDGER.replace("{}", "{account: account}")
    books = small_books(
        tmp_path,
        facts={"gl": "\n".join(("date scenario account amount memo", *facts))},
        domains={"gl": f"{domain}\ninspect_enabled: true\ninspect_columns: [account, amount, memo]"},
        dimensions="account: {kind: leaf}",
    )
    for words, rows, total, *each in choices.body:
        asked = yaml.safe_load(f"{{{words.strip('`')}}}")
        asked |= {"amount": Bounds(**asked["amount"])} if "amount" in asked else {}
        found = rows_of(books, period_start="2026-01", **{**asked, "count_by": tuple(asked.get("count_by", ()))})
        shown = [row if "count_by" in asked else row[1:2] for row in found["rows"]]
        assert shown == [list(map(cell, row.split())) for row in rows.strip("*").split(", ")]
        assert found["total_rows"] == int(total.strip("*"))
        assert sums(found, "amount") == [Decimal(number(amount)) for amount in each]


def cell(words: str) -> Decimal | str:
    """Return a cell of a row on the page: an amount, or a member."""
    text = number(words)
    return Decimal(text) if text.lstrip("-")[:1].isdigit() else text


def number(words: str) -> str:
    """Return a figure of the page as it is written in a file."""
    return words.strip("*").replace("\N{MINUS SIGN}", "-")


def test_the_largest_rows_come_first_and_those_without_a_value_last(books: Door) -> None:
    found = rows_of(books, **JANUARY, columns=SHOWN, order_by="amount", limit=3)
    assert found["rows"] == [["Sales", 100], ["Sales", Decimal("40.5")], ["Heads", 12]]
    assert (found["truncated"], found["total_rows"]) == (True, 7)
    assert sums(found, "amount") == [Decimal("123.5"), Decimal("160.5"), -37]
    smallest = rows_of(books, **JANUARY, columns=SHOWN, order_by="amount", asc=True, limit=2)
    assert smallest["rows"] == [["Sales", -30], [None, -7]]
    by_account = rows_of(books, **JANUARY, columns=("account",), order_by="account", asc=True)
    assert [row[0] for row in by_account["rows"]] == ["Discounts", "Heads", "Returns", *["Sales"] * 3, None]
    by_text = rows_of(books, **JANUARY, columns=("text",), order_by="text", limit=1)
    assert by_text["rows"] == [["Ｃｒｅｄｉｔ"]]


def test_equal_rows_stay_in_the_order_that_rows_have(books: Door) -> None:
    usual = rows_of(books, period_start="2021", columns=("date", "entity", "amount"))["rows"]
    ordered = rows_of(books, period_start="2021", columns=("date", "entity", "amount"), order_by="entity", asc=True)
    assert ordered["rows"] == [*(row for row in usual if row[1] == "E1"), *(row for row in usual if row[1] == "E2")]
    cut = rows_of(
        books, period_start="2021", columns=("date", "entity", "amount"), order_by="entity", asc=True, limit=5
    )
    assert cut["rows"] == ordered["rows"][:5]


def test_contributions_order_the_rows_of_a_figure(books: Door) -> None:
    found = rows_of(books, **JANUARY, columns=SHOWN, order_by="contribution", asc=True, filters={"metric": "net_sales"})
    assert [row[1:] for row in found["rows"]] == [
        *([-30, -30], [5, -5], [3, -3]),  # returns and discounts are subtracted
        *([Decimal("40.5"), Decimal("40.5")], [100, 100]),
    ]
    assert (found["contribution_total"], found["figure"]) == (Decimal("102.5"), Decimal("102.5"))
    assert sums(found, "contribution") == [Decimal("102.5"), Decimal("140.5"), -38]


def test_amounts_are_those_of_the_measure_or_of_the_contribution(books: Door) -> None:
    found = rows_of(books, **JANUARY, columns=SHOWN, amount=Bounds(min=3, max=40.5))
    assert [row[1] for row in found["rows"]] == [3, 12, 5, Decimal("40.5")]
    assert (found["total_rows"], sums(found, "amount")) == (4, [Decimal("60.5"), Decimal("60.5"), 0])
    negative = rows_of(books, **JANUARY, columns=SHOWN, amount=Bounds(max=-3), filters={"metric": "net_sales"})
    assert [row[2] for row in negative["rows"]] == [-3, -5, -30]
    assert (negative["contribution_total"], "figure" in negative) == (-38, False)
    none = rows_of(books, **JANUARY, amount=Bounds(min=100.001), filters={"metric": "net_sales"})
    assert (none["rows"], none["total_rows"], none["contribution_total"], none["notes"]) == ([], 0, None, [])
    assert rows_of(books, **JANUARY, amount=Bounds(min=1e300))["rows"] == []
    assert rows_of(books, **JANUARY, amount=Bounds(min=5.004, max=5.006))["rows"] == []


def test_a_text_is_found_in_any_case_width_and_order_of_words(books: Door) -> None:
    found = rows_of(books, text="Note, CREDIT", columns=("text", "amount"))
    texts = [row[0] for row in found["rows"]]
    assert texts == ["note of credit", "credit-note for 8", "CRÉDIT  Note 7", "credit note", "credit note"]
    assert (found["text_searched"], found["total_rows"]) == (["text"], 5)
    assert sums(found, "amount") == [Decimal("1027.5"), Decimal("1057.5"), -30]
    assert rows_of(books, text="ｃredit", **JANUARY)["total_rows"] == 4
    by_metric = rows_of(books, text="credit note", filters={"metric": "net_sales"}, **JANUARY)
    assert (by_metric["contribution_total"], by_metric["total_rows"]) == (-35, 2)


def test_rows_are_counted_and_summed_by_columns(books: Door) -> None:
    found = rows_of(books, **JANUARY, count_by=("account",))
    assert [column["name"] for column in found["columns"]] == ["account", "rows", "amount"]
    assert found["rows"] == [
        ["Sales", 3, Decimal("110.5")],
        *(["Discounts", 1, 3], ["Heads", 1, 12], ["Returns", 1, 5], [None, 1, -7]),
    ]
    assert (found["total_rows"], found["total_groups"], found["row_count"]) == (7, 5, 5)
    largest = rows_of(books, **JANUARY, count_by=("entity", "journal"), order_by="amount", limit=2)
    assert largest["rows"] == [["E1", "J1", 1, 100], ["E2", None, 1, Decimal("40.5")]]
    assert (largest["truncated"], largest["total_groups"]) == (True, 7)
    by_metric = rows_of(books, **JANUARY, count_by=("entity",), filters={"metric": "net_sales"}, order_by="entity")
    assert by_metric["rows"] == [["E2", 3, Decimal("7.5")], ["E1", 2, 95]]
    assert (by_metric["contribution_total"], by_metric["columns"][-1]["name"]) == (Decimal("102.5"), "contribution")
    by_day = rows_of(books, **JANUARY, count_by=("date",), order_by="date", asc=True, text="note")
    assert by_day["rows"] == [["2021-01-05", 1, -30], ["2021-01-06", 2, 8], ["2021-01-09", 1, 12]]


def test_two_measures_have_their_sums_and_no_one_amount(tmp_path: Path) -> None:
    stock = small_books(
        tmp_path,
        facts={"gl": "date scenario amount pieces memo\n2021-01-05 actual 1.50 3 x\n2021-01-06 actual -2 0 y"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {}
            measures: {amount: {places: 2}, pieces: {type: number, places: 0}}
            inspect_enabled: true
            metrics: {total: {measure: amount}, count: {measure: pieces}}
            """
        },
    )
    found = rows_of(stock, period_start="2021-01")
    assert sums(found, "amount") == [Decimal("-0.5"), Decimal("1.5"), -2]
    assert sums(found, "pieces") == [3, 3, 0]
    with pytest.raises(BadArguments) as refused:
        rows_of(stock, amount=Bounds(min=1))
    assert "shows several measures: amount, pieces" in refused.value.error
    assert rows_of(stock, period_start="2021-01", amount=Bounds(min=1), filters={"metric": "count"})["total_rows"] == 1
    with pytest.raises(BadArguments) as without_texts:
        rows_of(stock, text="x")
    assert "gl shows no text column" in without_texts.value.error


@pytest.mark.parametrize(
    ("asked", "refusal", "says"),
    [
        ({"order_by": "salary"}, ColumnUnavailable, "have no 'salary' to order by"),
        ({"order_by": "amuont"}, ColumnUnavailable, "Did you mean 'amount'"),
        ({"order_by": "contribution"}, ColumnUnavailable, "have no 'contribution'"),
        ({"order_by": "amount", "filters": {"metric": "least"}}, BadArguments, "Single rows decide least"),
        ({"text": "x", "filters": {"metric": "accounts"}}, BadArguments, "Leave text or filters.metric out"),
        ({"asc": True}, BadArguments, "name a column in order_by"),
        ({"amount": Bounds()}, BadArguments, "amount needs min or max"),
        ({"amount": Bounds(min=2, max=1)}, BadArguments, "amount.min is above amount.max"),
        ({"amount": Bounds(min=float("nan"))}, BadArguments, "min and max take a number"),
        ({"text": " - "}, BadArguments, "no letter or digit"),
        ({"text": "x" * 201}, BadArguments, "201 characters"),
        ({"text": "a b c d e f g h i j k l m"}, BadArguments, "13 words; 12 are the most"),
        ({"count_by": ("amount",)}, ColumnUnavailable, "no amounts"),
        ({"count_by": ("salary",)}, ColumnUnavailable, "cannot count by 'salary'"),
        ({"count_by": ("entity",), "columns": ("entity",)}, BadArguments, "Leave columns out"),
        ({"count_by": ("entity",), "summary": True}, BadArguments, "summary shows no groups"),
        ({"count_by": ("entity",), "order_by": "journal"}, ColumnUnavailable, "have no 'journal'"),
    ],
)
def test_what_cannot_be_combined_is_refused_with_a_repair(
    books: Door, asked: dict[str, Any], refusal: type[Refusal], says: str
) -> None:
    with pytest.raises(refusal) as refused:
        rows_of(books, **asked)
    assert says in refused.value.error


def test_a_hidden_column_is_ordered_and_counted_by_as_an_unknown_one(tmp_path: Path) -> None:
    facts = "date scenario account amount salary\n2021-01-05 actual A 5 9"
    domain = """
        time: {column: date}
        dimensions: {account: account}
        measures: {amount: {places: 2}, salary: {places: 2}}
        inspect_enabled: true
        inspect_columns: [date, account, amount]
        metrics: {total: {measure: amount}, pay: {measure: salary}}
    """
    small = small_books(tmp_path, facts={"gl": facts}, domains={"gl": domain}, dimensions="account: {kind: leaf}")
    for asked in ({"order_by": "{}"}, {"count_by": ("{}",)}):
        errors = []
        for name in ("salary", "unseen"):
            given: Any = {key: name if isinstance(value, str) else (name,) for key, value in asked.items()}
            with pytest.raises(ColumnUnavailable) as refused:
                rows_of(small, **given)
            errors.append(str(refused.value.as_data()).replace(name, "{}"))
        assert errors[0] == errors[1]
    assert [*rows_of(small, period_start="2021-01")["sums"]] == ["amount"]
    assert rows_of(small, period_start="2021-01", amount=Bounds(max=5))["total_rows"] == 1


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("journal", "inspect_rows of 'gl' takes this filter"),
        ("text", "list_dimensions lists them. inspect_rows of 'gl' takes the text in `text`"),
        ("ghost", "list_dimensions lists them."),
    ],
)
def test_a_report_names_the_rows_for_a_filter_that_it_does_not_take(books: Door, key: str, says: str) -> None:
    with pytest.raises(Refusal) as refused:
        books.metric("total", scenarios={"A": "actual"}, period="2021", filters={key: "J1"})
    assert refused.value.error.rstrip(".").endswith(says.rstrip("."))
    assert rows_of(books, **JANUARY, filters={"journal": "J1"})["total_rows"] == 2


def test_too_many_rows_are_not_added_up_and_not_searched(books: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_reads, "MAX_ROWS", 4)
    several = {**JANUARY, "filters": {"metric": "adjusted"}}  # two terms, each with rows of the other
    found = rows_of(books, **several, limit=2)
    assert (len(found["rows"]), "sums" in found, "total_rows" in found) == (2, False, False)
    assert [note["code"] for note in found["notes"]] == ["rows_not_summed"]
    for asked in ({"order_by": "amount"}, {"text": "note"}, {"count_by": ("account",)}):
        with pytest.raises(BadArguments) as refused:
            rows_of(books, **JANUARY, **asked)
        assert "Name a shorter range" in refused.value.error
    assert rows_of(books, **JANUARY, limit=2)["total_rows"] == 7  # the store adds them up
    monkeypatch.setattr(row_reads, "MAX_ROWS", 5)
    assert rows_of(books, **several, limit=2)["total_rows"] == 5


# Random choices, against the rows that are shown without them.

METRICS = (
    "net_sales",
    "total",
    "half",
    "adjusted",
    "closing",
    "opening",
    "known",
    "to_date",
    "monthly",
    "postings",
    "mean",
)


def folded(text: str | None) -> str:
    """Return a text in lower case without accents and widths."""
    return "".join(char for char in normalize("NFKD", text or "").casefold() if not combining(char))


def ordered(rows: Sequence[list[Any]], at: int, *, ascending: bool) -> list[list[Any]]:
    """Return rows in the order of one of their values, those without it last."""
    known = sorted((row for row in rows if row[at] is not None), key=lambda row: row[at], reverse=not ascending)
    if not ascending:  # `reverse` keeps equal rows as they are
        assert known == sorted(known, key=lambda row: row[at], reverse=True)
    return [*known, *(row for row in rows if row[at] is None)]


def numbers(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Return rows whose numbers are exact."""
    return [[value if value is None or isinstance(value, str) else exactly(value) for value in row] for row in rows]


@settings(max_examples=60)
@given(data=st.data())
def test_random_choices_are_those_of_the_rows_without_them(books: Door, data: st.DataObject) -> None:
    draw = data.draw
    metric = draw(st.sampled_from((None, *METRICS)))
    base: dict[str, Any] = {
        "scenario_id": draw(st.sampled_from(("actual", "actual", "budget", "budget/low"))),
        "period_start": draw(st.sampled_from(("2021-01", "2021", "2020"))),
        "filters": {**({"metric": metric} if metric else {}), **draw(st.sampled_from(({}, {}, {"entity": "E2"})))},
    }
    whole = rows_of(books, **base)
    names = [column["name"] for column in whole["columns"]]
    at, rows = names.index("contribution" if metric else "amount"), numbers(whole["rows"])
    limit, column = draw(st.sampled_from((1, 2, 3, 100))), draw(st.sampled_from((None, *names)))
    least, most = draw(st.sampled_from(((None, None), (None, None), (None, 5), (-5, 40.25), (3, None))))
    word, ascending = draw(st.sampled_from((None, None, "note", "credit note"))), draw(st.booleans())
    low, high = Decimal(-(10**9) if least is None else least), Decimal(10**9 if most is None else str(most))
    kept = [row for row in rows if (least is most is None) or low <= row[at] <= high]
    kept = [row for row in kept if all(part in folded(row[names.index("text")]) for part in (word or "").split())]
    asked = {
        **base,
        "limit": limit,
        **({} if least is most is None else {"amount": Bounds(min=least, max=most)}),
        **({"text": word} if word else {}),
    }
    shown = ordered(kept, names.index(column), ascending=ascending) if column else kept
    found = rows_of(books, **asked, **({"order_by": column, "asc": ascending} if column else {}))
    assert numbers(found["rows"]) == shown[:limit]
    assert (found["total_rows"], found["truncated"]) == (len(kept), len(kept) > limit)
    parts = [
        [row[at] for row in kept],
        [row[at] for row in kept if row[at] > 0],
        [row[at] for row in kept if row[at] < 0],
    ]
    assert sums(found, names[at]) == [sum(part, Decimal(0)) for part in parts]
    by = draw(
        st.lists(st.sampled_from(("account", "entity", "journal", "text", "date")), min_size=1, max_size=2, unique=True)
    )
    groups: dict[tuple[Any, ...], list[Decimal]] = defaultdict(list)
    for row in kept:
        groups[tuple(row[names.index(name)] for name in by)].append(row[at])
    counted = rows_of(books, **{**asked, "limit": 100, "count_by": tuple(by)})
    assert {tuple(row[:-2]): row[-2:] for row in numbers(counted["rows"])} == {
        key: [len(amounts), sum(amounts, Decimal(0))] for key, amounts in groups.items()
    }
    assert [row[-2] for row in numbers(counted["rows"])] == sorted(map(len, groups.values()), reverse=True)
