"""Steps of a shifted view: each moves a range, or replaces it by a window that ends with its last period."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from msgspec import Struct

from engine.model.calendar.calendar import Calendar
from engine.model.calendar.families import CALENDAR, TRADING
from engine.model.calendar.periods import Grain, PeriodBounds
from engine.model.calendar.shifts import (
    Unit,
    before_range,
    grains_within,
    last_periods,
    last_twelve_months,
    month_to_date,
    periods_earlier,
    quarter_to_date,
    units_earlier,
    whole_year,
    year_to_date,
    years_earlier,
)


@dataclass(frozen=True, slots=True)
class Shift:
    """One step of a shifted view: moves a range, or replaces it by a window that ends with its last period."""

    key: str
    heading: str = field(compare=False)
    move: Callable[[Calendar, PeriodBounds, Grain], PeriodBounds | None] = field(
        compare=False
    )  # Grain: that of the request
    is_window: bool = field(default=False, compare=False)
    years: int = field(default=0, compare=False)  # years that it goes back
    periods: int = field(default=0, compare=False)  # of a window that has so many
    unit: Unit | None = field(default=None, compare=False)  # inside which its range must lie
    opens: bool = field(default=False, compare=False)  # whether it reads all that lies before the range
    is_mean: bool = field(default=False, compare=False)  # of its periods
    instead: str = field(default="", compare=False)  # steps that stand for it where it cannot be asked for

    def takes(self, calendar: Calendar, grain: Grain) -> bool:
        """Tell whether it has a meaning for periods of a grain: those inside its unit, of a window shorter ones."""
        if self.unit is None:
            return True
        if self.is_window:
            return grain.fineness < self.unit(calendar.family(grain)).fineness
        return bool(grains_within(calendar, grain, self.unit))


def years_back(count: int) -> Shift:
    """Return the shift that moves a range back by `count` years."""
    return Shift(
        key=f"py{count}" if count > 1 else "py",
        heading="Prior Year" if count == 1 else f"{count} Years Before",
        move=lambda calendar, bounds, _: years_earlier(calendar, bounds, count),
        years=count,
    )


def periods_back(count: int) -> Shift:
    """Return the shift that moves a range back by `count` periods of the requested grain."""
    return Shift(
        key=f"pp{count}" if count > 1 else "pp",
        heading="Prior Period" if count == 1 else f"{count} Periods Before",
        move=lambda calendar, bounds, requested: periods_earlier(calendar, bounds, count, requested),
    )


def same_days(key: str, heading: str, unit: Unit) -> Shift:
    """Return the shift to the same days of the unit before."""
    return Shift(
        key=key,
        heading=heading,
        move=lambda calendar, bounds, requested: units_earlier(calendar, bounds, unit, requested),
        unit=unit,
        instead="@pp",
    )


def window(
    key: str, heading: str, days: Callable[[Calendar, PeriodBounds], PeriodBounds | None], unit: Unit | None = None
) -> Shift:
    """Return the shift that replaces a range by a window, one of periods shorter than `unit` alone."""
    return Shift(
        key=key,
        heading=heading,
        move=lambda calendar, bounds, _: days(calendar, bounds),
        is_window=True,
        unit=unit,
    )


def rolling(count: int) -> Shift:
    """Return the shift to the `count` periods of the requested grain that end with the last period of a range."""
    return Shift(
        key=f"last{count}",
        heading=f"Last {count} Periods",
        move=lambda calendar, bounds, requested: last_periods(calendar, bounds, count, requested),
        is_window=True,
        periods=count,
    )


def rolling_mean(count: int) -> Shift:
    """Return the shift to the mean of the `count` periods that end with the last period of a range."""
    return replace(
        rolling(count), key=f"avg{count}", heading=f"Average of {count} Periods", is_mean=True, instead=f"@last{count}"
    )


class CountedShifts(Struct, frozen=True):
    """The shifts of one name and a number: those numbers, and the shift of one. No number is 1."""

    counts: range
    shift: Callable[[int], Shift]


SAME_DAYS = {
    shift.key: shift
    for shift in (
        same_days("pm", "Prior Month", lambda family: family.month),
        same_days("pq", "Prior Quarter", lambda family: family.quarter),
        same_days("pw", "Prior Week", lambda family: family.week),
    )
}
OPENING = Shift(
    key="opening",
    heading="Opening",
    move=lambda calendar, bounds, _: before_range(calendar, bounds),
    opens=True,
    instead="@pp",
)
STEP = re.compile(r"([a-z]+)(\d{0,3})")
COUNTED: Mapping[str, CountedShifts] = {
    "py": CountedShifts(range(1, 100), years_back),
    "pp": CountedShifts(range(1, 1000), periods_back),
    "last": CountedShifts(range(2, 121), rolling),
    "avg": CountedShifts(range(2, 121), rolling_mean),
}
WINDOWS = {
    shift.key: shift
    for shift in (
        window("ytd", "Year to Date", year_to_date),
        window("mtd", "Month to Date", month_to_date, lambda family: family.month),
        window("qtd", "Quarter to Date", quarter_to_date),
        window("ltm", "Last Twelve Months", last_twelve_months),
        window("fy", "Full Year", whole_year),
        window("cytd", "Calendar Year to Date", partial(year_to_date, family=CALENDAR)),
        window("cqtd", "Calendar Quarter to Date", partial(quarter_to_date, family=CALENDAR)),
        window("cy", "Full Calendar Year", partial(whole_year, family=CALENDAR)),
        window("tytd", "Trading Year to Date", partial(year_to_date, family=TRADING)),
        window("tqtd", "Trading Quarter to Date", partial(quarter_to_date, family=TRADING)),
        window("ty", "Full Trading Year", partial(whole_year, family=TRADING)),
    )
}


NAMED = {**SAME_DAYS, **WINDOWS, OPENING.key: OPENING}


def shifts_of(*, trading: bool) -> list[str]:
    """Return the names of the shifts, one of each that takes a number, with or without those of a trading year."""
    return [
        "py",
        "pp",
        *SAME_DAYS,
        "last3",
        "avg3",
        *(key for key in WINDOWS if trading or not key.startswith("t")),
        OPENING.key,
    ]


def shift_of(step: str) -> Shift | None:
    """Return the shift that a step of a reference names, or None if it names none."""
    if known := NAMED.get(step):
        return known
    match = STEP.fullmatch(step)
    named = COUNTED.get(match[1]) if match else None
    count = int(match[2] or 1) if match else 0
    return named.shift(count) if named and count in named.counts else None
