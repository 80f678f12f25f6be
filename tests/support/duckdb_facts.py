"""The facts of one version in DuckDB, in process: a second implementation of FactStore that answers with SQL.

It proves the seam: whatever holds for the Arrow store without being said in engine/model/fact_store.py does not hold
here. Rows lie in one table a domain, with the scenario and the load of their partition beside them.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from engine.facts.arrow import code_type
from engine.facts.manifest import Manifest, Partition
from engine.model.calendar.periods import Span
from engine.model.catalogue import Domain
from engine.model.fact_store import DATE, ROWS, SPAN, Aggregate, Presence, RowSlice, Slice
from engine.model.scope import Cell, CodeSet, Conjunction

INT64_LIMIT = 2**63
SCENARIO, LOAD = "scenario_of_row", "load_of_row"


def quoted(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def in_days(span: Span) -> str:
    """Return the test for the days of a span."""
    return f"{quoted(DATE)} between date '{span.first:%Y-%m-%d}' and date '{span.last:%Y-%m-%d}'"


def inside(cell: Cell) -> str:
    """Return the test for the rows of a cell."""
    return " or ".join(f"({allowed(part)})" for part in cell) or "false"


def allowed(part: Conjunction) -> str:
    """Return the test for the rows of one part of a cell."""
    return " and ".join(among(dimension, codes) for dimension, codes in part.by_dimension) or "true"


def among(dimension: str, codes: CodeSet) -> str:
    """Return the test for codes of one dimension."""
    listed = ", ".join(map(str, sorted(codes.codes)))
    return f"{quoted(dimension)} {'not in' if codes.complement else 'in'} ({listed})"


class DuckFacts:
    """The facts of one version in DuckDB; see FactStore."""

    def __init__(self, root: Path, manifest: Manifest, domains: Mapping[str, Domain]) -> None:
        self._domains = domains
        self._types = {dimension: code_type(codes.count) for dimension, codes in manifest.codes.items()}
        self._connection = duckdb.connect()
        for key, domain in domains.items():
            frames = [no_rows(domain), *(rows_of(root, part) for part in manifest.facts.get(key, ()))]
            rows = pl.concat(frames, how="diagonal_relaxed").to_arrow(compat_level=pl.CompatLevel.oldest())
            self._connection.register("rows_of_domain", rows)
            self._connection.execute(f"create table {quoted(key)} as select * from rows_of_domain")
            self._connection.unregister("rows_of_domain")

    def query(self, text: str, *values: str) -> list[tuple[Any, ...]]:
        """Return what a statement finds."""
        return self._connection.cursor().execute(text, values).fetchall()

    def sums(self, asked: Slice, within: Cell) -> pl.LazyFrame:
        """Return one row per span and key group; see FactStore."""
        keys = {key: self._types.get(key, pl.UInt8) for key in asked.keys}
        schema = {SPAN: pl.UInt32, **keys, **dict.fromkeys((known.column for known in asked.aggregates), pl.Int64)}
        made = [SPAN, *map(quoted, asked.keys), *map(aggregated, asked.aggregates), "count(*)"]
        spans = " ".join(f"when {in_days(span)} then {place}" for place, span in enumerate(asked.spans))
        found = self.query(
            f"select {', '.join(made)} from (select *, case {spans or 'when false then 0'} end as {SPAN} "
            f"from {quoted(asked.domain)} where {SCENARIO} = ? and ({inside(within)})) "
            f"where {SPAN} is not null group by {', '.join([SPAN, *map(quoted, asked.keys)])}",
            asked.scenario,
        )
        wide = {
            known.column: pl.Int128
            for place, known in enumerate(asked.aggregates, 1 + len(keys))
            if sum(abs(row[place] or 0) for row in found) >= INT64_LIMIT
        }
        return pl.LazyFrame(found, schema={**schema, **wide, ROWS: pl.Int64}, orient="row")

    def rows(self, asked: RowSlice, within: Cell) -> pl.LazyFrame:
        """Return up to `limit` rows in the order of a RowSlice; see FactStore."""
        domain = self._domains[asked.domain]
        order = dict.fromkeys(map(quoted, (*domain.sort, DATE, *asked.columns)))
        found = self.query(
            f"select {', '.join(map(quoted, asked.columns))} from {quoted(asked.domain)} "
            f"where {SCENARIO} = ? and ({inside(within)}) and {in_days(asked.span) if asked.span else 'true'} "
            f"order by strftime({quoted(DATE)}, '%Y-%m') nulls last, {', '.join(order)} "
            f"{'' if asked.limit is None else f'limit {asked.limit}'}",
            asked.scenario,
        )
        schema = {column: self._row_type(domain, column) for column in asked.columns}
        return pl.LazyFrame(found, schema=schema, orient="row")

    def _row_type(self, domain: Domain, column: str) -> type[pl.DataType]:
        if column in domain.dimensions:
            return self._types.get(column, pl.UInt8)
        return pl.Int64 if column in domain.measures else pl.Date if column == DATE else pl.String

    def presence(self, domain: str, scenario: str, within: Cell) -> Presence:
        """Return on which days rows are held; see FactStore."""
        return DuckPresence(self, domain, scenario, inside(within))


def no_rows(domain: Domain) -> pl.DataFrame:
    """Return the columns that a domain declares: what no load brought is null."""
    codes, amounts = dict.fromkeys(domain.dimensions, pl.UInt32), dict.fromkeys(domain.measures, pl.Int64)
    texts = dict.fromkeys((*domain.texts, SCENARIO, LOAD), pl.String)
    return pl.DataFrame(schema={DATE: pl.Date, **codes, **amounts, **texts})


def rows_of(root: Path, part: Partition) -> pl.DataFrame:
    """Return the rows of a partition with its scenario and load."""
    return pl.read_ipc(root / part.file).with_columns(
        pl.lit(part.scenario).alias(SCENARIO), pl.lit(part.load).alias(LOAD)
    )


def aggregated(aggregate: Aggregate) -> str:
    """Return one aggregate as SQL writes it."""
    return f"{aggregate.how.value}({quoted(aggregate.measure)})"


class DuckPresence:
    """Where a scenario of a domain holds rows inside a cell; see Presence."""

    def __init__(self, facts: DuckFacts, domain: str, scenario: str, test: str) -> None:
        self._facts = facts
        self._scenario = scenario
        self._from = f"from {quoted(domain)} where {SCENARIO} = ? and ({test})"

    def days(self, span: Span) -> Sequence[date]:
        """Return the days of a span that hold rows, ascending."""
        return sorted(self._distinct(DATE, in_days(span)))

    def last(self, span: Span) -> date | None:
        """Return the last day of a span that holds rows."""
        return max(self._distinct(DATE, in_days(span)), default=None)

    def through(self) -> date | None:
        """Return the last day of all that holds rows."""
        return self.last(Span(date.min, date.max))

    def undated(self) -> int:
        """Return how many rows have no date."""
        ((count,),) = self._facts.query(f"select count(*) {self._from} and {quoted(DATE)} is null", self._scenario)
        return int(count)

    def codes(self, dimension: str) -> frozenset[int]:
        """Return the codes of a leaf dimension that some row has."""
        return frozenset(self._distinct(dimension))

    def unassigned(self, dimensions: Sequence[str]) -> frozenset[str]:
        """Return those of some leaf dimensions of which a row has no member."""
        return frozenset(dimension for dimension in dimensions if 0 in self.codes(dimension))

    def brought_by(self, load: str) -> bool:
        """Tell whether a load brought some row."""
        return bool(self._facts.query(f"select 1 {self._from} and {LOAD} = ? limit 1", self._scenario, load))

    def _distinct(self, column: str, test: str = "true") -> list[Any]:
        found = self._facts.query(f"select distinct {quoted(column)} {self._from} and {test}", self._scenario)
        return [value for (value,) in found]
