"""The facts of one version in a warehouse: what files of this machine answer is read there, the rest is asked for.

The manifest decides which partitions a question touches, as it does for the Arrow store. Rollups stay on this machine.
Partitions that they do not answer are parts of the warehouse, and the statements of a report are sent together.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from functools import partial

import polars as pl
import pyarrow as pa
from msgspec import Struct
from msgspec.structs import replace

from engine.facts.arrow import ArrowFacts
from engine.facts.backend import FactsOf
from engine.facts.expressions import INT64_LIMIT
from engine.facts.files import MappedFiles
from engine.facts.frozen import refuse_unfitted
from engine.facts.manifest import Manifest, Partition, TouchedPart, is_whole, magnitude_of, refuse_other_places
from engine.facts.mapped import parts_of_loads, presence_of
from engine.facts.rollups import answering, needed
from engine.model.calendar.periods import Span
from engine.model.catalogue import Domain
from engine.model.errors import Unavailable
from engine.model.fact_store import (
    DATE,
    PERIOD,
    ROWS,
    SPAN,
    VALUE,
    Aggregate,
    DistinctSlice,
    LastKnownSlice,
    Presence,
    PresenceByLoad,
    Question,
    RowSlice,
    Slice,
    SumTooLarge,
    refuse_too_many_groups,
)
from engine.model.members.member_sets import NULL_CODE
from engine.model.scope import Cell
from engine.model.stopping import CURRENT, Stop
from server.base.interfaces import StoreDown
from server.base.waits import WAITS
from server.warehouses.statements import PartSpans, StatementText
from server.warehouses.tables import declared_kinds, misplaced, warehouse_table
from server.warehouses.warehouse import SqlStatement, Warehouse

DAYS = pl.Schema({DATE: pl.Date, ROWS: pl.Int64})  # of rows that are counted by day


class AnswerPlan(Struct, frozen=True, kw_only=True):
    """How a question is answered: what this machine knows, the statement for the rest, and the columns of both."""

    domain: str
    parts: Sequence[Partition]  # that the question touches, wherever they are answered
    schema: pl.Schema
    here: pl.LazyFrame | None = None
    statement: SqlStatement | None = None
    most: int | None = None  # rows that the statement may find
    counted: str | None = None  # dimension of VALUE

    def frame(self, found: pa.Table | None) -> pl.LazyFrame:
        """Return the answer. Raises BadArguments beyond `most` rows."""
        frames = [] if self.here is None else [self.here.cast(self.schema)]
        if found is not None:
            if self.most is not None:
                refuse_too_many_groups(found.num_rows, self.most)
            frames.append(typed(found, self.schema, self.domain).lazy())
        return pl.concat(frames) if frames else pl.LazyFrame(schema=self.schema)


def typed(found: pa.Table, schema: pl.Schema, domain: str) -> pl.DataFrame:
    """Return the rows of a statement with the names and types of an answer, by position.

    Raises Unavailable if the engine answers with other columns, or with values that would change.
    """
    refuse_columns(found, schema, domain)
    frame = pl.DataFrame(found.rename_columns([str(place) for place in range(len(schema))]))
    frame.columns = list(schema)
    for name, dtype in schema.items():
        if not holds(frame[name], dtype):
            raise strange(domain, f"{name} as {frame.schema[name]} where {dtype} was asked for")
    return frame.cast(schema)


def refuse_columns(found: pa.Table, schema: pl.Schema, domain: str) -> None:
    """Raise Unavailable if an answer has another number of columns than its question, or another order of them."""
    if found.num_columns != len(schema):
        raise strange(domain, f"{found.num_columns} columns where {len(schema)} were asked for")
    if name := misplaced(found.column_names, list(schema)):
        raise strange(domain, f"its columns in another order: {name} stands in the place of another")


def holds(column: pl.Series, dtype: pl.DataType) -> bool:
    """Tell whether a type holds every value of a column as it is; a double stands for no integer."""
    if column.dtype == dtype:
        return True
    if dtype.is_integer() and not (column.dtype.is_integer() or column.dtype.is_decimal() or column.dtype == pl.String):
        return column.null_count() == len(column)
    made = column.cast(dtype, strict=False)
    back = made.cast(column.dtype, strict=False)
    return bool((back == column).fill_null(column.is_null() & made.is_null()).all())


def strange(domain: str, what: str) -> Unavailable:
    """Return the failure of an answer that has not the form of its question."""
    return Unavailable(
        f"The rows of facts of {domain} cannot be read: the engine answers with {what}, and a figure made of that "
        "could be wrong. Ask again later; an administrator runs `tieout check --engine`."
    )


class WarehouseFacts:
    """The facts of one version. Implements FactStore."""

    def __init__(
        self,
        files: MappedFiles,
        manifest: Manifest,
        domains: Mapping[str, Domain],
        *,
        warehouse: Warehouse,
        schema: str | None = None,
    ) -> None:
        """`schema` holds the tables, if it is not the one that the login finds by itself."""
        self._here = ArrowFacts(files, manifest, domains)
        self._domains = domains
        self._warehouse = warehouse
        self._tables = {key: warehouse_table(key, declared_kinds(known), schema) for key, known in domains.items()}

    def collect(self, questions: Sequence[Question], stop: Stop) -> list[pl.DataFrame]:
        """Return the answers to all questions; their statements are sent together. See FactStore."""
        stop()
        plans = [self._plan(question) for question in questions]
        frames = []
        for question, plan, found in zip(questions, plans, self._read(plans, stop), strict=True):
            stop()
            frames.append(question.then(plan.frame(found)).collect(engine="in-memory"))
        stop()
        return frames

    def sums(self, asked: Slice, within: Cell) -> pl.LazyFrame:
        """Return one row or more per span and key group; see FactStore."""
        return self._answered(self._sums(asked, within))

    def rows(self, asked: RowSlice, within: Cell) -> pl.LazyFrame:
        """Return up to `limit` rows; see FactStore."""
        return self._answered(self._rows(asked, within))

    def last_known(self, asked: LastKnownSlice, within: Cell) -> pl.LazyFrame:
        """Return one row per window, period and key group; see FactStore."""
        return self._answered(self._last_known(asked, within))

    def distinct(self, asked: DistinctSlice, within: Cell) -> pl.LazyFrame:
        """Return one row per span, key group and code of the counted dimension; see FactStore."""
        return self._answered(self._distinct(asked, within))

    def presence(self, domain: str, scenario: str, within: Cell) -> Presence:
        """Return the days that have rows; the manifest knows them for a cell that contains every row."""
        parts = self._here.partitions(domain, scenario)
        if within.is_everything or within.is_nothing or all(part.file for part in parts):
            return Presence((), 0) if within.is_nothing else self._here.presence(domain, scenario, within)
        return presence_of(self._answered(self._ask(domain, within, parts, DAYS, StatementText.days)).collect().rows())

    def presence_of_loads(self, domain: str, scenario: str, within: Cell, loads: Collection[str]) -> PresenceByLoad:
        """Return the days that have rows of each of some loads; see FactStore. The statements are sent together."""
        by_load = parts_of_loads(self._here.partitions(domain, scenario), loads)
        if within.is_nothing or all(part.file for parts in by_load.values() for part in parts):
            return self._here.presence_of_loads(domain, scenario, within, loads)
        plans = {load: self._ask(domain, within, parts, DAYS, StatementText.days) for load, parts in by_load.items()}
        found = zip(plans, self._read([*plans.values()], CURRENT.get()), strict=True)
        return {load: presence_of(plans[load].frame(rows).collect().rows()) for load, rows in found}

    def codes(self, domain: str, scenario: str, dimension: str, within: Cell) -> frozenset[int]:
        """Return the codes of a leaf dimension that occur in the rows; see FactStore."""
        if within.is_nothing:
            return frozenset()
        dimensions = within.dimensions | {dimension}
        parts = self._here.partitions(domain, scenario)
        here = [part for part in parts if part.file or answering(part, dimensions)]
        away = [part for part in parts if part not in here]
        found = self._here.codes_of(here, domain, dimension, within)
        if not away:
            return found
        schema = pl.Schema({dimension: self._here.code_type(dimension)})
        plan = self._ask(domain, within, away, schema, lambda text, held: text.codes(held, dimension))
        return found | frozenset(self._answered(plan).collect()[dimension])

    def unassigned(self, domain: str, scenario: str, dimensions: Sequence[str], within: Cell) -> frozenset[str]:
        """Return the leaf dimensions for which some row has no member; the manifest knows those of each partition."""
        parts = [part for part in self._here.partitions(domain, scenario) if part.unassigned is None or part.unassigned]
        keys = [key for key in dimensions if any(part.unassigned is None or key in part.unassigned for part in parts)]
        if within.is_nothing or not keys:
            return frozenset()
        if all(part.file or (within.is_everything and part.unassigned is not None) for part in parts):
            return self._here.unassigned(domain, scenario, dimensions, within)
        schema = pl.Schema({key: self._here.code_type(key) for key in keys})
        plan = self._ask(domain, within, parts, schema, lambda text, held: text.least(held, keys))
        least = self._answered(plan).collect().row(0, named=True)
        return frozenset(key for key, code in least.items() if code == NULL_CODE)

    # Plans of answers.

    def _plan(self, question: Question) -> AnswerPlan:
        match question.asked:
            case Slice() as asked:
                return self._sums(asked, question.within)
            case RowSlice() as asked:
                return self._rows(asked, question.within)
            case LastKnownSlice() as asked:
                return self._last_known(asked, question.within)
            case DistinctSlice() as asked:
                return self._distinct(asked, question.within)

    def _sums(self, asked: Slice, within: Cell) -> AnswerPlan:
        touched = self._here.touched(asked.domain, asked.scenario, asked.spans, within)
        wide = wide_sums(asked.aggregates, touched, self._warehouse.dialect.widest)
        schema = self._schema([SPAN], asked.keys, {}, amounts(asked.aggregates, wide))
        here, away = split(touched, needed(asked, within))
        return AnswerPlan(
            domain=asked.domain,
            parts=parts_of(touched),
            schema=schema,
            here=self._here.sums_of(here, asked, within) if here else None,
            statement=self._text(asked.domain, away, within, [*asked.keys]).sums(
                touched_of(away, asked.spans), asked.keys, asked.aggregates, wide
            )
            if away
            else None,
        )

    def _last_known(self, asked: LastKnownSlice, within: Cell) -> AnswerPlan:
        keys = tuple(dict.fromkeys((*asked.keys, *asked.leaves)))
        touched = self._here.touched(asked.domain, asked.scenario, asked.spans, within)
        wide = wide_sums(asked.aggregates, touched, self._warehouse.dialect.widest)
        schema = self._schema([SPAN, PERIOD], asked.keys, asked.groups, amounts(asked.aggregates, wide))
        by_leaf = Slice(
            domain=asked.domain, scenario=asked.scenario, spans=asked.spans, keys=keys, aggregates=asked.aggregates
        )
        _, away = split(touched, needed(by_leaf, within))
        plan = AnswerPlan(domain=asked.domain, parts=parts_of(touched), schema=schema, most=asked.most)
        if not away:
            return replace(plan, here=self._here.last_known(asked, within))
        text = self._text(asked.domain, touched, within, keys)
        return replace(plan, statement=text.last_known(asked, touched_of(touched, asked.spans), wide))

    def _distinct(self, asked: DistinctSlice, within: Cell) -> AnswerPlan:
        keys = tuple(dict.fromkeys((*asked.keys, asked.counted)))
        touched = self._here.touched(asked.domain, asked.scenario, asked.spans, within)
        schema = self._schema([SPAN], asked.keys, asked.groups, {VALUE: self._here.code_type(asked.counted)()})
        by_code = Slice(domain=asked.domain, scenario=asked.scenario, spans=asked.spans, keys=keys, aggregates=())
        _, away = split(touched, needed(by_code, within))
        parts = parts_of(touched)
        plan = AnswerPlan(domain=asked.domain, parts=parts, schema=schema, most=asked.most, counted=asked.counted)
        if not away:
            return replace(plan, here=self._here.distinct(asked, within))
        text = self._text(asked.domain, touched, within, keys)
        return replace(plan, statement=text.distinct(asked, touched_of(touched, asked.spans)))

    def _rows(self, asked: RowSlice, within: Cell) -> AnswerPlan:
        schema = pl.Schema({column: self._here.row_type(asked.domain, column) for column in asked.columns})
        if asked.span is None:
            parts = [] if within.is_nothing else list(self._here.partitions(asked.domain, asked.scenario))
            cut = False
        else:
            touched = self._here.touched(asked.domain, asked.scenario, (asked.span,), within)
            parts, cut = [part for part, _ in touched], not all(is_whole(spans) for _, spans in touched)
        plan = AnswerPlan(domain=asked.domain, parts=parts, schema=schema)
        if not parts:
            return plan
        if all(part.file for part in parts):
            return replace(plan, here=self._here.rows(asked, within))
        text = self._text(
            asked.domain, [(part, []) for part in parts], within, [*self._domains[asked.domain].dimensions]
        )
        statement = text.rows(
            asked, [number_of(part) for part in parts], asked.span if cut else None, self._domains[asked.domain].sort
        )
        return replace(plan, statement=statement)

    def _ask(
        self,
        domain: str,
        within: Cell,
        parts: Sequence[Partition],
        schema: pl.Schema,
        asked: Callable[[StatementText, Sequence[int]], SqlStatement],
    ) -> AnswerPlan:
        text = self._text(
            domain, [(part, []) for part in parts], within, [key for key in schema if key not in (DATE, ROWS)]
        )
        statement = asked(text, [number_of(part) for part in parts])
        return AnswerPlan(domain=domain, parts=parts, schema=schema, statement=statement)

    def _text(self, domain: str, touched: Sequence[TouchedPart], within: Cell, keys: Collection[str]) -> StatementText:
        """Return an empty statement about some parts. Raises Unavailable if they cannot answer."""
        refuse_parts(self._domains[domain], parts_of(touched), {*keys, *within.dimensions})
        return StatementText(self._warehouse.dialect, self._tables[domain], within)

    def _schema(
        self,
        positions: Sequence[str],
        keys: Sequence[str],
        groups: Mapping[str, pl.Series],
        rest: Mapping[str, pl.DataType],
    ) -> pl.Schema:
        """Return the columns of an answer: positions, the codes or groups of the keys, and the rest."""
        of_keys = {key: groups[key].dtype if key in groups else self._here.code_type(key) for key in keys}
        return pl.Schema({**dict.fromkeys(positions, pl.UInt32), **of_keys, **rest})

    # Reading.

    def _answered(self, plan: AnswerPlan) -> pl.LazyFrame:
        return plan.frame(self._read([plan], CURRENT.get())[0])

    def _read(self, plans: Sequence[AnswerPlan], stop: Stop) -> list[pa.Table | None]:
        """Return the rows of the statements of some plans. Raises Unavailable, with the tables and what to do."""
        statements = [plan.statement for plan in plans if plan.statement]
        try:
            with WAITS.substituted() if statements else nullcontext():
                found = iter(self._warehouse.read_all(statements, stop))
                return [next(found) if plan.statement else None for plan in plans]
        except StoreDown as down:
            tables = sorted({".".join(self._tables[plan.domain].name) for plan in plans if plan.statement})
            raise Unavailable(f"The rows of facts in {', '.join(tables)} cannot be read now: {down}.") from down


def split(
    touched: Sequence[TouchedPart], dimensions: frozenset[str] | None
) -> tuple[list[TouchedPart], list[TouchedPart]]:
    """Return the parts that files of this machine answer, by rollups with these dimensions, and the others."""
    here: list[TouchedPart] = []
    away: list[TouchedPart] = []
    for part, spans in touched:
        rolled_up = dimensions is not None and is_whole(spans) and answering(part, dimensions)
        (here if part.file or rolled_up else away).append((part, spans))
    return here, away


def parts_of(touched: Sequence[TouchedPart]) -> list[Partition]:
    """Return the partitions that a question touches."""
    return [part for part, _ in touched]


def refuse_parts(domain: Domain, parts: Sequence[Partition], keys: Collection[str]) -> None:
    """Raise Unavailable if some partitions lack a column, or hold amounts to other decimal places."""
    for part in parts:
        lacking = frozenset(keys).difference(part.columns) if part.columns else ()
        refuse_unfitted(part, domain, lacking)
        refuse_other_places(domain, part)
        if lacking:
            raise Unavailable(
                f"{', '.join(sorted(lacking))} of {domain.key} came after the load {part.load}; its feeds must be "
                "loaded again."
            )


def touched_of(touched: Sequence[TouchedPart], spans: Sequence[Span]) -> PartSpans:
    """Return which parts a statement reads, by their numbers."""
    whole = {number_of(part): found[0][0] for part, found in touched if is_whole(found)}
    cut = [(part, found) for part, found in touched if not is_whole(found)]
    positions = sorted({position for _, found in cut for position, _, _ in found})
    return PartSpans(
        whole, [number_of(part) for part, _ in cut], [(position, spans[position]) for position in positions]
    )


def number_of(part: Partition) -> int:
    """Return the number of the part that holds the rows of a partition. Raises Unavailable if none does."""
    if part.number is None:
        raise Unavailable(f"The rows of {part.scenario} in {part.bucket} are in no engine yet: run tieout provision.")
    return part.number


def wide_sums(aggregates: Sequence[Aggregate], touched: Sequence[TouchedPart], widest: int) -> frozenset[str]:
    """Return the columns of the sums that could exceed 63 bits. Raises SumTooLarge if one could reach `widest`."""
    parts = [part for part, _ in touched]
    magnitudes = {known: magnitude_of(parts, known) for known in aggregates}
    for known, magnitude in magnitudes.items():
        if magnitude >= widest:
            raise SumTooLarge(f"sums of {known.measure} could pass 128 bits")
    return frozenset(known.column for known, magnitude in magnitudes.items() if magnitude >= INT64_LIMIT)


def amounts(aggregates: Sequence[Aggregate], wide: Collection[str]) -> dict[str, pl.DataType]:
    """Return the types of the columns of aggregates, and of ROWS."""
    made = {known.column: pl.Int128() if known.column in wide else pl.Int64() for known in aggregates}
    return {**made, ROWS: pl.Int64()}


def facts_in(warehouse: Warehouse, schema: str | None = None) -> FactsOf:
    """Return how versions of the books find their facts in a warehouse."""
    return partial(WarehouseFacts, warehouse=warehouse, schema=schema)
