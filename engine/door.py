"""The door for Python users: open a folder of books and ask it for statements and metrics.

from engine.door import open_books

books = open_books("instances/demo")
books.statement("full_pnl", scenarios={"Actuals": "actual"}, period="2025")
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from engine.books import Shelf
from engine.errors import UnknownName
from engine.instance.read import read_instance
from engine.plans.report_plan import plan_metrics, plan_statement
from engine.profiles import EVERYONE, Profile
from engine.queries.resolve import metric_query, statement_query
from engine.reader import Reader
from engine.report.report import Report
from engine.report.run import run
from engine.requests import MetricRequest, ScenarioAsked, StatementRequest

STATE = ".tieout"  # folder of an instance that holds what is not written by hand
STORE = "store"


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
        scenarios: Mapping[str, str] | None = None,
        period: str | tuple[str, str] | None = None,
        filters: Mapping[str, str | Sequence[str]] | None = None,
        dimensions: Sequence[str] = (),
        scale: int = 0,
        decimals: int | None = None,
    ) -> Report:
        """Return a statement; `scenarios` is heading to reference, `period` a code or a pair of codes.

        Raises a Refusal (engine.errors) where the question has no answer.
        """
        start, end = bounds(period)
        asked = StatementRequest(
            statement=statement,
            scenarios=columns(scenarios),
            period_start=start,
            period_end=end,
            filters=listed(filters),
            dimensions=tuple(dimensions),
            scale=scale,
            decimals=decimals,
        )
        reader = self.reader
        return run(plan_statement(statement_query(asked, reader), reader))

    def metric(
        self,
        *metrics: str,
        scenarios: Mapping[str, str] | None = None,
        period: str | tuple[str, str] | None = None,
        filters: Mapping[str, str | Sequence[str]] | None = None,
        dimensions: Sequence[str] = (),
        scale: int = 0,
        decimals: int | None = None,
    ) -> Report:
        """Return metrics of one domain by members of dimensions; see statement."""
        start, end = bounds(period)
        asked = MetricRequest(
            metrics=metrics,
            scenarios=columns(scenarios),
            period_start=start,
            period_end=end,
            filters=listed(filters),
            dimensions=tuple(dimensions),
            scale=scale,
            decimals=decimals,
        )
        reader = self.reader
        return run(plan_metrics(metric_query(asked, reader), reader))


def open_books(folder: str | Path, *, profile: str | None = None, state: str | Path | None = None) -> Door:
    """Open the books of an instance folder, loaded by `tieout load`, whole or as a profile of profiles.yaml sees them.

    InstanceFaults names everything wrong with the folder's files.
    """
    instance = read_instance(Path(folder))
    if profile is not None and profile not in instance.profiles:
        raise UnknownName.of("profile", profile, instance.profiles, field="profile", hint="profiles.yaml has them.")
    root = Path(state or Path(folder) / STATE) / STORE
    return Door(Shelf(instance.catalogue, root), EVERYONE if profile is None else instance.profiles[profile])


def columns(scenarios: Mapping[str, str] | None) -> tuple[ScenarioAsked, ...] | None:
    """Return headings and references as a request has them."""
    if scenarios is None:
        return None
    return tuple(ScenarioAsked(scenario=reference, alias=heading) for heading, reference in scenarios.items())


def bounds(period: str | tuple[str, str] | None) -> tuple[str | None, str | None]:
    """Return both bounds of a period."""
    return period if isinstance(period, tuple) else (period, period)


def listed(filters: Mapping[str, str | Sequence[str]] | None) -> dict[str, str | tuple[str, ...]]:
    """Return filters as a request has them."""
    return {key: ids if isinstance(ids, str) else tuple(ids) for key, ids in (filters or {}).items()}
