"""The facts of one version in DuckDB, in process: a second implementation of FactStore that answers with SQL.

It proves the seam: whatever holds for the Arrow store without being said in engine/model/fact_store.py does not hold
here. Rows lie in one table a domain, with the scenario and the load of their partition beside them.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from engine.facts.expressions import code_type
from engine.facts.manifest import Manifest, Partition
from engine.model.calendar.periods import WITHOUT_DATE, Span
from engine.model.catalogue import Domain
from engine.model.fact_store import (
    DATE,
    PERIOD,
    ROWS,
    SPAN,
    VALUE,
    Aggregate,
    AggregateFunction,
    DistinctSlice,
    LastKnownSlice,
    Presence,
    Question,
    RowSlice,
    Slice,
    SumTooLarge,
    answer,
    refuse_too_many_groups,
)
from engine.model.scope import AmountRange, Cell, CodeSet, Conjunction
from engine.model.stopping import Stop

INT64_LIMIT, INT128_LIMIT = 2**63, 2**127
SCENARIO, LOAD = "scenario_of_row", "load_of_row"


def quoted(name: str) -> str:
    """Return a name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def in_days(span: Span) -> str:
    """Return the test for the days of a span, or for rows without a date."""
    if span == WITHOUT_DATE:
        return f"{quoted(DATE)} is null"
    return f"{quoted(DATE)} between date '{span.first:%Y-%m-%d}' and date '{span.last:%Y-%m-%d}'"


def inside(cell: Cell) -> str:
    """Return the test for the rows of a cell."""
    return " or ".join(f"({allowed(part)})" for part in cell) or "false"


def allowed(part: Conjunction) -> str:
    """Return the test for the rows of one part of a cell."""
    codes = (among(dimension, codes) for dimension, codes in part.by_dimension)
    return " and ".join((*codes, *map(in_range, part.amounts))) or "true"


def in_range(known: AmountRange) -> str:
    """Return the test for amounts of one measure."""
    tested = f"{quoted(known.measure)} between {known.least} and {known.most}"
    return f"not ({tested})" if known.complement else tested


def among(dimension: str, codes: CodeSet) -> str:
    """Return the test for codes of one dimension."""
    listed = ", ".join(map(str, sorted(codes.codes)))
    return f"{quoted(dimension)} {'not in' if codes.complement else 'in'} ({listed})"


class DuckFacts:
    """The facts of one version in DuckDB; see FactStore."""

    def __init__(self, root: Path, manifest: Manifest, domains: Mapping[str, Domain]) -> None:
        self._domains = domains
        self._types = {dimension: code_type(codes.count) for dimension, codes in manifest.codes.items()}
        self._partitions = manifest.facts
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

    def collect(self, questions: Sequence[Question], stop: Stop) -> list[pl.DataFrame]:
        """Return the answers to all questions, asked at once; see FactStore."""
        stop()
        with ThreadPoolExecutor() as threads:
            found = list(threads.map(lambda question: answer(question, self).collect(), questions))
        stop()
        return found

    def sums(self, asked: Slice, within: Cell) -> pl.LazyFrame:
        """Return one row per span and key group; see FactStore."""
        self._refuse_too_large(asked.domain, asked.scenario, asked.spans, asked.aggregates)
        names = [quoted(key) for key in asked.keys]
        found = self.query(
            f"select {', '.join([SPAN, *names, *map(aggregated, asked.aggregates), 'count(*)'])} "
            f"from {in_spans(asked.domain, asked.spans, within)} group by {', '.join([SPAN, *names])}",
            asked.scenario,
        )
        return self._sums_frame(found, [SPAN], asked.keys, asked.aggregates, {})

    def last_known(self, asked: LastKnownSlice, within: Cell) -> pl.LazyFrame:
        """Return one row per window, period and key group; see FactStore."""
        self._refuse_too_large(asked.domain, asked.scenario, asked.spans, asked.aggregates)
        reads = [(at, window, asked.periods[at]) for window, read in enumerate(asked.windows) for at in read]
        listed = ", ".join(map(str, reads)) or "(0, 0, null)"
        leaves = ", ".join(["place", *map(quoted, asked.leaves)])
        keys = [grouped(key, asked.groups) for key in asked.keys]
        numbers = ", ".join(map(str, range(1, 3 + len(keys))))
        found = self.query(
            f"select {', '.join(['place', PERIOD, *keys, *map(aggregated, asked.aggregates), 'count(*)'])} from ("
            f"select *, max({PERIOD}) over (partition by {leaves}) as latest "
            f"from {in_spans(asked.domain, asked.spans, within)} as touched "
            f"join (values {listed}) as reads (interval_read, place, {PERIOD}) on touched.{SPAN} = reads.interval_read"
            f") where {PERIOD} = latest group by {numbers} limit {asked.most + 1}",
            asked.scenario,
        )
        refuse_too_many_groups(len(found), asked.most)
        return self._sums_frame(found, [SPAN, PERIOD], asked.keys, asked.aggregates, asked.groups)

    def distinct(self, asked: DistinctSlice, within: Cell) -> pl.LazyFrame:
        """Return one row per span, key group and code of the counted dimension; see FactStore."""
        found = self.query(
            f"select distinct {', '.join([SPAN, *(grouped(key, asked.groups) for key in asked.keys)])}, "
            f"{quoted(asked.counted)} from {in_spans(asked.domain, asked.spans, within)} limit {asked.most + 1}",
            asked.scenario,
        )
        refuse_too_many_groups(len(found), asked.most)
        keys = self._key_types(asked.keys, asked.groups)
        schema = {SPAN: pl.UInt32, **keys, VALUE: self._types.get(asked.counted, pl.UInt8)}
        return pl.LazyFrame(found, schema=schema, orient="row")

    def _key_types(self, keys: Iterable[str], groups: Mapping[str, pl.Series]) -> dict[str, Any]:
        return {key: groups[key].dtype if key in groups else self._types.get(key, pl.UInt8) for key in keys}

    def _sums_frame(
        self,
        found: Sequence[Sequence[Any]],
        positions: Sequence[str],
        keys: Sequence[str],
        aggregates: Sequence[Aggregate],
        groups: Mapping[str, pl.Series],
    ) -> pl.LazyFrame:
        """Return answered sums as a frame: Int128 where a column adds up past 63 bits."""
        first = len(positions) + len(keys)
        amounts = {
            known.column: pl.Int128 if sum(abs(row[at] or 0) for row in found) >= INT64_LIMIT else pl.Int64
            for at, known in enumerate(aggregates, first)
        }
        schema = {**dict.fromkeys(positions, pl.UInt32), **self._key_types(keys, groups), **amounts, ROWS: pl.Int64}
        return pl.LazyFrame(found, schema=schema, orient="row")

    def _refuse_too_large(
        self, domain: str, scenario: str, spans: Sequence[Span], aggregates: Sequence[Aggregate]
    ) -> None:
        """Raise SumTooLarge if the amounts of the months touched could add up past 127 bits."""
        parts = [part for part in self._partitions.get(domain, ()) if part.scenario == scenario]
        dated = [part for part in parts if any(span.holds(day) for span in spans for day in part.dates)]
        touched = dated + [part for part in parts if WITHOUT_DATE in spans and not part.dates]
        for aggregate in aggregates:
            magnitude = sum(part.magnitudes[aggregate.measure] for part in touched)
            if aggregate.how is AggregateFunction.SUM and magnitude >= INT128_LIMIT:
                raise SumTooLarge(f"sums of {domain} could pass 128 bits")

    def rows(self, asked: RowSlice, within: Cell) -> pl.LazyFrame:
        """Return up to `limit` rows in the order of a RowSlice; see FactStore."""
        domain = self._domains[asked.domain]
        among = "true" if asked.leaves is None else listed_leaves(asked.leaves)
        order = [grouped(column, asked.ranks) for column in dict.fromkeys((*domain.sort, DATE, *asked.columns))]
        found = self.query(
            f"select {', '.join(map(quoted, asked.columns))} from {quoted(asked.domain)} "
            f"where {SCENARIO} = ? and ({inside(within)}) and {in_days(asked.span) if asked.span else 'true'} "
            f"and {among} "
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
        """Return the days that have rows; see FactStore."""
        counts = dict(
            self.query(f"select {quoted(DATE)}, count(*) from {rows_inside(domain, within)} group by 1", scenario)
        )
        undated = counts.pop(None, 0)
        return Presence(tuple(sorted(counts)), undated)

    def codes(self, domain: str, scenario: str, dimension: str, within: Cell) -> frozenset[int]:
        """Return the codes of a leaf dimension that some row has."""
        found = self.query(f"select distinct {quoted(dimension)} from {rows_inside(domain, within)}", scenario)
        return frozenset(code for (code,) in found)

    def unassigned(self, domain: str, scenario: str, dimensions: Sequence[str], within: Cell) -> frozenset[str]:
        """Return those of some leaf dimensions of which a row has no member."""
        return frozenset(key for key in dimensions if 0 in self.codes(domain, scenario, key, within))

    def brought_by(self, domain: str, scenario: str, load: str, within: Cell) -> bool:
        """Tell whether a load brought some row."""
        found = self.query(f"select 1 from {rows_inside(domain, within)} where {LOAD} = ? limit 1", scenario, load)
        return bool(found)


def rows_inside(domain: str, cell: Cell) -> str:
    """Return the rows of a scenario inside a cell, as a table; the scenario is the statement's first value."""
    return f"(select * from {quoted(domain)} where {SCENARIO} = ? and ({inside(cell)}))"


def in_spans(domain: str, spans: Sequence[Span], cell: Cell) -> str:
    """Return the rows of a scenario inside a cell that lie in some spans, as a table with the position in SPAN."""
    places = " ".join(f"when {in_days(span)} then {place}" for place, span in enumerate(spans))
    return (
        f"(select * from (select *, case {places or 'when false then 0'} end as {SPAN} "
        f"from {rows_inside(domain, cell)}) where {SPAN} is not null)"
    )


def grouped(key: str, groups: Mapping[str, pl.Series]) -> str:
    """Return a key as SQL writes it: its code, or the group of its code."""
    return f"{groups[key].to_list()}[{quoted(key)}::bigint + 1]" if key in groups else quoted(key)


def listed_leaves(leaves: pl.DataFrame) -> str:
    """Return the test for combinations of leaf codes."""
    if not leaves.width:
        return "true" if leaves.height else "false"
    found = ", ".join(f"({', '.join(map(str, row))})" for row in leaves.iter_rows())
    return f"({', '.join(map(quoted, leaves.columns))}) in ({found})" if found else "false"


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
