"""Notes on blanks: each null is covered by one note of the list, the first whose cause holds; each in its own test.

Rules: Blanks.
"""

from pathlib import Path
from typing import Any

import pytest

from engine.door import Door
from engine.model.formulas import Nothing
from engine.model.notes import BLANKS, Note, by_code, messages, notes_as_data
from engine.report.inspection import Inspection
from engine.report.report import Report
from tests.support.books.small import figures, small_books

FACTS = {
    "gl": """
        date       scenario account entity amount
        2021-01-05 actual   sales   E1     10
        2021-02-05 actual   sales   E1     20
        2021-02-05 actual   sales   E2     5
        2021-03-05 actual   sales   E1     30
        2021-03-05 actual   cash    E1     7
        2021-02-05 actual   cash    E2     9
        2021-02-05 budget   sales   E1     8
        """,
    "people": """
        date    scenario entity heads
        2021-01 actual   E1     2
        2021-02 actual   E1     0
        2021-03 actual   E1     4
        """,
}
DOMAINS = {
    "gl": """
        time: {column: date}
        dimensions: {account: account, entity: entity}
        measures: {amount: {places: 0}}
        inspect_enabled: true
        metrics:
          sales: {measure: amount, where: {account: sales}}
          cash: {measure: amount, where: {account: cash}, over_time: closing}
        """,
    "people": """
        time: {column: date, grain: month}
        dimensions: {entity: entity}
        measures: {heads: {type: number, places: 0}}
        metrics:
          heads: {measure: heads}
        """,
}
STATEMENT = """
- {metric: gl.sales}
- {metric: people.heads}
- formula: {key: per_head, label: Per head, is: sales / heads}
"""
A, B = {"A": "actual"}, {"B": "budget"}


@pytest.fixture
def books(tmp_path: Path) -> Door:
    """Return sales of January to March, heads of which are 0 in February, and a budget of February alone."""
    return opened(tmp_path)


def opened(folder: Path, closed: str = "2021-03", statement: str = STATEMENT, **more: Any) -> Door:
    """Open the books with the last closed month of actual."""
    return small_books(
        folder,
        facts=FACTS,
        domains=DOMAINS,
        dimensions="account: {kind: leaf}\nentity: {kind: leaf}\ndate: {kind: leaf, grain: date}",
        statements={"all": statement},
        scenarios=f"""
            actual: {{alias: Actuals, kind: actual, closed_through: {closed}}}
            budget: {{alias: Budget, kind: budget}}
        """,
        **more,
    )


def blanks(report: Report | Inspection) -> list[tuple[str, dict[str, Any]]]:
    """Return the notes on blanks of a result with their names."""
    return [(note.code, dict(note.about)) for note in report.notes if note.code in BLANKS]


def test_unavailable_names_the_lines_that_cannot_be_asked(books: Door) -> None:
    report = books.statement("all", scenarios=A, period="2021-01", filters={"account": "sales"})
    assert figures(report, "line") == {"sales": 10, "heads": None, "per_head": None}
    reason = "people has no account, which is filtered"
    assert blanks(report) == [
        ("unavailable", {"lines": ("heads",), "reason": reason}),
        ("not_computable", {"lines": ("per_head",), "operand": "heads", "reason": reason}),
    ]


def test_not_computable_names_the_members_where_a_total_is_there(books: Door) -> None:
    report = books.statement("all", scenarios=A, period="2021-01", dimensions=["account"])
    assert figures(report, "line", "account")["per_head", None] == 5
    reason = "people cannot be broken down by account"
    assert blanks(report) == [
        ("not_computable", {"lines": ("per_head",), "members": ("(members)",), "operand": "heads", "reason": reason})
    ]


def test_no_window_comes_before_the_books(books: Door) -> None:
    asked: dict[str, Any] = {"scenarios": {"A": "actual", "PY": "actual@py"}, "period": ("2020-02-28", "2020-02-29")}
    report = books.metric("sales", dimensions=["date"], **asked)
    gl = {"scenario": "actual", "domain": "gl", "first": "2021-01-05", "last": "2021-03-05"}
    assert blanks(report) == [
        ("no_window", {"scenarios": ("actual@py",), "members": ("2020-02-29",)}),
        ("outside_books", {"scenarios": ("actual",), **gl}),
        ("outside_books", {"scenarios": ("actual@py",), "members": ("2020-02-28", "(total)"), **gl}),
    ]


def test_outside_books_is_before_the_first_or_after_the_last_loaded_period(books: Door) -> None:
    report = books.metric("sales", scenarios={**A, **B}, period=("2021-01", "2021-05"), dimensions=["period"])
    assert figures(report, "period", "alias")["2021-02", "B"] == 8
    actual = {"scenario": "actual", "domain": "gl", "first": "2021-01-05", "last": "2021-03-05"}
    budget = {"scenario": "budget", "domain": "gl", "first": "2021-02-05", "last": "2021-02-05"}
    assert blanks(report) == [
        ("outside_books", {"scenarios": ("actual",), "members": ("2021-04", "2021-05"), **actual}),
        (
            "outside_books",
            {"scenarios": ("budget",), "members": ("2021-01", "2021-03", "2021-04", "2021-05"), **budget},
        ),
    ]


def test_outside_books_are_those_that_the_caller_sees(tmp_path: Path) -> None:
    scope = "seen: {scenarios: {actual: {dimensions: {entity: {allow: [E2]}}}}}"
    report = opened(tmp_path, profiles=scope, profile="seen").metric("sales", scenarios=A, period="2021-01")
    books = {"scenario": "actual", "domain": "gl", "first": "2021-02-05", "last": "2021-02-05"}
    assert blanks(report) == [("outside_books", {"scenarios": ("actual",), **books})]


def test_an_open_period_is_unknown_and_a_later_one_is_outside(tmp_path: Path) -> None:
    report = opened(tmp_path, closed="2021-02").metric(
        "sales", scenarios=A, period=("2021-03", "2021-04"), filters={"entity": "E2"}, dimensions=["period"]
    )
    assert figures(report, "period") == {"2021-03": None, "2021-04": None, None: None}
    gl = {"scenario": "actual", "domain": "gl"}
    books = {**gl, "first": "2021-01-05", "last": "2021-03-05"}
    assert blanks(report) == [
        ("outside_books", {"members": ("2021-04",), **books}),
        ("open_period", {"members": ("2021-03", "(total)"), **gl}),
    ]


def test_an_incomplete_close_names_the_members_that_lack_it_with_and_without_a_breakdown(books: Door) -> None:
    report = books.metric("cash", scenarios=A, period=("2021-02", "2021-03"), dimensions=["entity"])
    assert figures(report, "entity") == {"E1": 7, "E2": None, None: 7}
    assert blanks(report) == [("incomplete_close", {"members": ("E2",), "anchor": "2021-03"})]
    alone = books.metric("cash", scenarios=A, period=("2021-02", "2021-03"), filters={"entity": "E2"})
    assert blanks(alone) == [("incomplete_close", {"scenarios": ("actual",), "anchor": "2021-03"})]


def test_an_incomplete_close_names_each_balance_that_lacks_it(tmp_path: Path) -> None:
    loans = "          loans: {measure: amount, where: {account: loans}, over_time: closing}\n"
    books = small_books(
        tmp_path,
        facts={"gl": f"{FACTS['gl'].rstrip()}\n        2021-02-05 actual loans E2 4\n"},
        domains={"gl": f"{DOMAINS['gl'].rstrip()}\n{loans}"},
        dimensions="account: {kind: leaf}\nentity: {kind: leaf}",
        scenarios="actual: {alias: Actuals, kind: actual, closed_through: 2021-03}\nbudget: {alias: B, kind: budget}",
    )
    report = books.metric("cash", "loans", scenarios=A, period=("2021-02", "2021-03"), filters={"entity": "E2"})
    assert blanks(report) == [("incomplete_close", {"scenarios": ("actual",), "anchor": "2021-03"})]  # of every line


def test_no_divisor_is_a_quotient_by_0_or_a_percent_variance_against_0(books: Door) -> None:
    report = books.statement("all", scenarios=A, period="2021-02")
    assert figures(report, "line") == {"sales": 25, "heads": 0, "per_head": None}
    assert blanks(report) == [("no_divisor", {"lines": ("per_head",)})]
    share = books.metric("heads", scenarios={**A, "V": "var_pct(actual,actual@pp)"}, period="2021-03")
    assert figures(share, "alias") == {"A": 4, "V": None}
    assert blanks(share) == [("no_divisor", {"scenarios": ("var_pct(actual,actual@pp)",)})]


def test_no_divisor_is_also_what_a_sum_of_quotients_says(tmp_path: Path) -> None:
    twice = "- formula: {key: twice, label: Twice, is: per_head + per_head}\n"
    report = opened(tmp_path, statement=STATEMENT + twice).statement("all", scenarios=A, period="2021-02")
    assert figures(report, "line") == {"sales": 25, "heads": 0, "per_head": None, "twice": None}
    assert blanks(report) == [("no_divisor", {"lines": ("per_head", "twice")})]


def test_a_percent_variance_against_a_side_that_counts_as_0_has_no_divisor(books: Door) -> None:
    columns = {**A, "P": "var_pct(actual,budget)"}
    report = books.metric("sales", scenarios=columns, period="2021-02", dimensions=["entity"])
    assert figures(report, "alias", "entity")["P", "E1"] is not None
    assert figures(report, "alias", "entity")["P", "E2"] is None
    assert blanks(report) == [("no_divisor", {"scenarios": ("var_pct(actual,budget)",), "members": ("E2",)})]


def test_no_rows_covers_what_no_other_note_covers(books: Door) -> None:
    report = books.metric("sales", "cash", scenarios=A, period="2021-01", dimensions=["entity"])
    assert figures(report, "entity", "metric")["E1", "cash"] is None
    assert blanks(report) == [("no_rows", {})]
    assert messages(report.notes)[0] == "Blanks that no other note explains have no rows."


def test_an_answer_without_blanks_has_no_note_on_them(books: Door) -> None:
    report = books.metric("sales", scenarios={**A, **B}, period="2021-02", dimensions=["account"])
    assert None not in figures(report, "alias", "account").values()
    assert blanks(report) == []


# Rows that add up to no figure.

GL = {"scenario": "actual", "domain": "gl"}
BOOKS = {**GL, "first": "2021-01-05", "last": "2021-03-05"}


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"period": "2020-01", "filters": {"metric": "sales"}}, ("outside_books", {"scenarios": ("actual",), **BOOKS})),
        (
            {"period": "2021-02", "filters": {"metric": "sales", "scenario": "actual@py"}},
            ("outside_books", {"scenarios": ("actual@py",), **BOOKS}),
        ),
        (
            {"period": "2020-02-29", "filters": {"metric": "sales", "scenario": "actual@py"}},
            ("no_window", {"scenarios": ("actual@py",)}),
        ),
        (
            {"period": "2021-03", "filters": {"metric": "sales", "entity": "E2"}},
            ("open_period", {"scenarios": ("actual",), **GL}),
        ),
        ({"period": "2021-01", "filters": {"metric": "cash"}}, ("no_rows", {})),
        ({"filters": {"metric": "sales", "account": "cash"}}, ("open_period", {"scenarios": ("actual",), **GL})),
    ],
)
def test_rows_of_a_blank_say_what_its_report_says(
    tmp_path: Path, asked: dict[str, Any], told: tuple[str, dict[str, Any]]
) -> None:
    books = opened(tmp_path, closed="2021-02")
    rows = books.rows("gl", scenario="actual", **asked)
    assert (rows.contribution_total, list(rows.rows)) == (Nothing.MISSING, [])
    assert blanks(rows) == [told]
    filters = {key: ids for key, ids in asked["filters"].items() if key not in ("metric", "scenario")}
    scenario = asked["filters"].get("scenario", "actual")
    if "period" in asked:
        report = books.metric(
            asked["filters"]["metric"], scenarios={"A": scenario}, period=asked["period"], filters=filters
        )
        assert blanks(report) == [told]


def test_rows_of_a_balance_without_a_close_name_the_anchor(books: Door) -> None:
    filters = {"metric": "cash", "entity": "E2"}  # which has cash in February alone
    rows = books.rows("gl", scenario="actual", period=("2021-02", "2021-03"), filters=filters)
    assert blanks(rows) == [("incomplete_close", {"scenarios": ("actual",), "anchor": "2021-03"})]


def test_rows_of_no_figure_and_of_one_that_is_there_have_no_note_on_blanks(books: Door) -> None:
    for filters in ({}, {"metric": "sales"}):
        assert blanks(books.rows("gl", scenario="actual", period="2021-02", filters=filters)) == []


def test_rows_outside_the_books_are_outside_those_that_the_caller_sees(tmp_path: Path) -> None:
    scope = "seen: {scenarios: {actual: {dimensions: {entity: {allow: [E2]}}}}}"
    seen = opened(tmp_path, profiles=scope, profile="seen")
    rows = seen.rows("gl", scenario="actual", period="2021-01", filters={"metric": "sales"})
    books = {**GL, "first": "2021-02-05", "last": "2021-02-05"}
    assert blanks(rows) == [("outside_books", {"scenarios": ("actual",), **books})]


# Notes of one code are one note of an answer.


def test_notes_of_one_code_that_differ_in_one_name_are_joined_in_it() -> None:
    anchors = [
        Note.of("anchor", domain="gl", group="cash", scenario=scenario, anchor="2026-09")
        for scenario in ("actual", "budget", "actual@py")
    ]
    (note,) = notes_as_data([*anchors, anchors[0]])
    assert note == {
        "code": "anchor",
        "severity": "info",
        "message": "Balances of gl (cash) in actual, budget and actual@py are those at the close of 2026-09.",
    }


def test_other_notes_of_one_code_join_their_sentences() -> None:
    said = [Note.of("leap_day", scenario=f"s{at}", window=f"w{at}", differs="gains", period="p") for at in range(6)]
    (note,) = notes_as_data(said)
    assert str(note["message"]).startswith("s0: w0 gains 29 February beside p. s1: w1 gains")
    assert str(note["message"]).endswith("And 2 more of the kind.")


def test_a_list_of_names_ends_after_twenty() -> None:
    note = Note.of("no_divisor", members=tuple(f"m{at:02}" for at in range(25)))
    assert "'m19' and 5 more is blank" in note.message
    assert "m20" not in note.message


PER_HEAD = STATEMENT + "- formula: {key: twice, label: Twice, is: 2 * per_head}\n"


def test_a_quotient_whose_divisor_alone_has_no_rows_names_it(tmp_path: Path) -> None:
    report = opened(tmp_path, statement=PER_HEAD).statement("all", scenarios=A, period="2021-02", dimensions=["entity"])
    shown = figures(report, "line", "entity")
    assert [shown[line, "E2"] for line in ("sales", "heads", "per_head", "twice")] == [5, None, None, None]
    named = {"lines": ("per_head", "twice"), "members": ("E2",), "operands": ("heads",)}
    assert [known for known in blanks(report) if known[0] == "no_rows"] == [("no_rows", named), ("no_rows", {})]
    (note,) = (known for known in report.notes if known.code == "no_rows" and known.about)
    assert note.message == "'per_head' or 'twice' at 'E2' is blank: 'heads', by which it divides, has no rows."
    (told,) = (known for known in notes_as_data(report.notes) if known["code"] == "no_rows")
    assert told["operands"] == ["heads"]


def test_a_quotient_without_any_row_names_no_divisor(books: Door) -> None:
    report = books.statement("all", scenarios=A, period="2021-02", filters={"entity": "E3"})
    assert [known for known in blanks(report) if known[0] == "no_rows"] == [("no_rows", {})]


def test_the_notes_on_blanks_come_first_and_the_others_by_code() -> None:
    said = ("undated", "no_rows", "nothing_visible", "no_window", "newer_data")
    assert list(by_code(map(Note.of, said))) == ["no_window", "no_rows", "newer_data", "nothing_visible", "undated"]


def test_the_causes_of_a_variance_in_a_ranking_are_those_of_its_members(tmp_path: Path) -> None:
    facts = """
        date       scenario account entity amount
        2021-03-05 actual   sales   E1     1
        2021-03-05 actual   sales   E2     2
        2021-03-05 actual   sales   E3     3
        2021-02-05 actual   cash    E2     9
        2021-03-05 actual   cash    E3     7
        2021-03-05 budget   cash    E3     6
        """
    dimensions = "account: {kind: leaf}\nentity: {kind: leaf}\ndate: {kind: leaf, grain: date}"
    books = small_books(tmp_path, facts={"gl": facts}, domains={"gl": DOMAINS["gl"]}, dimensions=dimensions)
    period = ("2021-02", "2021-03")
    ranked: dict[str, Any] = {"dimensions": ["entity"], "order_by": "sales@A", "top": 3}
    report = books.metric("sales", "cash", scenarios={**A, "V": "var(actual,budget)"}, period=period, **ranked)
    shown = figures(report, "metric", "alias", "entity")
    assert [shown["cash", "V", entity] for entity in ("E1", "E2", "E3")] == [None, None, 1]
    (late,) = (about for code, about in blanks(report) if code == "incomplete_close")
    assert late["members"] == ("E2",)
