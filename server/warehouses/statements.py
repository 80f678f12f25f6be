"""Statements: the SQL of each question about the facts of a domain.

Every select that reads the table names the parts that it may read, and restricts the rows to the cell, unless the cell
contains every row. Aliases begin with `tieout_`, which no column does: ClickHouse reads an alias as its expression.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

import polars as pl
from msgspec import Struct

from engine.model.calendar.periods import Span
from engine.model.errors import BadArguments, Unavailable
from engine.model.fact_store import DATE, Aggregate, AggregateFunction, DistinctSlice, LastKnownSlice, RowSlice
from engine.model.scope import AmountRange, Cell, CodeSet, Conjunction
from engine.model.stopping import watched
from server.warehouses.dialects import Bindings, SqlDialect
from server.warehouses.tables import PART
from server.warehouses.warehouse import SqlStatement

MOST_LISTED = 1_000  # integers that a statement lists; more are bound, or kept as a table
MOST_READS = 400_000  # intervals of days that one statement lists, each window of last known values with its own
FOLDS = {AggregateFunction.SUM: "sum", AggregateFunction.MIN: "min", AggregateFunction.MAX: "max"}
SPAN_OF, ROWS_OF, PERIOD_OF = "tieout_span", "tieout_rows", "tieout_period"


class PartSpans(Struct, frozen=True):
    """The parts that a question reads: those that lie wholly in one span, with its position, and those that are cut."""

    whole: Mapping[int, int]
    cut: Sequence[int]
    spans: Sequence[tuple[int, Span]]  # of the parts that are cut: positions and days, ascending


def reads_of(asked: LastKnownSlice) -> list[tuple[int, int, int]]:
    """Return the span, window and period of each span that a window reads.

    Raises BadArguments if they are more than one statement lists.
    """
    count = sum(len(read) for read in watched(asked.windows))
    if count > MOST_READS:
        raise BadArguments(
            f"The {len(asked.windows):,} windows of last known values would read {count:,} intervals of days, more "
            f"than the {MOST_READS:,} that one statement of the engine lists. To get fewer, break down by longer "
            "periods, such as months; or choose a shorter range.",
            field="period_start",
        )
    return [(at, window, asked.periods[at]) for window, read in watched(enumerate(asked.windows)) for at in read]


class StatementSource(Protocol):
    """Rows of facts as statements read them: columns with names of their own, PART, and members as values."""

    @property
    def name(self) -> tuple[str, ...]:
        """The name of the table, after its schema."""

    def named(self, key: str) -> str | None:
        """Return the name of the column of a key, None if there is none."""

    def source(self, dialect: SqlDialect) -> str:
        """Return what stands after `from`."""

    def values(self, dimension: str, codes: Iterable[int]) -> Sequence[int] | Sequence[str]:
        """Return how the rows write some members of a dimension, by their codes and in their order."""

    def ranks(self, keys: Iterable[str]) -> Mapping[str, pl.Series]:
        """Return the ranks of the codes of some columns, of those whose values do not ascend as codes do."""


class StatementText:
    """The text of one statement about the rows of a table inside a cell."""

    def __init__(self, dialect: SqlDialect, table: StatementSource, within: Cell) -> None:
        self._dialect = dialect
        self._table = table
        self._within = within
        self._bound = Bindings(dialect.parameter)

    # Questions.

    def sums(
        self, touched: PartSpans, keys: Sequence[str], aggregates: Sequence[Aggregate], wide: Collection[str]
    ) -> SqlStatement:
        """Ask for SPAN, the codes of the keys, the aggregates and ROWS."""
        columns = [SPAN_OF, *map(self.column, keys), *self._totals(aggregates, wide, folds=False)]
        return self._made(
            f"select {', '.join(columns)}, {self._whole(ROWS_OF)} as tieout_count "
            f"from {self._spanned(touched, keys, aggregates, wide)} as tieout_found"
        )

    def last_known(self, asked: LastKnownSlice, touched: PartSpans, wide: Collection[str]) -> SqlStatement:
        """Ask for the window, the period, the codes or groups of the keys, the aggregates and ROWS."""
        keys = sorted({*asked.keys, *asked.leaves})
        reads = reads_of(asked)
        listed = self._listed(list(zip(*reads, strict=True)) or [[]] * 3, ("tieout_read", "tieout_window", PERIOD_OF))
        leaves = ", ".join(("tieout_window", *map(self.column, asked.leaves)))
        columns, joins = self._grouped(asked.keys, asked.groups)
        grouped = ", ".join(("tieout_window", PERIOD_OF, *columns))
        totals = ", ".join(
            (*self._totals(asked.aggregates, wide, folds=True), f"{self._whole(f'sum({ROWS_OF})')} as tieout_count")
        )
        return self._made(
            f"select {grouped}, {totals} from ("
            f"select *, max({PERIOD_OF}) over (partition by {leaves}) as tieout_latest "
            f"from {self._spanned(touched, keys, asked.aggregates, wide)} as tieout_found "
            f"join {listed} as tieout_reads on {SPAN_OF} = tieout_read"
            f") as tieout_known{joins} where {PERIOD_OF} = tieout_latest group by {grouped} limit {asked.most + 1}"
        )

    def distinct(self, asked: DistinctSlice, touched: PartSpans) -> SqlStatement:
        """Ask for SPAN, the codes or groups of the keys, and the codes counted."""
        keys = tuple(dict.fromkeys((*asked.keys, asked.counted)))
        columns, joins = self._grouped(asked.keys, asked.groups)
        return self._made(
            f"select distinct {', '.join((SPAN_OF, *columns))}, {self.column(asked.counted)} as tieout_value "
            f"from {self._spanned(touched, keys, (), ())} as tieout_known{joins} limit {asked.most + 1}"
        )

    def rows(self, asked: RowSlice, parts: Sequence[int], span: Span | None, sort: Sequence[str]) -> SqlStatement:
        """Ask for columns of rows in the order of a RowSlice, if any; `span` restricts parts partly outside."""
        tests = [*self._tests(parts), *([self._in_days(span)] if span else [])]
        leaves = asked.leaves
        if leaves is not None:
            names = [f"tieout_leaf{at}" for at in range(leaves.width)]
            if leaves.width and leaves.height:
                listed = self._listed([self._table.values(key, leaves[key]) for key in leaves.columns], names)
                named = ", ".join(map(self.column, leaves.columns))
                row = self._dialect.row.format(", ".join(names)) if leaves.width > 1 else names[0]
                tests.append(f"({named}) in (select {row} from {listed} as tieout_leaves)")
            else:
                tests.append("1 = 1" if leaves.height else "1 = 0")
        order, joins = [f"{self._dialect.month.format(self.column(DATE))} asc nulls last"], ""
        ordered = tuple(dict.fromkeys((*sort, DATE, *asked.columns))) if asked.is_ordered else ()
        ranks = {**self._table.ranks(ordered), **asked.ranks}
        for at, key in enumerate(ordered):
            ranked = f"tieout_rank{at}"
            if key in ranks:
                joins += self._joined(key, ranks[key], f"tieout_ranks{at}", f"tieout_ranked{at}", ranked)
            known = ranked if key in ranks else self.column(key)
            order.append(f"{known} asc nulls first")
        return self._made(
            f"select {', '.join(map(self.column, asked.columns))} from {self._source()}{joins} "
            f"where {' and '.join(tests)}{' order by ' + ', '.join(order) if asked.is_ordered else ''}"
            f"{'' if asked.limit is None else f' limit {asked.limit}'}"
        )

    def days(self, parts: Sequence[int]) -> SqlStatement:
        """Ask for the days of rows, null for those without, and how many there are of each."""
        day = self.column(DATE)
        return self._made(
            f"select {day}, {self._whole('count(*)')} as {ROWS_OF} from {self._source()} "
            f"where {' and '.join(self._tests(parts))} group by {day}"
        )

    def codes(self, parts: Sequence[int], dimension: str) -> SqlStatement:
        """Ask for the codes of a dimension that occur."""
        tests = " and ".join(self._tests(parts))
        return self._made(f"select distinct {self.column(dimension)} from {self._source()} where {tests}")

    def least(self, parts: Sequence[int], dimensions: Sequence[str]) -> SqlStatement:
        """Ask for the least code of each of some dimensions, null if there are no rows."""
        least = (f"min({self.column(key)}) as tieout_least{at}" for at, key in enumerate(dimensions))
        return self._made(f"select {', '.join(least)} from {self._source()} where {' and '.join(self._tests(parts))}")

    # The rows of a question.

    def column(self, key: str) -> str:
        """Return the column of a key. Raises Unavailable if the table has none."""
        name = self._table.named(key)
        if name is None:
            raise Unavailable(
                f"{'.'.join(self._table.name)} has no column of {key}; load the feeds of its domain again."
            )
        return self._dialect.name_of(name)

    def _source(self) -> str:
        return self._table.source(self._dialect)

    def _tests(self, parts: Sequence[int]) -> list[str]:
        """Return the tests of every select that reads the table: its parts, and the cell."""
        named = self._among(self._dialect.name_of(PART), parts)
        return [named] if self._within.is_everything else [named, f"({self._inside()})"]

    def _inside(self) -> str:
        return " or ".join(f"({self._allowed(part)})" for part in watched(self._within)) or "1 = 0"

    def _allowed(self, part: Conjunction) -> str:
        codes = (self._of_codes(dimension, codes) for dimension, codes in part.by_dimension)
        return " and ".join((*codes, *map(self._in_range, part.amounts))) or "1 = 1"

    def _of_codes(self, dimension: str, codes: CodeSet) -> str:
        listed = self._table.values(dimension, sorted(codes.codes))
        return self._among(self.column(dimension), listed, negated="not " if codes.complement else "")

    def _in_range(self, known: AmountRange) -> str:
        tested = f"{self.column(known.measure)} between {known.least} and {known.most}"
        return f"not ({tested})" if known.complement else tested

    def _in_days(self, span: Span) -> str:
        first, last = self._dialect.day_of(span.first), self._dialect.day_of(span.last)
        return f"{self.column(DATE)} between {first} and {last}"

    def _among(self, column: str, values: Sequence[Any], *, negated: str = "") -> str:
        if not values:
            return "1 = 1" if negated else "1 = 0"
        if len(values) <= MOST_LISTED:
            return f"{column} {negated}in ({', '.join(map(self._literal, values))})"
        listed = self._listed([values], ("tieout_code",))
        return f"{column} {negated}in (select tieout_code from {listed} as tieout_codes)"

    def _literal(self, value: int | str) -> str:
        return self._dialect.quote_text(value) if isinstance(value, str) else str(value)

    # Sums by span: whole parts by part, cut ones by day.

    def _spanned(
        self, touched: PartSpans, keys: Sequence[str], aggregates: Sequence[Aggregate], wide: Collection[str]
    ) -> str:
        """Return a table of SPAN_OF, the keys, the aggregates and ROWS_OF, one row or more per span and key group."""
        made = []
        if touched.whole:
            part = self._dialect.name_of(PART)
            spans: dict[int, list[int]] = {}
            for number, position in touched.whole.items():
                spans.setdefault(position, []).append(number)
            cases = [
                ("" if len(spans) == 1 else self._among(part, numbers), position) for position, numbers in spans.items()
            ]  # a single one needs no test, which would bind what no text names
            made.append(self._branch(part, cases, self._tests(list(touched.whole)), keys, aggregates, wide))
        if touched.cut:
            cases = [(self._in_days(span), position) for position, span in touched.spans]
            days = " or ".join(self._in_days(span) for span in joined_days(span for _, span in touched.spans))
            tests = [*self._tests(touched.cut), f"({days})"]
            made.append(self._branch(self.column(DATE), cases, tests, keys, aggregates, wide))
        return f"({' union all '.join(made)})"

    def _branch(
        self,
        by: str,
        cases: Sequence[tuple[str, int]],
        tests: Sequence[str],
        keys: Sequence[str],
        aggregates: Sequence[Aggregate],
        wide: Collection[str],
    ) -> str:
        """Return sums by span of what lies in the spans of `cases`: summed by a column first, which tells the span."""
        named = [self.column(key) for key in keys]
        only, first = (
            len(cases) == 1,
            ("tieout_sum", ROWS_OF) if len(cases) == 1 else ("tieout_piece", "tieout_counted"),
        )
        found = [self._aggregated(known, f"{first[0]}{at}", wide) for at, known in enumerate(aggregates)]
        columns = [
            f"{cases[0][1]} as {SPAN_OF}" if only else by,
            *named,
            *found,
            f"{self._dialect.count} as {first[1]}",
        ]
        summed = f"select {', '.join(columns)} from {self._source()} where {' and '.join(tests)}"
        if only:
            grouped = f" group by {', '.join(named)}" if named else ""
            return f"{summed}{grouped} having count(*) > 0"
        at_span = " ".join(f"when {test} then {position}" for test, position in watched(cases))
        pieces = [f"tieout_piece{at}" for at in range(len(aggregates))]
        placed = ", ".join([f"case {at_span} end as {SPAN_OF}", *named, *pieces, "tieout_counted"])
        folds = [f"{FOLDS[known.how]}({pieces[at]}) as tieout_sum{at}" for at, known in enumerate(aggregates)]
        outer = ", ".join([SPAN_OF, *named, *folds, f"sum(tieout_counted) as {ROWS_OF}"])
        return (
            f"select {outer} from (select {placed} from ({summed} group by {', '.join([by, *named])}) as tieout_summed"
            f") as tieout_placed group by {', '.join([SPAN_OF, *named])}"
        )

    def _aggregated(self, known: Aggregate, name: str, wide: Collection[str]) -> str:
        amount = self.column(known.measure)
        amount = self._dialect.wide.format(amount) if known.column in wide else amount
        return f"{FOLDS[known.how]}({amount}) as {name}"

    def _totals(self, aggregates: Sequence[Aggregate], wide: Collection[str], *, folds: bool) -> list[str]:
        """Return the aggregates as they leave the engine: integers, wide ones as text; no amounts add up to 0."""
        found = []
        for at, known in enumerate(aggregates):
            total = f"{FOLDS[known.how]}(tieout_sum{at})" if folds else f"tieout_sum{at}"
            total = f"coalesce({total}, 0)" if known.how is AggregateFunction.SUM else total
            made = self._dialect.as_text.format(total) if known.column in wide else self._whole(total)
            found.append(f"{made} as tieout_total{at}")
        return found

    # Groups, ranks and lists.

    def _grouped(self, keys: Sequence[str], groups: Mapping[str, pl.Series]) -> tuple[list[str], str]:
        """Return the keys, as codes or groups, and the joins with the groups of codes."""
        columns, joins = [], ""
        for at, key in enumerate(keys):
            if key not in groups:
                columns.append(self.column(key))
                continue
            joins += self._joined(key, groups[key], f"tieout_groups{at}", f"tieout_grouped{at}", f"tieout_group{at}")
            columns.append(f"tieout_group{at}")
        return columns, joins

    def _joined(self, key: str, of_code: pl.Series, table: str, code: str, value: str) -> str:
        """Return the join that brings the value of each code of a key."""
        listed = self._listed([self._table.values(key, range(len(of_code))), of_code.to_list()], (code, value))
        return f" join {listed} as {table} on {self.column(key)} = {code}"

    def _listed(self, columns: Sequence[Sequence[Any]], names: Sequence[str]) -> str:
        return self._dialect.listed(self._bound, columns, names)

    def _whole(self, value: str) -> str:
        return self._dialect.whole.format(value)

    def _made(self, text: str) -> SqlStatement:
        return SqlStatement(text, self._bound.parameters, self._bound.sets)


def joined_days(spans: Iterable[Span]) -> list[Span]:
    """Return spans that ascend, those that touch as one."""
    found: list[Span] = []
    for span in spans:
        if found and found[-1].last.toordinal() + 1 == span.first.toordinal():
            found[-1] = Span(found[-1].first, span.last)
        else:
            found.append(span)
    return found
