"""Deliveries: the rows of one binding, from its extract to a live table in a stage of the store."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import polars as pl
from msgspec.structs import replace

from engine.facts.landing import Landing
from engine.facts.load_modes import LoadMode
from engine.facts.manifest import Load
from engine.facts.parts import staged_magnitudes
from engine.facts.writer import Stage
from engine.model.calendar.periods import PeriodRange, Span
from engine.model.catalogue import Catalogue, Dimension, Domain, Measure
from engine.model.fact_store import DATE
from server.feeds.extract_formats import BlankRule, NumberFormat
from server.feeds.feeds import Binding
from server.files.columns import EXTRACT, NO_RESIDUES, Residues, RowSource, joined
from server.files.extract_columns import columns_for, extract_columns
from server.files.feed_reader import FeedReader
from server.files.rejects import VALIDATE, LoadFailed, Rejects
from server.files.reshape import UnloadedRows, chosen_columns, columns_of_file, reshape
from server.files.sources import extract
from server.ingest.controls import LoadControl
from server.ingest.folder import BooksFolder
from server.ingest.mapper import ExtractMapper
from server.ingest.rates import LiveTables, shape_rates
from server.ingest.rounding import RoundingDifference
from server.ingest.shapes import check_tree, measures_read, shape_facts, shape_members, shape_nodes, with_nodes
from server.ingest.surveys import SurveyedTable, survey_table

# Receiving reads the source and checks every row without a lock; staging is short and holds the publishing lock.


Progress = Callable[[str, str, int], None]  # binding, what is being done, rows


def target_of(binding: Binding, catalogue: Catalogue) -> Domain | Dimension | None:
    """Return the domain or dimension whose table a binding fills, None where it is one of rates."""
    if binding.fills_rates:
        return None
    for domain in catalogue.domains.values():
        if domain.table == binding.target:
            return domain
    return next(dim for dim in catalogue.dimensions.values() if binding.target in (dim.members, dim.nodes))


def rank(binding: Binding, catalogue: Catalogue) -> int:
    """Return when a binding's turn comes: facts need members, trees and rates, and trees need members."""
    target = target_of(binding, catalogue)
    if isinstance(target, Domain):
        return 2
    return 0 if target is None or target.members == binding.target else 1


@dataclass(slots=True)
class Delivery:
    """The rows of one binding on their way into the store."""

    binding: Binding
    place: BooksFolder
    load_id: str
    periods: PeriodRange | None  # that are asked for, None where all
    progress: Progress
    rejects: Rejects = field(default_factory=Rejects)
    counts: UnloadedRows = field(default_factory=UnloadedRows)
    landings: list[Landing] = field(default_factory=list)  # of facts: one for each part that is appended, else one
    table: pl.DataFrame | None = None  # of members, nodes or rates
    surveyed: SurveyedTable | None = None  # of facts that stay where they are
    span: Span | None = None  # days asked for, else of the rows that came
    rounding: RoundingDifference = field(default_factory=RoundingDifference)  # of converted amounts
    residues: Residues = NO_RESIDUES  # of amounts
    control: LoadControl = field(init=False)  # of the amounts of facts
    lands: bool = True  # False: rows are read and judged only
    recorded: Mapping[str, Any] = field(default_factory=dict)  # how the feed's last load was read
    format: FeedReader = field(init=False)
    _facts: int = 0  # judged and not rejected

    def __post_init__(self) -> None:
        catalogue, binding = self.place.catalogue, self.binding
        target = target_of(binding, catalogue)
        columns = extract_columns(binding, target)
        self.format = FeedReader(binding=binding, columns=columns, calendar=catalogue.calendar, recorded=self.recorded)
        measures: Mapping[str, Measure] = {}
        keys: list[str] = []
        if isinstance(target, Domain):
            measures = measures_read(binding, target)
            keys = [*columns.days, *(() if binding.scenario else columns_for(binding, target.scenario_column))]
        self.control = LoadControl(binding, measures, keys)

    @property
    def spool(self) -> Path:
        """The folder of its rows."""
        return self.place.spool / self.binding.target / self.binding.key

    def receive(self, tables: LiveTables) -> None:
        """Read and judge every row. Raises LoadFailed, with keys that the files show, if they cannot be loaded."""
        self.span = self.periods.span if self.periods else None
        target = target_of(self.binding, self.place.catalogue)
        self.progress(self.binding.key, "extract", 0)
        catalogue = self.place.catalogue
        if self.binding.attach is not None and isinstance(target, Domain):
            self.surveyed = survey_table(self.binding, target, catalogue, tables, self.place.folder)
            self.rejects.read = self.surveyed.survey.rows
            return
        calendar = catalogue.calendar
        with closing(extract(self.binding, self.place.folder, calendar, self.periods, formats=self.format)) as parts:
            try:
                if isinstance(target, Domain):
                    self._receive_facts(target, parts, tables)
                else:
                    self._receive_table(target, parts, tables)
            except LoadFailed as failure:
                raise self.format.explained(failure) from failure  # while files of archives are there
        if not self._rows and not self.binding.allows_empty:
            says = "not one row came back, and what was loaded before would go; allow_empty: true takes it so"
            raise LoadFailed(VALIDATE, says)

    @property
    def _rows(self) -> int:
        if self.surveyed is not None:
            return self.surveyed.survey.rows
        if self.table is not None:
            return self.table.height
        return sum(landing.rows for landing in self.landings) if self.lands else self._facts

    def _receive_facts(self, domain: Domain, parts: Iterable[RowSource], tables: LiveTables) -> None:
        with ThreadPoolExecutor(1) as spooler:  # one batch lands while the next is read and judged
            landing: Future[None] = spooler.submit(lambda: None)
            left = iter(parts)
            for number, part in enumerate(left):
                if not self.landings or self.binding.mode is LoadMode.APPEND:
                    self.landings.append(Landing(self.spool / f"{number:04}", domain))
                self.control.begin(part.name)
                with closing(part.pieces) as pieces:
                    batches = self._reshaped(part.name, self._counted(pieces))
                    self.rejects.unread = chain(batches, left)
                    for piece in batches:
                        facts = self._judged(domain, piece, part.name, tables)
                        self.control.loaded(facts, domain)
                        landing.result()
                        if self.lands:
                            landing = spooler.submit(self.landings[-1].add, facts)
                self.control.end()
            landing.result()

    def _counted(self, pieces: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Yield pieces of a file, each counted as the file has it."""
        unpivot = self.binding.format.unpivot
        for piece in pieces:
            named = columns_of_file(piece)
            width = 1 if unpivot is None else len(chosen_columns(unpivot.columns, named, self.control.files[-1].name))
            self.control.rows(piece, width)
            yield piece

    def _reshaped(self, name: str, pieces: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        for piece in pieces:
            before = self.counts.skipped
            yield from reshape(piece, self.binding.format, name, self.counts)
            self.rejects.read += self.counts.skipped - before

    def _judged(self, domain: Domain, piece: pl.DataFrame, name: str, tables: LiveTables) -> pl.DataFrame:
        self.rejects.begin(piece)
        binding = self.format.of_rows(piece, name)
        shaping = ExtractMapper(binding, piece, self.rejects, self.periods)
        if self.counts.piece is not None:
            self.control.left_out(ExtractMapper(binding, self.counts.piece, Rejects()))
            self.counts.piece = None
        shaped = shape_facts(shaping, domain, self.place.catalogue, tables, self.rounding, self.control)
        self.residues += shaping.residues
        facts = self._with_figures(domain, shaped, binding.format.numbers)
        self._facts += facts.height
        if self.periods is None:
            self.span = widen_span(self.span, facts)
        self.progress(self.binding.key, "validate", self.rejects.read)
        return facts

    def _with_figures(self, domain: Domain, facts: pl.DataFrame, numbers: NumberFormat) -> pl.DataFrame:
        """Return the facts that have an amount, and count the others."""
        if not domain.measures or (numbers.blank is not BlankRule.NONE and not numbers.none):
            return facts
        with_figure = facts.filter(pl.any_horizontal(pl.col(*domain.measures).is_not_null()))
        self.counts.without_figure += facts.height - with_figure.height
        return with_figure

    def _receive_table(self, dimension: Dimension | None, parts: Iterable[RowSource], tables: LiveTables) -> None:
        pieces = [piece for part in parts for piece in self._reshaped(part.name, part.pieces)]
        rows = concat_pieces(pieces, self.binding)
        self.rejects.begin(rows)
        self.progress(self.binding.key, "validate", rows.height)
        catalogue, binding = self.place.catalogue, self.format.of_rows(rows, self.binding.extract)
        shaping = ExtractMapper(binding, rows, self.rejects)
        if dimension is None:
            self.table = shape_rates(shaping, catalogue)
        elif dimension.members == self.binding.target:
            self.table = shape_members(shaping, dimension, catalogue)
        else:
            leaf = catalogue.dimensions[dimension.leaf]
            self.table = shape_nodes(shaping, tables.known(leaf.members, "id") if leaf.members else None)
            ids = tables.ids(leaf.key, leaf.members)
            check_tree(dimension, self.table, ids if leaf.members else with_nodes(ids, self.table))
        tables.bring(self.binding.target, self.table)

    def stage(self, staged: Stage, load: Load) -> int:
        """Stage what was received and return how many rows landed."""
        self.progress(self.binding.key, "stage", self._rows)
        target = target_of(self.binding, self.place.catalogue)
        if isinstance(target, Domain) and self.surveyed is not None:
            return staged.survey(target, self.surveyed.survey, replace(load, attached=self.surveyed.attached))
        if isinstance(target, Domain):
            rows = sum(staged.facts(target, landing, load, self.binding.mode, self.span) for landing in self.landings)
            if rows == self._rows:  # else the feed appended some of its extracts before
                self.control.refuse_stored(staged_magnitudes(staged.partitions.get(target.key, ()), load.id))
            return rows
        assert self.table is not None  # noqa: S101 - received before it is staged
        if target is not None and target.members == self.binding.target:
            staged.codes(target.key, self.table["id"])
        staged.table(self.binding.target, self.table, load)
        return self.table.height


def widen_span(span: Span | None, facts: pl.DataFrame) -> Span | None:
    """Return the days of some facts and of those before them."""
    first, last = facts[DATE].min(), facts[DATE].max()
    if first is None or last is None:
        return span
    found = Span(first, last)  # type: ignore[arg-type]  # the least and the greatest of a column of days are days
    return found if span is None else Span(min(span.first, found.first), max(span.last, found.last))


def concat_pieces(pieces: list[pl.DataFrame], binding: Binding) -> pl.DataFrame:
    """Return the rows of all files of a binding: members and nodes are judged together."""
    try:
        return joined(pieces)
    except (pl.exceptions.SchemaError, pl.exceptions.ShapeError) as fault:
        raise LoadFailed(EXTRACT, f"the files of {binding.extract} do not have the same columns") from fault
