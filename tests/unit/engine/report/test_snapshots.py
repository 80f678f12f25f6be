"""Snapshots: what is kept is what is opened, figure for figure, and bytes that are none are refused."""

from collections.abc import Callable
from functools import partial
from inspect import stack
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.books.reader import Reader
from engine.door import Door, open_books
from engine.model.errors import BadArguments, ExpiredReference, Refusal
from engine.model.evaluation import FigureCube
from engine.model.exact import Exact
from engine.model.formulas import Nothing
from engine.model.stopping import STRIDE, stopped_by
from engine.present.answers.rows import rows_answer
from engine.present.blocks import table
from engine.report.encoding import ASIDE, LONG, PACKED, read, write
from engine.report.inspection import Inspection
from engine.report.report import Report
from engine.report.snapshots import Kept, fractions_of, integers, keep, opened
from engine.report.snapshots import given as given_to_a_script
from tests.support.answers.reader import answer
from tests.support.books.inspected import ledger

UNCUT = 10**9
COLUMNS = ("actual", "budget", "forecast", "actual@py", "actual@ytd", "budget/downside", "actual+forecast", "gone")
VARIANCES = ("var(actual,budget)", "var_pct(actual,actual@py)", "var(actual+forecast,budget@ytd)")
DIMENSIONS = ((), ("organisation",), ("period",), ("product_line", "period"), ("period", "entity"), ("function",))
FILTERS: tuple[Any, ...] = ({}, {"organisation": "EUROPE"}, {"customer": "nobody"}, {"period": "2026-02"})
METRICS = (("revenue", "ebitda_margin"), ("sales_amount", "units", "average_price"), ("headcount",))
PERIODS = (("2026-01", "2026-03"), ("2025-Q4", "2026-Q1"), ("2026", "2026"), ("2026-W05", "2026-W06"))

questions = st.fixed_dictionaries(
    {
        "scenarios": st.lists(st.sampled_from((*COLUMNS, *VARIANCES)), min_size=1, max_size=5, unique=True),
        "dimensions": st.sampled_from(DIMENSIONS),
        "filters": st.sampled_from(FILTERS),
        "period": st.sampled_from(PERIODS),
        "scale": st.sampled_from((0, 3, 6)),
        "decimals": st.sampled_from((None, 0, 4)),
    }
)
subjects = st.one_of(st.sampled_from(("full_pnl", "balance_sheet", "kpis", "pnl")), st.sampled_from(METRICS))


@pytest.fixture(scope="module")
def demo_books(demo_folder: Path) -> Door:
    """The books of the demo."""
    return open_books(demo_folder)


@pytest.fixture(scope="module")
def european_books(demo_folder: Path) -> Door:
    """The books of the demo as a profile that is cut sees them."""
    return open_books(demo_folder, profile="europe")


def asked_of(books: Door, subject: str | tuple[str, ...], question: dict[str, Any]) -> Report:
    """Return the answer to a question about a statement or metrics."""
    asked = {**question, "scenarios": {f"{at} {key}": key for at, key in enumerate(question["scenarios"])}}
    return books.statement(subject, **asked) if isinstance(subject, str) else books.metric(*subject, **asked)


def assert_same(again: object, report: Report) -> None:
    """Hold a report that was opened against the one that was kept."""
    assert isinstance(again, Report)
    assert answer(again, UNCUT) == answer(report, UNCUT)
    assert table(again) == table(report)
    assert again.frame.equals(report.frame)
    assert again.frame.schema == report.frame.schema
    assert replace(again).frame.equals(report.frame)  # made anew of what was opened
    assert (repr(again), again._repr_html_()) == (repr(report), report._repr_html_())
    assert fractions(again) == fractions(report)
    for name in ("lines", "columns", "places", "notes", "freshness", "filters", "permission", "period", "breakdown"):
        assert getattr(again, name) == getattr(report, name), name


def fractions(report: Report) -> list[Any]:
    """Return the figures of a report as they stand, and where there is none, why."""
    every = (figure for line in report.figures for column in line for figure in column)
    return [(figure.numerator, figure.denominator) if isinstance(figure, Exact) else figure for figure in every]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(subject=subjects, question=questions, cut=st.booleans())
def test_a_report_is_opened_as_it_was_kept(
    demo_books: Door, european_books: Door, subject: Any, question: dict[str, Any], cut: bool
) -> None:
    books = european_books if cut else demo_books
    try:
        report = asked_of(books, subject, question)
    except Refusal:
        assume(False)
    assert_same(opened(keep(report), books.reader), report)


def test_both_kinds_of_nothing_and_any_fraction_survive(demo_books: Door) -> None:
    asked = {"scenarios": ["actual", "budget"], "filters": {"customer": "nobody"}, "period": "2026-01"}
    report = asked_of(demo_books, "kpis", asked)
    assert {Nothing.MISSING, Nothing.UNAVAILABLE} <= {figure for figure in fractions(report) if figure in set(Nothing)}
    assert_same(opened(keep(report), demo_books.reader), report)
    odd = (Exact(1, 3), Exact(-(10**30), 7), Exact(2**63), Exact(5, 10**40), Exact(0, 3), *Nothing)
    figures = [[[odd[place % len(odd)] for place in range(len(report.places))]] * 2 for _ in report.lines]
    replaced = replace(report, figures=FigureCube.of(figures))
    assert_same(opened(keep(replaced), demo_books.reader), replace(replaced, figures=without_headers(replaced)))


def without_headers(report: Report) -> FigureCube:
    """Return figures with none in headers."""
    return FigureCube.of(
        [
            [[Nothing.MISSING for _ in column] for column in line] if head.type is None else line
            for head, line in zip(report.lines, report.figures, strict=True)
        ]
    )


def test_a_long_report_is_packed_and_any_arrow_reader_reads_its_figures(demo_books: Door) -> None:
    columns = {key: key for key in ("actual", "budget", "var(actual,budget)")}
    report = demo_books.metric(
        "sales_amount", "units", scenarios=columns, period=("2025-01", "2026-09"), dimensions=["customer", "period"]
    )
    kept = keep(report)
    assert ASIDE + PACKED in pa.ipc.open_stream(kept).schema.metadata
    assert LONG < len(kept) < report.frame.estimated_size() / 4
    figures = pl.read_ipc_stream(kept)
    assert (figures["numerator0"] / figures["denominator0"]).equals(report.frame["value"], null_equal=True)
    assert_same(opened(kept, demo_books.reader), report)


@pytest.mark.parametrize("open_it", [opened, given_to_a_script])
@pytest.mark.parametrize("dimensions", [["customer", "period"], ["date", "entity"]])
def test_a_long_list_is_read_item_by_item_so_that_a_call_stops_within_it(
    demo_books: Door, open_it: Callable[[bytes, Reader], Kept], dimensions: list[str]
) -> None:
    report = demo_books.metric(
        "sales_amount", scenarios={"A": "actual"}, period=("2025-01", "2026-09"), dimensions=dimensions
    )
    kept, reader, looks = keep(report), demo_books.reader, list[bool]()
    with stopped_by(lambda: looks.append(any(frame.function == "typed" for frame in stack(0)))):
        open_it(kept, reader)
    assert sum(looks) >= len(report.places) // STRIDE > 0


def test_a_snapshot_names_no_line_of_the_instance_files(european_books: Door) -> None:
    report = european_books.statement("full_pnl", scenarios={"A": "actual"}, period="2026-01")
    header, _ = read(keep(report))
    assert header["permission"]["cells"]
    assert header["permission"]["nodes"]
    assert ".yaml" not in str(header)


def test_a_script_is_given_a_report_without_its_lines_places_and_exact_figures(demo_books: Door) -> None:
    report = demo_books.statement("full_pnl", scenarios={"A": "actual"}, period="2026-01", dimensions=["organisation"])
    one = given_to_a_script(keep(report), demo_books.reader)
    assert isinstance(one, Report)
    assert one.frame.equals(report.frame)
    assert (one.permission, one.notes, one.columns) == (report.permission, report.notes, report.columns)
    assert (one.lines, one.places, one.figures) == ((), (), ())
    header, figures = read(keep(report))
    for open_it in (opened, given_to_a_script):
        with pytest.raises(ExpiredReference):
            open_it(write(figures, {**header, "permission": None}), demo_books.reader)


ROWS = "2021-01-05 actual Sales E1 J1 100.10 first\n2021-01-06 actual Returns E1 J1 30 -\n- actual Sales E2 J2 7 last"


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"period": "2021-01", "filters": {"metric": "net_sales"}},
        {"period": "2021-01", "filters": {"metric": "net_sales", "tree": "Returns", "scenario": "actual@ytd"}},
        {"period": "2021-02", "columns": ["text"]},
        {"filters": {"month": "(unassigned)"}, "limit": 1},
        {"scenario": "gone"},
    ],
)
def test_rows_are_opened_as_they_were_kept(tmp_path: Path, asked: dict[str, Any]) -> None:
    books = ledger(tmp_path, ROWS)
    rows = books.rows("gl", **{"scenario": "actual", **asked})
    again = opened(keep(rows), books.reader)
    assert isinstance(again, Inspection)
    assert rows_answer(again, UNCUT) == rows_answer(rows, UNCUT)
    assert again.rows == rows.rows
    assert again.frame.equals(rows.frame)
    assert replace(again).frame.equals(rows.frame)


def test_bytes_that_are_no_snapshot_are_refused(demo_books: Door, tmp_path: Path) -> None:
    kept = keep(demo_books.metric("revenue", scenarios={"A": "actual"}, period="2026-01"))
    stream = tmp_path / "foreign.arrow"
    pl.DataFrame({"value": [1.0]}).write_ipc_stream(stream)
    flipped = [kept[:at] + bytes([kept[at] ^ 1]) + kept[at + 1 :] for at in range(0, len(kept), 97)]
    for wrong in (b"", b"PK\x03\x04", kept[:-1], kept[: len(kept) // 2], kept + b"\0", stream.read_bytes(), *flipped):
        with pytest.raises(BadArguments, match="no kept report, or it is damaged"):
            opened(wrong, demo_books.reader)


@pytest.mark.parametrize(
    "changed", [{"kind": "report 0"}, {"period": None}, {"lines": [{}]}, {"columns": 3}, {"label": ...}]
)
def test_a_snapshot_of_another_release_has_expired(demo_books: Door, changed: dict[str, Any]) -> None:
    header, kept = read(keep(demo_books.metric("revenue", scenarios={"A": "actual"}, period="2026-01")))
    other = {key: value for key, value in {**header, **changed}.items() if value is not ...}
    with pytest.raises(ExpiredReference):
        opened(write(kept, other), demo_books.reader)


@given(
    st.lists(
        st.none()
        | st.builds(
            lambda bits, less, sign: sign * (2**bits - less),
            st.integers(0, 20_000),
            st.integers(0, 1),
            st.sampled_from((1, -1)),
        ),
        min_size=2,
    )
)
def test_integers_of_any_length_are_kept(numbers: list[int | None]) -> None:
    made = integers(numbers)
    assert fractions_of([made, made]) == [(numbers, numbers)]


def test_integers_that_an_earlier_release_kept_as_text_are_read() -> None:
    column = pa.array([str(10**30), None, str(-(10**40))], pa.string())
    assert fractions_of([column, column])[0][0] == [10**30, None, -(10**40)]


def test_a_result_is_looked_at_while_its_parts_are_written(demo_books: Door) -> None:
    report, looks = demo_books.metric("revenue", scenarios={"A": "actual"}, period="2026-01"), count()
    with stopped_by(partial(next, looks)):
        keep(report)
    assert next(looks) >= 3
