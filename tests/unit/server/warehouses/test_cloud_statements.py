"""The statements for Snowflake and BigQuery: each is one that the service's grammar knows, of the version surveyed."""

import json
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from sqlglot import exp

from engine.model.calendar.periods import Span
from engine.model.fact_store import DATE, Aggregate, DistinctSlice, LastKnownSlice, RowSlice
from engine.model.scope import Cell, CodeSet
from server.feeds.feeds import FeedSource, SourceKind
from server.warehouses.attached.rows import SCENARIO, AttachedColumn, AttachedRows, AttachedTable
from server.warehouses.attached.survey import SurveyText
from server.warehouses.dialects import Bindings, ColumnKind, SqlDialect
from server.warehouses.engines.adbc import options_of
from server.warehouses.engines.bigquery import BIGQUERY
from server.warehouses.engines.snowflake import KEPT, SNOWFLAKE
from server.warehouses.opening import open_source
from server.warehouses.statements import MOST_LISTED, PartSpans, StatementText
from server.warehouses.warehouse import SqlStatement, StatementRefused
from tests.support.checks.statements import hold_to_lock

INSTANT = {"snowflake": "2026-03-01 05:15:00.123", "bigquery": "2026-03-01 05:15:00.123+00"}
TABLE = AttachedTable(
    binding="gl",
    domain="gl",
    name=("FINANCE", "GL_LINES"),
    scenario=AttachedColumn(key=SCENARIO, kind=ColumnKind.CODE, sources=("SZENARIO",)),
    columns=(
        AttachedColumn(key=DATE, kind=ColumnKind.DAY, sources=("POSTED",)),
        AttachedColumn(key="account", kind=ColumnKind.CODE, sources=("KONTO",)),
        AttachedColumn(key="amount", kind=ColumnKind.AMOUNT, sources=("SOLL", "HABEN"), places=2),
        AttachedColumn(key="memo", kind=ColumnKind.TEXT, sources=("MEMO",)),
    ),
    blank="none",
    change=None,
)
IDS = {"account": ["", *(f"it's \\ {code}" for code in range(1, 3 * MOST_LISTED))]}
JANUARY = Span(date(2024, 1, 1), date(2024, 1, 31))
FEW = Cell.where("account", CodeSet(frozenset({1, 2})))
MANY = Cell.where("account", CodeSet(frozenset(range(1, 5 + 2 * MOST_LISTED))))
PARTS = frozenset({24289, 24290, 24291})
clouds = pytest.mark.parametrize("dialect", [SNOWFLAKE, BIGQUERY], ids=lambda dialect: dialect.name)


def rows_of(dialect: SqlDialect) -> AttachedRows:
    """Return the rows of three months at a version."""
    table = replace(TABLE, version=INSTANT[dialect.name])
    return AttachedRows(table=table, scenario="actual", months=PARTS, ids=IDS)


def questions(dialect: SqlDialect, within: Cell) -> Iterator[SqlStatement]:
    """Yield the statement of each kind of question."""
    touched, months = PartSpans({24289: 0, 24290: 1}, [24291], [(0, JANUARY)]), sorted(PARTS)
    amount, both = Aggregate("amount"), (Span(date(2024, 2, 1), date(2024, 2, 29)), JANUARY)
    known: dict[str, Any] = {"domain": "gl", "scenario": "actual"}
    groups = {"account": pl.Series([None, 1, 1, 2])}
    last = LastKnownSlice(
        **known, spans=both, periods=(0, 1), windows=((0, 1),), leaves=("account",), keys=("account",),
        aggregates=(amount,), groups=groups,
    )  # fmt: skip
    distinct = DistinctSlice(**known, spans=both, keys=("account",), counted="account", groups=groups)
    some = pl.DataFrame({"account": [1, 2], "memo": [0, 0]})
    leaves = RowSlice(**known, span=JANUARY, columns=(DATE, "account", "memo"), limit=9, leaves=some[["account"]])
    texts = [StatementText(dialect, rows_of(dialect), within) for _ in range(7)]
    yield texts[0].sums(touched, ("account",), (amount,), (amount.column,))
    yield texts[1].last_known(last, touched, ())
    yield texts[2].distinct(distinct, touched)
    yield texts[3].rows(leaves, months, JANUARY, ())
    yield texts[4].days(months)
    yield texts[5].least(months, ["account"])
    yield texts[6].rows(replace(leaves, is_ordered=False), months, JANUARY, ())


@clouds
@pytest.mark.parametrize("within", [FEW, MANY], ids=["few codes", "many codes"])
def test_every_question_reads_the_version_within_the_months_and_the_cell(dialect: SqlDialect, within: Cell) -> None:
    for made in questions(dialect, within):
        hold_to_lock(made, dialect.name, "GL_LINES", PARTS, within, IDS, "actual")
        tables = [
            table
            for table in sqlglot.parse_one(made.text, read=dialect.name).find_all(exp.Table)
            if table.name == "GL_LINES"
        ]
        assert tables
        for table in tables:
            instant = table.args.get("when") or table.args["version"]
            assert [known.name for known in instant.find_all(exp.Literal)] == [INSTANT[dialect.name]]
        assert len(made.text) < 40 * MOST_LISTED  # long lists are bound


@clouds
def test_every_statement_of_a_survey_reads_the_version(dialect: SqlDialect) -> None:
    text = SurveyText(replace(TABLE, version=INSTANT[dialect.name]), dialect, ["account"])
    days = Span(date(2020, 1, 1), date(2029, 12, 31))
    for made in (
        text.judged(days),
        text.members("account"),
        text.days(["account"]),
        text.tokens(),
        text.rollup(["account"]),
    ):
        (table,) = sqlglot.parse_one(made.text, read=dialect.name).find_all(exp.Table)
        assert table.args.get("when") or table.args.get("version")
        assert INSTANT[dialect.name] in made.text
        assert not made.parameters


@clouds
def test_what_the_catalogue_is_asked_is_known_to_its_grammar(dialect: SqlDialect) -> None:
    texts = [dialect.version.format(table=dialect.table_of("FINANCE", "GL_LINES"))]
    if dialect is SNOWFLAKE:  # of BigQuery an interface tells
        names = [dialect.quote_text("it's"), dialect.quote_text("lines")]
        texts += [dialect.columns.format(schema="table_schema = 'S'", table=names[0]), KEPT.format(*names)]
        texts += [dialect.may_change.format(*names)]
    for text in texts:
        assert not list(sqlglot.parse_one(text, read=dialect.name).find_all(exp.Command))


writable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@clouds
@given(text=writable)
def test_a_text_is_one_literal_whatever_it_holds(dialect: SqlDialect, text: str) -> None:
    parsed = sqlglot.parse_one(f"select {dialect.quote_text(text)}", read=dialect.name)
    (literal,) = parsed.expressions
    assert isinstance(literal, exp.Literal)
    assert literal.name == text


@clouds
@given(name=writable.filter(bool))
def test_a_name_is_one_identifier_whatever_it_holds(dialect: SqlDialect, name: str) -> None:
    if dialect is BIGQUERY and set(name) & set("`\\."):
        return  # sqlglot knows no escape within names of BigQuery and splits them, where columns have none of these
    (column,) = sqlglot.parse_one(f"select {dialect.name_of(name)}", read=dialect.name).find_all(exp.Column)
    assert column.name == name


@clouds
@given(ids=st.lists(writable, min_size=1), groups=st.data())
def test_a_list_is_bound_as_one_text_of_its_rows(dialect: SqlDialect, ids: list[str], groups: st.DataObject) -> None:
    numbers = groups.draw(st.lists(st.none() | st.integers(), min_size=len(ids), max_size=len(ids)))
    bindings = Bindings(dialect.parameter)
    dialect.listed(bindings, [ids, numbers], ("tieout_code", "tieout_group"))
    (bound,) = bindings.parameters
    assert json.loads(bound) == [list(row) for row in zip(ids, numbers, strict=True)]


@pytest.mark.parametrize(
    ("kind", "module"), [("snowflake", "adbc_driver_snowflake.dbapi"), ("bigquery", "google.cloud.bigquery")]
)
def test_a_client_that_is_not_installed_is_named(kind: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    source = FeedSource(key="dwh", kind=SourceKind(kind), environment="DWH", has_options=True)
    with pytest.raises(StatementRefused, match=rf"is not installed: .* install 'adbc-driver-{kind}"):
        open_source(source, Path(), {"DWH": "{}"})


@pytest.mark.parametrize("text", ["{", "{1: 2}", "[]", '{"a": 1}'])
def test_options_that_are_no_texts_are_refused_without_them(text: str) -> None:
    with pytest.raises(StatementRefused, match="its options are no JSON object of texts: see `options_env`"):
        options_of(text)
