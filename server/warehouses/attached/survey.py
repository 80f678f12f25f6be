"""The survey of an attached table: its columns, what would be rejected of its rows, and what its months hold.

Nothing is copied but sums: counts, days, magnitudes and tokens of each month, the ids that occur, and rollups.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal

import polars as pl
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from engine.facts.expressions import INT64_LIMIT
from engine.facts.rollups import LEAST_ROWS, SAMPLED_ROWS, choose_rollups
from engine.facts.surveys import SurveyedMonth
from engine.model.calendar.periods import Span
from engine.model.catalogue import Domain
from engine.model.fact_store import DATE, ROWS
from server.base.interfaces import StoreDown
from server.warehouses.attached.rows import (
    NULL_ID,
    SCENARIO,
    UNDATED_MONTH,
    AttachedColumn,
    AttachedRows,
    AttachedTable,
    bucket_of,
    month_of,
    tokens_in,
    tokens_text,
)
from server.warehouses.dialects import ColumnKind, SqlDialect
from server.warehouses.tables import PART, misplaced, plain_name
from server.warehouses.warehouse import SqlStatement

SUM = "Σ "
JUDGED = ("blanks", "finer", f"{SUM}finer", "larger", f"{SUM}larger")  # what is asked of each measure
Read = Callable[[SqlStatement], pa.Table]


class ColumnFault(Struct, frozen=True, kw_only=True):
    """Rows of a table that no figure may be made of: what one column has, in how many rows, and their amount."""

    column: str
    reason: str
    rows: int
    amount: Decimal | None = None

    @property
    def counted(self) -> str:
        """The fault without a value of any row."""
        return f"{self.rows:,} row{'s' if self.rows != 1 else ''}: {self.column} {self.reason}"

    def __str__(self) -> str:
        """Return the fault with its amount."""
        return self.counted if self.amount is None else f"{self.counted}, amount {self.amount.normalize():,f}"


class SurveyText:
    """The statements of a survey."""

    def __init__(self, table: AttachedTable, dialect: SqlDialect, ids: Sequence[str]) -> None:
        self._table = table
        self._dialect = dialect
        self._rows = AttachedRows(table=table, ids=dict.fromkeys(ids, ()))
        self._measures = table.of(ColumnKind.AMOUNT)

    def judged(self, days: Span) -> SqlStatement:
        """Ask for what would be rejected, by scenario: see `faults_in`."""
        dialect, rows = self._dialect, self._rows
        scenario, day = rows.value(self._table.scenario, dialect), rows.day(dialect)
        outside = f"{day} < {dialect.day_of(days.first)} or {day} > {dialect.day_of(days.last)}"
        counted = self._counted
        columns = [scenario, dialect.whole.format("count(*)"), counted(f"{day} is null"), counted(outside)]
        for measure in self._measures:
            held = rows.amount(measure, dialect, exact=False)
            exact = rows.amount(measure, dialect)
            limit = f"{Decimal(INT64_LIMIT - 1).scaleb(-measure.places):f}"
            large = f"abs({exact}) > {dialect.exact.format(dialect.quote_text(limit), measure.places)}"
            columns += [
                counted(f"{held} is null"),
                *(part for test in (f"{held} <> {exact}", large) for part in (counted(test), self._summed(held, test))),
            ]
        named = ", ".join(f"{column} as tieout_j{at}" for at, column in enumerate(columns))
        return SqlStatement(f"select {named} {rows.base(dialect)} group by {scenario}")

    def _summed(self, amount: str, test: str) -> str:
        return self._dialect.as_text.format(f"sum(case when {test} then {amount} end)")

    def members(self, dimension: str) -> SqlStatement:
        """Ask for the ids of a dimension, how many rows have each, and the sum of the first measure over them."""
        name, dialect = self._dialect.name_of, self._dialect
        column = name(plain_name(dimension))
        amount = "0"
        if self._measures:
            amount = f"coalesce(sum({dialect.wide.format(name(plain_name(self._measures[0].key)))}), 0)"
        return SqlStatement(
            f"select {column}, {dialect.whole.format('count(*)')} as tieout_count, "
            f"{dialect.as_text.format(amount)} as tieout_amount from {self._rows.source(dialect)} group by {column}"
        )

    def days(self, dimensions: Sequence[str]) -> SqlStatement:
        """Ask, by scenario, month and day, for rows; Σ and number of each measure; rows without each dimension."""
        name, dialect = self._dialect.name_of, self._dialect
        keys = [name(SCENARIO), name(PART), name(plain_name(DATE))]
        columns = [*keys, dialect.whole.format("count(*)")]
        for measure in self._measures:
            amount = name(plain_name(measure.key))
            magnitude = f"coalesce(sum(abs({dialect.wide.format(amount)})), 0)"
            columns += [dialect.as_text.format(magnitude), dialect.whole.format(f"count({amount})")]
        columns += [self._counted(f"{name(plain_name(key))} = ''") for key in dimensions]
        named = ", ".join(
            column if at < len(keys) else f"{column} as tieout_d{at}" for at, column in enumerate(columns)
        )
        return SqlStatement(f"select {named} from {self._rows.source(dialect)} group by {', '.join(keys)}")

    def tokens(self) -> SqlStatement:
        """Ask for the token of each scenario and month."""
        name, dialect = self._dialect.name_of, self._dialect
        return SqlStatement(
            f"select {name(SCENARIO)}, {tokens_text(self._rows, dialect)} from {self._rows.source(dialect)} "
            f"group by {name(SCENARIO)}, {name(PART)}"
        )

    def rollup(self, dimensions: Sequence[str]) -> SqlStatement:
        """Ask for the sums of each scenario and month by some dimensions."""
        name, dialect = self._dialect.name_of, self._dialect
        keys = ", ".join((name(SCENARIO), name(PART), *(name(plain_name(key)) for key in dimensions)))
        sums = (f"coalesce(sum({name(plain_name(measure.key))}), 0)" for measure in self._measures)
        totals = [dialect.whole.format(total) for total in (*sums, "count(*)")]
        named = ", ".join(f"{total} as tieout_r{at}" for at, total in enumerate(totals))
        return SqlStatement(
            f"select {keys}, {named} from {self._rows.source(dialect)} "
            f"where {name(PART)} <> {UNDATED_MONTH} group by {keys}"
        )

    def sample(self, month: SurveyedMonth, dimensions: Sequence[str]) -> SqlStatement:
        """Ask for the ids of some rows of a month."""
        name, part = self._dialect.name_of, month_of(month.bucket)
        rows = replace(self._rows, scenario=month.scenario, months=frozenset({part}))
        columns = ", ".join(name(plain_name(key)) for key in dimensions)
        return SqlStatement(
            f"select {columns} from {rows.source(self._dialect)} where {name(PART)} = {part} limit {SAMPLED_ROWS}"
        )

    def _counted(self, test: str) -> str:
        return self._dialect.whole.format(f"coalesce(sum(case when {test} then 1 else 0 end), 0)")


def faults_in(
    found: pa.Table, table: AttachedTable, scenarios: Sequence[str], *, keeps_undated: bool
) -> Iterator[ColumnFault]:
    """Yield what would be rejected of the rows that `SurveyText.judged` asked about."""
    of_scenario = words_of(table.scenario)
    sums: list[list[Decimal]] = []
    measures = range(len(table.of(ColumnKind.AMOUNT)))
    of_amounts = [f"{what} of amount {at}" for at in measures for what in JUDGED]
    frame = named(found, [SCENARIO, ROWS, "undated", "outside", *of_amounts])
    refuse_parts(frame, [name for name in frame.columns[1:] if not name.startswith(SUM)])
    for scenario, rows, *rest in frame.iter_rows():
        if scenario not in scenarios:
            reason = f"'{scenario}' is no scenario of scenarios.yaml" if scenario else "is missing"
            yield ColumnFault(column=of_scenario, reason=reason, rows=int(rows))
        sums.append([Decimal(value or 0) for value in rest])
    undated, outside, *of_measures = (sum(values) for values in zip(*sums, strict=True))
    of_day = words_of(table.columns[0])
    if undated and not keeps_undated:
        yield ColumnFault(column=of_day, reason="is missing", rows=int(undated))
    if outside:
        yield ColumnFault(column=of_day, reason="is outside the calendar", rows=int(outside))
    for at, measure in enumerate(table.of(ColumnKind.AMOUNT)):
        blank, fine, of_fine, large, of_large = of_measures[5 * at : 5 * at + 5]
        column = words_of(measure)
        if blank and table.blank == "reject":
            yield ColumnFault(column=column, reason="is missing", rows=int(blank))
        if fine:
            reason = f"has more than {measure.places} decimal places"
            yield ColumnFault(column=column, reason=reason, rows=int(fine), amount=Decimal(of_fine))
        if large:
            yield ColumnFault(column=column, reason="is too large", rows=int(large), amount=Decimal(of_large))


def words_of(column: AttachedColumn) -> str:
    """Return the columns of the table that make a column, as messages name them."""
    return " − ".join(column.sources) or column.key


class FoundIds(Struct, frozen=True, kw_only=True):
    """The ids of a dimension that occur, with the number of their rows and their amount in units."""

    ids: pl.Series
    rows: pl.Series
    amounts: pl.Series

    @classmethod
    def of(cls, found: pa.Table) -> "FoundIds":
        """Return the ids of an answer to `SurveyText.members`, without the rows that have none."""
        frame = wholes(named(found, ["id", "rows", "amount"]), ["rows", "amount"]).cast({"id": pl.String})
        frame = frame.filter(pl.col("id") != NULL_ID)
        return cls(ids=frame["id"], rows=frame["rows"], amounts=frame["amount"])

    def strangers(self, known: pl.Series) -> Iterator[tuple[str, int, int]]:
        """Yield the ids that are not known, with their rows and amounts, the most rows first."""
        frame = pl.DataFrame({"id": self.ids, "rows": self.rows, "amount": self.amounts})
        strange = frame.filter(~pl.col("id").is_in(known.implode())).sort("rows", "id", descending=[True, False])
        for id_, rows, amount in strange.iter_rows():
            yield id_, rows, int(amount)


def named(found: pa.Table, names: Sequence[str], keys: Sequence[str] = ()) -> pl.DataFrame:
    """Return an answer with the names of its question, by position; `keys` are columns, not sums.

    Raises StoreDown if it has another number of columns, or another order.
    """
    if found.num_columns != len(names):
        raise StoreDown(f"the engine answers with {found.num_columns} columns where {len(names)} were asked for")
    if name := misplaced(found.column_names, keys):
        raise StoreDown(f"the engine answers with columns in another order: {name} stands in the place of another")
    return pl.DataFrame(found.rename_columns(list(names)))


def wholes(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return an answer whose texts of whole numbers are numbers. Raises StoreDown if a value would change."""
    refuse_parts(frame, columns)
    return frame.with_columns(pl.col(name).cast(pl.Int128) for name in columns if frame.schema[name] == pl.String)


def refuse_parts(frame: pl.DataFrame, columns: Sequence[str]) -> None:
    """Raise StoreDown if a column that was asked for as whole numbers holds another value."""
    for name in columns:
        column = frame[name]
        made = column.cast(pl.Int128, strict=False)
        alike = (made.cast(column.dtype, strict=False) == column).fill_null(column.is_null())
        if column.dtype.is_float() or not alike.all():
            raise StoreDown(f"the engine answers with {name} as {column.dtype} where whole numbers were asked for")


def months_of(read: Read, text: SurveyText, table: AttachedTable, domain: Domain) -> Iterator[SurveyedMonth]:
    """Yield what each scenario and month holds, in their order."""
    measures, dimensions = [column.key for column in table.of(ColumnKind.AMOUNT)], list(domain.dimensions)
    tokens = read(text.tokens())
    scenarios = tokens.column(0).to_pylist()
    known = {(scenario, *month): token for scenario, (*month, token) in zip(scenarios, tokens_in(tokens), strict=True)}
    months = [
        SurveyedMonth(
            scenario=row[SCENARIO],
            bucket=bucket_of(row[PART]),
            rows=row[ROWS],
            days=tuple(row["days"]),
            magnitudes={key: int(row[f"size of {key}"]) for key in measures},
            unassigned=tuple(key for key in dimensions if row[f"without {key}"]),
            blanks=tuple(key for key in measures if row[f"number of {key}"] < row[ROWS]),
            token=known[row[SCENARIO], row[PART]],
        )
        for row in monthly(read(text.days(dimensions)), measures, dimensions).iter_rows(named=True)
    ]
    least, wanted = 0, domain.rollups
    if wanted is None:  # as a load chooses them, from the rows of the largest months

        def sample(month: SurveyedMonth) -> pl.DataFrame:
            return pl.DataFrame(read(text.sample(month, dimensions)).rename_columns(dimensions))

        least, wanted = LEAST_ROWS, choose_rollups(domain, months, sample)
    fits = all(held < INT64_LIMIT for month in months for held in month.magnitudes.values())
    rollups = {keys: rolled_up(read(text.rollup(keys)), keys, measures) for keys in wanted if fits}
    for month in months:
        of = month.scenario, month_of(month.bucket)
        sums = {keys: found[of] for keys, found in rollups.items() if of in found and month.rows >= least}
        yield replace(month, rollups=sums)


def monthly(found: pa.Table, measures: Sequence[str], dimensions: Sequence[str]) -> pl.DataFrame:
    """Return the answer to `SurveyText.days` by scenario and month: rows, days, sizes and numbers of amounts."""
    sizes, numbers = [f"size of {key}" for key in measures], [f"number of {key}" for key in measures]
    of_measures = [name for pair in zip(sizes, numbers, strict=True) for name in pair]
    without = [f"without {key}" for key in dimensions]
    frame = named(found, [SCENARIO, PART, DATE, ROWS, *of_measures, *without], [SCENARIO, PART, DATE])
    frame = wholes(frame, [ROWS, *of_measures, *without])
    days = pl.col(DATE).dt.day().drop_nulls().sort().alias("days")
    summed = frame.group_by(SCENARIO, PART).agg(days, pl.col(ROWS, *of_measures, *without).sum())
    return summed.sort(SCENARIO, PART)


def rolled_up(
    found: pa.Table, dimensions: Sequence[str], measures: Sequence[str]
) -> Mapping[tuple[str, int], pl.DataFrame]:
    """Return the sums of each scenario and month by the ids of some dimensions."""
    frame = named(found, [SCENARIO, PART, *dimensions, *measures, ROWS], [SCENARIO, PART, *dimensions])
    refuse_parts(frame, [*measures, ROWS])
    parts = frame.partition_by(SCENARIO, PART, as_dict=True, include_key=False)
    return {(str(scenario), int(month)): part for (scenario, month), part in parts.items()}
