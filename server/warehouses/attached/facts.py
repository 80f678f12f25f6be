"""The facts of attached tables: what a survey found, rollups of it here, and rows read where they are.

Every answer is that of the version surveyed. An engine that keeps versions of a table reads that one. Elsewhere the
statements of a report are read in one transaction, beside what proves that the rows of each month it touches are those
surveyed; an engine without transactions proves it before and after.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import polars as pl
import pyarrow as pa
from msgspec.structs import replace

from engine.facts.files import MappedFiles
from engine.facts.manifest import Load, Manifest, Partition, TouchedPart, refuse_other_places
from engine.model.catalogue import Domain
from engine.model.errors import Unavailable
from engine.model.fact_store import (
    VALUE,
    Presence,
)
from engine.model.scope import Cell
from engine.model.stopping import Stop
from server.base.interfaces import StoreDown
from server.base.waits import WAITS
from server.warehouses.attached.rows import NULL_ID, AttachedRows, AttachedTable, month_of, tokens_in, tokens_text
from server.warehouses.facts import AnswerPlan, WarehouseFacts, refuse_columns
from server.warehouses.statements import StatementText
from server.warehouses.tables import PART
from server.warehouses.warehouse import SqlStatement, VersionGone, Warehouse

Read = Callable[[SqlStatement], pa.Table]


class AttachedFacts(WarehouseFacts):
    """The facts of one attached table at one version. Implements FactStore."""

    def __init__(
        self,
        files: MappedFiles,
        manifest: Manifest,
        domains: Mapping[str, Domain],
        *,
        warehouse: Warehouse,
        table: AttachedTable,
        load: Load,
    ) -> None:
        """`manifest` has the partitions of the table alone, which `load` surveyed."""
        surveyed = manifest.facts[table.domain]
        self._token_of = {(part.scenario, part.bucket): part.token for part in surveyed}
        numbered = tuple(replace(part, number=month_of(part.bucket), token=None) for part in surveyed)
        known_parts = replace(manifest, facts={table.domain: numbered})
        super().__init__(files, known_parts, domains, warehouse=warehouse)
        lacking = {key for part in surveyed for key in part.unassigned or ()}
        known = domains[table.domain].dimensions
        ids = {key: files.frame(manifest.codes[key].file)["id"].to_list() for key in known if key in manifest.codes}
        self._table, self._load = table, load
        self._rows_of = AttachedRows(
            table=table,
            always=frozenset(known) - lacking,
            ids={key: [NULL_ID, *listed[1:]] for key, listed in ids.items()},
        )

    def presence(self, domain: str, scenario: str, within: Cell) -> Presence:
        """Return the days that had rows when the table was surveyed; only those of a version last. See FactStore."""
        return replace(super().presence(domain, scenario, within), lasts=self._table.version is not None)

    def _text(self, domain: str, touched: Sequence[TouchedPart], within: Cell, keys: Collection[str]) -> StatementText:
        """Return an empty statement about some months of a scenario. Raises Unavailable if they cannot answer."""
        for part, _ in touched:
            refuse_other_places(self._domains[domain], part)
        if strange := {*keys, *within.dimensions} - {column.key for column in self._table.columns}:
            raise Unavailable(f"{self._table.words} was surveyed without {', '.join(sorted(strange))}: {self._again}.")
        return StatementText(self._warehouse.dialect, self._reading([part for part, _ in touched]), within)

    def _reading(self, parts: Sequence[Partition]) -> AttachedRows:
        """Return the rows of some months of a scenario."""
        months = frozenset(month_of(part.bucket) for part in parts)
        return replace(self._rows_of, scenario=parts[0].scenario, months=months)

    # Reading and proving.

    def _read(self, plans: Sequence[AnswerPlan], stop: Stop) -> list[pa.Table | None]:
        """Return the rows of the statements of some plans. Raises Unavailable unless all is as it was surveyed."""
        if self._table.version is not None:
            return self._read_version(plans, stop)
        by_scenario: dict[str, dict[str, Partition]] = {}
        for part in (part for plan in plans for part in plan.parts):
            by_scenario.setdefault(part.scenario, {})[part.bucket] = part
        proofs = [(self._tokens([*parts.values()]), parts) for parts in by_scenario.values()]

        def proven(read: Read) -> list[pa.Table | None]:
            self._prove(read, proofs)
            found = [read(plan.statement) if plan.statement else None for plan in plans]
            if not self._warehouse.dialect.begin:
                self._prove(read, proofs)
            return found

        def work(read: Read) -> list[pa.Table | None]:
            try:
                return proven(read)
            except Unavailable:
                if self._warehouse.dialect.begin:
                    raise
                return proven(read)  # without transactions it may have been seen while somebody wrote the same rows

        if not proofs:
            return [None for _ in plans]
        try:
            with WAITS.substituted():
                found = self._warehouse.together(work, stop)
        except StoreDown as down:
            raise self._away(down) from down
        return [rows and self._coded(rows, plan) for rows, plan in zip(found, plans, strict=True)]

    def _read_version(self, plans: Sequence[AnswerPlan], stop: Stop) -> list[pa.Table | None]:
        """Return the rows of the statements of some plans, each of the version surveyed."""
        statements = [plan.statement for plan in plans if plan.statement is not None]
        try:
            with WAITS.substituted():
                found = iter(self._warehouse.read_all(statements, stop))
                stays = not statements or self._warehouse.has_version(str(self._table.version), stop)
        except VersionGone as gone:
            raise self._gone(str(gone)) from gone
        except StoreDown as down:
            raise self._away(down) from down
        if not stays:
            raise self._gone("another table has its place, or its log has been cut off since")
        return [None if plan.statement is None else self._coded(next(found), plan) for plan in plans]

    def _tokens(self, parts: Sequence[Partition]) -> SqlStatement:
        """Ask for the tokens of some months of a scenario, of all their rows: nothing else leaves the engine."""
        dialect, rows = self._warehouse.dialect, self._reading(parts)
        months = ", ".join(str(month_of(part.bucket)) for part in parts)
        return SqlStatement(
            f"select {tokens_text(rows, dialect)} from {rows.source(dialect)} "
            f"where {dialect.name_of(PART)} in ({months}) group by {dialect.name_of(PART)}"
        )

    def _prove(self, read: Read, proofs: Iterable[tuple[SqlStatement, Mapping[str, Partition]]]) -> None:
        """Raise Unavailable if rows of some months are not those surveyed."""
        for statement, parts in proofs:
            found = dict(tokens_in(read(statement)))
            expected = {part.bucket: self._token_of[part.scenario, part.bucket] for part in parts.values()}
            if changed := sorted(month for month, token in expected.items() if found.get(month_of(month)) != token):
                raise self._changed(f"{next(iter(parts.values())).scenario} {', '.join(changed)}")

    def _gone(self, why: str) -> Unavailable:
        return Unavailable(
            f"{self._table.words} cannot be read any more as it was surveyed at {self._surveyed} ({why}), so no "
            f"figure is given: {self._again}, then ask again."
        )

    def _away(self, down: StoreDown) -> Unavailable:
        held = f"{self._table.words}, which the feed {self._table.binding} attaches,"
        return Unavailable(f"The rows of facts in {held} cannot be read now: {down}.")

    def _changed(self, what: str) -> Unavailable:
        return Unavailable(
            f"{self._table.words} has changed since it was surveyed at {self._surveyed} ({what}), so no figure is "
            f"given: {self._again}, then ask again."
        )

    @property
    def _surveyed(self) -> str:
        return f"{self._load.loaded_at:%Y-%m-%d %H:%M} UTC"

    def _coded(self, found: pa.Table, plan: AnswerPlan) -> pa.Table:
        """Return the rows of a statement with codes in the place of ids. Raises Unavailable if it has other columns."""
        refuse_columns(found, plan.schema, plan.domain)
        frame = pl.DataFrame(found.rename_columns([str(place) for place in range(found.num_columns)]))
        for place, (name, dtype) in enumerate(plan.schema.items()):
            ids = frame[str(place)]
            if ids.dtype != pl.String or not dtype.is_unsigned_integer():
                continue
            known = self._rows_of.ids.get((plan.counted or "") if name == VALUE else name, (NULL_ID,))
            codes = ids.replace_strict(known, range(len(known)), default=None, return_dtype=pl.Int64)
            if codes.null_count() > ids.null_count():
                raise self._changed(f"it has other members of {name}")
            frame = frame.with_columns(codes.alias(str(place)))
        return frame.to_arrow()

    @property
    def _again(self) -> str:
        return f"run `tieout load {self._table.binding}`"
