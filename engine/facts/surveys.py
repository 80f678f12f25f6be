"""Surveys: what one look at an attached table says of its rows, a scenario and month at a time.

The rows stay where they are. A partition of them has no file and no part; its token tells later whether they changed.
It stands alone because the writer and whoever surveys share it.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

import polars as pl
from msgspec import Struct

from engine.facts.manifest import Load, Partition
from engine.model.catalogue import Domain
from engine.model.errors import Unavailable
from engine.model.fact_store import DATE
from engine.model.members.member_sets import NULL_CODE


class SurveyedMonth(Struct, frozen=True, kw_only=True):
    """The rows of one scenario and calendar month in an attached table."""

    scenario: str
    bucket: str  # YYYY-MM, or undated
    rows: int
    days: tuple[int, ...]
    magnitudes: Mapping[str, int]
    unassigned: tuple[str, ...]
    blanks: tuple[str, ...]
    token: str
    rollups: Mapping[tuple[str, ...], pl.DataFrame] = {}  # ids as texts, null without one


class Survey(Struct, frozen=True, kw_only=True):
    """What a survey found."""

    months: Sequence[SurveyedMonth]
    ids: Mapping[str, pl.Series]  # of each dimension, in no order

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(month.rows for month in self.months)


def surveyed_partition(domain: Domain, month: SurveyedMonth, load: Load) -> Partition:
    """Return the partition of a month without its rollups."""
    identity = f"{load.binding}\0{month.scenario}\0{month.bucket}\0{month.token}\0{sorted(month.magnitudes.items())}"
    return Partition(
        id=f"attached/{domain.key}/{sha256(identity.encode()).hexdigest()[:32]}",
        scenario=month.scenario,
        bucket=month.bucket,
        file="",
        rows=month.rows,
        days=month.days,
        magnitudes=month.magnitudes,
        load=load.id,
        columns=(DATE, *domain.dimensions, *domain.measures, *domain.texts),
        places={key: measure.places for key, measure in domain.measures.items()},
        unassigned=month.unassigned,
        blanks=month.blanks,
        token=month.token,
    )


def coded_sums(sums: pl.DataFrame, dimensions: Sequence[str], coded: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return sums by ids as sums by codes, sorted. `coded` has columns id and code of each dimension."""
    codes = (
        pl.col(key).replace_strict(coded[key]["id"], coded[key]["code"], default=NULL_CODE, return_dtype=dtype)
        for key in dimensions
        for dtype in [coded[key]["code"].dtype]
    )
    return sums.with_columns(codes).sort(dimensions)


def refuse_mixed(facts: Mapping[str, Iterable[Partition]], loads: Mapping[str, Load]) -> None:
    """Raise Unavailable if a scenario of a domain lies in an attached table and another feed brings rows of it."""
    for domain, parts in facts.items():
        feeds: dict[str, set[str]] = {}
        attached: dict[str, str] = {}
        for part in parts:
            feeds.setdefault(part.scenario, set()).add(loads[part.loaded[0].load].binding)
            if part.token is not None:
                attached[part.scenario] = loads[part.load].binding
        for scenario, binding in attached.items():
            if others := sorted(feeds[scenario] - {binding}):
                raise Unavailable(
                    f"{scenario} of {domain} lies in the table that {binding} attaches, and {', '.join(others)} brings "
                    "rows of it as well: give one of them another scenario, or `tieout provision --forget` one"
                )
