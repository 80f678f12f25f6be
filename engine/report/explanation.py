"""An explanation: a variance, and lists of contributions that each add up to it without a remainder."""

from collections import Counter
from collections.abc import Iterator, Mapping

import polars as pl
from msgspec import Struct

from engine.model.calendar.periods import PeriodRange
from engine.model.exact import ZERO, Exact
from engine.model.notes import Note
from engine.model.requests import Selection
from engine.model.stopping import watched
from engine.notes.currency_notes import MIXED
from engine.plans.freshness import Freshness
from engine.report.data import Drill, ReportColumn, ReportLine
from engine.report.effects import MemberEffect
from engine.report.permission import Permission

SHARED = "(shared)"  # key of the row that takes back what members of a tree count twice, or periods that overlap
VOLUME = "(volume)"  # key of the row of the volume as a whole
WITHOUT_VOLUME = "(without_volume)"  # key of the row of amounts without volume
NUMERATOR, DENOMINATOR = "numerator", "denominator"


class ExplainedRow(Struct, frozen=True, kw_only=True):
    """What a member, an operand or several of them contribute; a ratio has no figure on a side without denominator."""

    key: str
    label: str
    a: Exact | None
    b: Exact | None
    contribution: Exact
    mix: Exact | None = None  # a part of the contribution; the rest is the rate of a ratio, the price of a driver
    unit: str | None = None  # of its figures, if it is not that of the metric
    into_parent: Exact | None = None  # its weight in the total, if it is not 1
    holds: int | None = None  # members or operands behind a row of others
    drill: Drill | None = None  # the part of the calls behind its figures; None without rows

    @property
    def difference(self) -> Exact | None:
        """Its own variance."""
        return None if self.a is None or self.b is None else self.a - self.b

    @property
    def rest(self) -> Exact | None:
        """The other part of the contribution beside the mix."""
        return None if self.mix is None else self.contribution - self.mix


class ExplainedTotals(Struct, frozen=True, kw_only=True):
    """The parts of all rows of a list together; they add up to its variance."""

    mix: Exact
    rest: Exact  # the rate of a ratio, the price of drivers
    volume: Exact | None = None  # of drivers
    without_volume: Exact | None = None  # of drivers, where there are amounts without volume

    @classmethod
    def of(cls, members: MemberEffect) -> "ExplainedTotals":
        """Return the parts of what all members contribute together."""
        mix = members.mix or ZERO
        return cls(mix=mix, rest=members.contribution - mix)


class ExplainedList(Struct, frozen=True, kw_only=True):
    """One explanation of the whole variance: by the members of a dimension, or by lines."""

    by: str
    rest: str | None  # what the rows have beside their mix: rate or price; None without such parts
    a: Exact | None
    b: Exact | None
    rows: tuple[ExplainedRow, ...]  # none if a side is blank
    totals: ExplainedTotals | None = None  # of a list whose rows have parts

    @property
    def parts(self) -> Mapping[str, Exact]:
        """The parts of all rows together that there are, by name."""
        if self.totals is None:
            return {}
        parts = {
            "volume": self.totals.volume,
            "mix": self.totals.mix,
            self.rest or "": self.totals.rest,
            "without_volume": self.totals.without_volume,
        }
        return {name: part for name, part in parts.items() if part is not None}

    @property
    def variance(self) -> Exact | None:
        """The variance that the rows add up to."""
        return None if self.a is None or self.b is None else self.a - self.b


class Explanation(Struct, frozen=True, eq=False, kw_only=True):
    """A variance of a figure between two sides, explained."""

    label: str
    line: ReportLine
    written: str  # the figure as it was asked for
    unit: str | None
    variance_unit: str | None
    quotient: bool
    period: PeriodRange
    filters: Mapping[str, Selection]
    currency: str
    sides: tuple[ReportColumn, ...]  # a and b; none if one of them is unknown
    time: tuple[str, ...]  # the dimensions of its lists whose members are periods
    drill: Drill  # the part of the variance, which all its rows share; empty without sides
    a: Exact | None
    b: Exact | None
    lists: tuple[ExplainedList, ...]
    frame: pl.DataFrame  # a waterfall for each list; frame_of describes its columns
    notes: tuple[Note, ...]
    freshness: Mapping[str, Mapping[str, Freshness]]
    catalogue_version: str
    data_version: str
    permission: Permission

    @property
    def variance(self) -> Exact | None:
        """The variance to explain."""
        return None if self.a is None or self.b is None else self.a - self.b


SCHEMA: Mapping[str, type[pl.DataType]] = {
    "by": pl.String,
    "key": pl.String,
    "label": pl.String,
    "kind": pl.String,
    "value": pl.Float64,
    "exact": pl.String,
    "a": pl.Float64,
    "b": pl.Float64,
    "mix": pl.Float64,
    "rate": pl.Float64,
    "price": pl.Float64,
    "unit": pl.String,
}


def frame_of(lists: tuple[ExplainedList, ...], headings: tuple[str, ...], unit: str | None) -> pl.DataFrame:
    """Return explained lists as waterfalls: for each list side b, a row for each contribution, then side a.

    Columns: `by`, `key`, `label`, `kind` (total or change); `value` (Float64), the total or the contribution, and its
    digits `exact`; the row's own figures `a` and `b`; `mix` with `rate` or `price`; `unit` of `value`.
    """
    rows = [row for found in lists for row in waterfall_rows(found, headings, unit)]
    return pl.DataFrame(rows, SCHEMA, orient="row")


def waterfall_rows(found: ExplainedList, headings: tuple[str, ...], unit: str | None) -> Iterator[tuple[object, ...]]:
    """Yield the rows of one list."""
    first, last = headings
    labels = Counter(row.label for row in watched(found.rows))
    yield (found.by, "b", last, "total", number(found.b), digits(found.b), *[None] * 5, unit)
    for row in watched(found.rows):
        parts = {"mix": row.mix, found.rest: row.rest}
        values = [number(parts.get(part)) for part in ("mix", "rate", "price")]
        value = (number(row.contribution), digits(row.contribution))
        own = row.unit if unit == MIXED and row.key != VOLUME else None  # amounts in the currency of the row
        label = row.label if labels[row.label] == 1 else f"{row.label} ({row.key})"
        yield (found.by, row.key, label, "change", *value, number(row.a), number(row.b), *values, own or unit)
    yield (found.by, "a", first, "total", number(found.a), digits(found.a), *[None] * 5, unit)


def digits(figure: Exact | None) -> str | None:
    """Return the digits of a figure, 15 of one that does not end."""
    return None if figure is None else figure.digits()


def number(figure: Exact | None) -> float | None:
    """Return a figure as a double."""
    return None if figure is None else float(figure.digits())
