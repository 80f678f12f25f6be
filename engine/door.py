"""The Python interface: open a folder of books, and request statements and metrics.

from engine.door import open_books

books = open_books("instances/demo")
books.statement("full_pnl", scenarios={"Actuals": "actual"}, period="2025")
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from engine.books.books import Shelf
from engine.books.reader import Reader
from engine.instance.read import STATE, STORE, read_instance
from engine.model.errors import UnknownName
from engine.model.profiles import EVERYONE, Profile
from engine.model.requests import (
    Bounds,
    ColumnRequest,
    Condition,
    Exclusion,
    LineMateriality,
    MetricRequest,
    RowsRequest,
    Selection,
    StatementRequest,
)
from engine.plans.figures import plan_metrics, plan_statement
from engine.queries.reports import metric_query, statement_query
from engine.queries.rows import row_query
from engine.report.inspection import Inspection, inspect
from engine.report.report import Report
from engine.report.run import run
from engine.report.snapshots import Kept, keep, opened

MOST_ROWS = 1_000_000_000  # no practical limit for a Python user


Ids = str | Sequence[str] | Mapping[str, Sequence[str]]


class ReportArguments(TypedDict, total=False):
    """The optional arguments of a request, except the statement or metrics."""

    scenarios: Mapping[str, str]
    """Heading to scenario reference; left out, the default report's."""
    period: str | tuple[str, str] | None
    """A period code, or the first and last of a range; left out, the default report's."""
    filters: Mapping[str, Ids]
    """Dimension key to member id or ids, or to {"exclude": ids}."""
    dimensions: Sequence[str]
    """Dimension keys to break down by."""
    subtotals: bool
    """Whether each group of a breakdown by two or more dimensions has a row of its own above it."""
    scale: int
    """Currency unit of what is shown as a power of ten: 0, 3, 6 or 9."""
    decimals: int | None
    """Decimal places of what is shown."""


class MetricArguments(ReportArguments, total=False):
    """The optional arguments of a request for metrics, except the metrics."""

    formulas: Mapping[str, str]
    """Heading to a formula of metrics, such as ebitda / revenue."""
    order_by: str
    """What ranks the members of the first dimension: a metric, a heading, or metric@heading."""
    asc: bool
    """Whether the smallest is first."""
    top: int
    """How many members to show; one row holds the others."""
    having: Sequence[Condition]
    """What members of the first dimension must meet to be shown; one row holds the others."""


class RowArguments(TypedDict, total=False):
    """The optional arguments of a request for rows that choose among them."""

    order_by: str
    """A column, or contribution."""
    asc: bool
    """Whether the smallest is first."""
    amount: Bounds
    """The bounds of the contribution, else of the one measure."""
    text: str
    """Words that a text column holds."""
    count_by: Sequence[str]
    """Columns whose values are shown with their rows and sums, in place of rows."""


class Fields(TypedDict):
    """The same arguments as the fields of a request."""

    scenarios: tuple[ColumnRequest, ...] | None
    period_start: str | None
    period_end: str | None
    filters: dict[str, str | Selection]
    dimensions: tuple[str, ...]
    subtotals: bool
    scale: int
    decimals: int | None


class Door:
    """The books of one instance, as one profile sees them."""

    def __init__(self, shelf: Shelf, profile: Profile) -> None:
        self._shelf = shelf
        self._profile = profile

    @property
    def reader(self) -> Reader:
        """The current version of the books."""
        return Reader(self._shelf.current(), [self._profile])

    def statement(
        self,
        statement: str | None = None,
        *,
        lines: Sequence[str] = (),
        depth: int | None = None,
        materiality: LineMateriality | None = None,
        **asked: Unpack[ReportArguments],
    ) -> Report:
        """Return a statement, some of its lines, or its material ones.

        Raises a Refusal (engine.model.errors) if there is no answer.
        """
        reader = self.reader
        request = StatementRequest(
            statement=statement, lines=tuple(lines), depth=depth, materiality=materiality, **fields(asked)
        )
        return run(plan_statement(statement_query(request, reader), reader))

    def metric(self, *metrics: str, **asked: Unpack[MetricArguments]) -> Report:
        """Return metrics of one domain by dimension members. Raises a Refusal if the request has no answer."""
        reader = self.reader
        request = MetricRequest(
            metrics=metrics,
            **fields(asked),
            formulas=dict(asked.get("formulas", {})),
            order_by=asked.get("order_by"),
            asc=asked.get("asc", False),
            top=asked.get("top"),
            having=tuple(asked.get("having", ())),
        )
        return run(plan_metrics(metric_query(request, reader), reader))

    def rows(
        self,
        source: str,
        *,
        scenario: str,
        period: str | tuple[str, str] | None = None,
        filters: Mapping[str, Ids] | None = None,
        columns: Sequence[str] | None = None,
        limit: int | None = None,
        **choices: Unpack[RowArguments],
    ) -> Inspection:
        """Return rows of a source. The filter `metric` adds each row's contribution to that figure."""
        start, end = bounds(period)
        reader = self.reader
        request = RowsRequest(
            source_key=source,
            scenario_id=scenario,
            filters=requested_filters(filters),
            columns=None if columns is None else tuple(columns),
            limit=limit,
            period_start=start,
            period_end=end,
            order_by=choices.get("order_by"),
            asc=choices.get("asc", False),
            amount=choices.get("amount"),
            text=choices.get("text"),
            count_by=tuple(choices.get("count_by", ())),
        )
        return inspect(row_query(request, reader, MOST_ROWS), reader)

    def keep(self, kept: Kept, path: str | Path) -> None:
        """Write a result to a file that `open` reads."""
        Path(path).write_bytes(keep(kept))

    def open(self, path: str | Path) -> Kept:
        """Return the result in a file. Raises an error if the profile no longer shows all of it."""
        return opened(Path(path).read_bytes(), self.reader)


def open_books(folder: str | Path, *, profile: str | None = None, state: str | Path | None = None) -> Door:
    """Open an instance folder that `tieout load` loaded, in full or as a profile of profiles.yaml sees it.

    Raises InstanceFaults, which lists every fault in the folder's files but integrations.yaml: its feeds are no part of
    the books, and `tieout check` checks it.
    """
    instance = read_instance(Path(folder))
    known = instance.profiles.by_key
    if profile is not None and profile not in known:
        hint = "profiles.yaml has them; tieout check names those with a fault."
        raise UnknownName.of("profile", profile, known, field="profile", hint=hint)
    root = Path(state or Path(folder) / STATE) / STORE
    return Door(Shelf(instance.catalogue, root), EVERYONE if profile is None else known[profile])


def fields(asked: ReportArguments) -> Fields:
    """Return optional arguments as the fields of a request."""
    start, end = bounds(asked.get("period"))
    scenarios = asked.get("scenarios")
    return {
        "scenarios": None
        if scenarios is None
        else tuple(ColumnRequest(scenario=reference, alias=heading) for heading, reference in scenarios.items()),
        "period_start": start,
        "period_end": end,
        "filters": requested_filters(asked.get("filters")),
        "dimensions": tuple(asked.get("dimensions", ())),
        "subtotals": asked.get("subtotals", False),
        "scale": asked.get("scale", 0),
        "decimals": asked.get("decimals"),
    }


def bounds(period: str | tuple[str, str] | None) -> tuple[str | None, str | None]:
    """Return the first and last code of a period."""
    return period if isinstance(period, tuple) else (period, period)


def requested_filters(filters: Mapping[str, Ids] | None) -> dict[str, str | Selection]:
    """Return filters as a request takes them."""
    return {key: selection(ids) for key, ids in (filters or {}).items()}


def selection(ids: Ids) -> str | Selection:
    """Return the ids of one filter as a request takes them."""
    if isinstance(ids, Mapping):
        return Exclusion(**{name: tuple(members) for name, members in ids.items()})
    return ids if isinstance(ids, str) else tuple(ids)
