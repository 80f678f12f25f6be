"""The lock of statements: it sees a select that lacks a part, or a cell, and long lists of codes beside the text."""

from datetime import date

import pytest

from engine.model.calendar.periods import Span
from engine.model.errors import BadArguments
from engine.model.fact_store import Aggregate, LastKnownSlice
from engine.model.scope import EVERYTHING, NOTHING, AmountRange, Cell, CodeSet, Conjunction
from server.warehouses import statements
from server.warehouses.dialects import CLICKHOUSE, DUCKDB, POSTGRESQL, SqlDialect
from server.warehouses.engines.bigquery import BIGQUERY
from server.warehouses.engines.snowflake import SNOWFLAKE
from server.warehouses.statements import MOST_LISTED, PartSpans, StatementText
from server.warehouses.warehouse import SqlStatement
from tests.support.checks.statements import hold_to_lock
from tests.unit.server.warehouses.test_warehouses import LEDGER

JANUARY = Span(date(2024, 1, 1), date(2024, 1, 31))
SOME = Cell.where("account", CodeSet(frozenset(range(5, 7 + 2 * MOST_LISTED, 2))))
RANGE = Conjunction.of(
    {"account": CodeSet(frozenset({3}), complement=True)}, [AmountRange("amount", -5, 7, complement=True)]
)
CELLS = (SOME, NOTHING, Cell.where("account", ~CodeSet(frozenset({1, 2}))), Cell.of([RANGE]), SOME | Cell.of([RANGE]))
dialects = pytest.mark.parametrize(
    "dialect", [DUCKDB, POSTGRESQL, CLICKHOUSE, SNOWFLAKE, BIGQUERY], ids=lambda dialect: dialect.name
)


def sums(dialect: SqlDialect, within: Cell) -> SqlStatement:
    """Return the sums of one whole part, of two in another span, and of one that is cut."""
    touched = PartSpans({11: 0, 12: 1, 13: 1}, [14], [(0, JANUARY)])
    return StatementText(dialect, LEDGER, within).sums(touched, ("account",), (Aggregate("amount"),), ())


@dialects
@pytest.mark.parametrize("within", CELLS)
def test_every_select_of_facts_has_its_parts_and_the_cell(dialect: SqlDialect, within: Cell) -> None:
    made = sums(dialect, within)
    assert made.text.count("tieout_facts_gl") == 2
    hold_to_lock(made, dialect.name, "tieout_facts_gl", frozenset({11, 12, 13, 14}), within)


@dialects
@pytest.mark.parametrize("within", CELLS)
def test_the_lock_sees_a_select_without_its_cell(dialect: SqlDialect, within: Cell) -> None:
    with pytest.raises(AssertionError):
        hold_to_lock(sums(dialect, EVERYTHING), dialect.name, "tieout_facts_gl", frozenset({11, 12, 13, 14}), within)
    one_branch = sums(dialect, within).text.split(" union all ")[0].removeprefix("select ").split("from (", 1)[1]
    bare = SqlStatement(f"{one_branch} union all select tieout_part from tieout_facts_gl where tieout_part in (14)")
    with pytest.raises(AssertionError):
        hold_to_lock(bare, dialect.name, "tieout_facts_gl", frozenset({11, 12, 13, 14}), within)


@dialects
def test_the_lock_sees_a_part_of_another_version(dialect: SqlDialect) -> None:
    with pytest.raises(AssertionError):
        hold_to_lock(sums(dialect, EVERYTHING), dialect.name, "tieout_facts_gl", frozenset({11, 12, 14}), EVERYTHING)


@dialects
def test_more_codes_than_a_statement_lists_stand_beside_it(dialect: SqlDialect) -> None:
    short, long = sums(dialect, Cell.where("account", CodeSet(frozenset({1, 2})))), sums(dialect, SOME)
    assert short.parameters == []
    assert (len(long.parameters), len(long.sets)) == ((0, 1) if dialect is CLICKHOUSE else (2, 0))  # one a branch
    assert len(long.text) < len(short.text) + 500


@dialects
def test_windows_that_list_more_intervals_than_a_statement_does_are_refused(
    monkeypatch: pytest.MonkeyPatch, dialect: SqlDialect
) -> None:
    asked = LastKnownSlice(
        domain="gl",
        scenario="actual",
        spans=(JANUARY, JANUARY),
        periods=(0, 1),
        windows=(range(1), range(2), (0, 1)),
        leaves=("account",),
        keys=(),
        aggregates=(Aggregate("amount"),),
    )
    touched = PartSpans({11: 0, 12: 1}, [], [])
    monkeypatch.setattr(statements, "MOST_READS", 5)
    assert StatementText(dialect, LEDGER, EVERYTHING).last_known(asked, touched, ()).text
    monkeypatch.setattr(statements, "MOST_READS", 4)
    with pytest.raises(BadArguments, match="3 windows of last known values would read 5 intervals of days"):
        StatementText(dialect, LEDGER, EVERYTHING).last_known(asked, touched, ())
