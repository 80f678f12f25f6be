"""Families of grains: fiscal years with their parts, calendar years and trading years beside them."""

from collections.abc import Mapping

from msgspec import Struct

from engine.model.calendar.labels import LabelDetail, month_words
from engine.model.calendar.periods import GRAINS, Counterpart, Grain, GrainRules, month_span


class GrainFamily(Struct, frozen=True):
    """The grains of one kind of year, coarsest first, and those that windows and notes need by name."""

    grains: tuple[Grain, ...]
    year: Grain
    quarter: Grain
    month: Grain
    week: Grain


CALENDAR = GrainFamily(  # beside FISCAL where fiscal years are not calendar years
    (Grain.CALENDAR_YEAR, Grain.CALENDAR_HALF, Grain.CALENDAR_QUARTER, Grain.CALENDAR_MONTH),
    Grain.CALENDAR_YEAR,
    Grain.CALENDAR_QUARTER,
    Grain.CALENDAR_MONTH,
    Grain.WEEK,
)
TRADING = GrainFamily(  # of a second table beside FISCAL
    (Grain.TRADING_YEAR, Grain.TRADING_QUARTER, Grain.TRADING_PERIOD, Grain.TRADING_WEEK),
    Grain.TRADING_YEAR,
    Grain.TRADING_QUARTER,
    Grain.TRADING_PERIOD,
    Grain.TRADING_WEEK,
)
BESIDE = (CALENDAR, TRADING)
FISCAL = GrainFamily(
    (Grain.YEAR, Grain.QUARTER, Grain.MONTH),
    Grain.YEAR,
    Grain.QUARTER,
    Grain.MONTH,
    Grain.WEEK,
)


def family_of(grain: Grain) -> GrainFamily:
    """Return the family of a grain. Days and weeks belong to the fiscal year."""
    return next((family for family in BESIDE if grain in family.grains), FISCAL)


def periods_in(coarser: Grain, finer: Grain) -> int:
    """Return how many periods of a finer grain each period of a coarser one has; 0 if they differ in it."""
    if (coarser, finer) == (Grain.WEEK, Grain.DATE):
        return 7
    fits = family_of(coarser) is family_of(finer) or finer is Grain.MONTH
    few, many = GRAINS[coarser].in_year, GRAINS[finer].in_year
    return many // few if fits and few else 0


def calendar_rules(grain: Grain, noun: str, called: str, months: int) -> GrainRules:
    """Return the rules of a part of the calendar year that has so many months."""
    format_, in_year = GRAINS[grain], 12 // months

    def name(ordinal: int) -> str:
        return format_.code(ordinal).replace("-", " ")

    return GrainRules(
        noun=noun,
        called=called,
        example=format_.code(2025 * in_year),
        parse=format_.parse,
        at=lambda day: (day.year * 12 + day.month - 1) // months,
        span=lambda n: month_span(n * months, months),
        code=format_.code,
        name=(lambda n: month_words(month_span(n, 1).first)) if months == 1 else name,
        beside=LabelDetail.NOTHING if months == 1 else LabelDetail.MONTHS,
        years_earlier=lambda n, years: Counterpart(n - in_year * years, n - in_year * years),
    )


CALENDAR_RULES: Mapping[Grain, GrainRules] = {
    Grain.CALENDAR_MONTH: calendar_rules(Grain.CALENDAR_MONTH, "calendar month", "a calendar month", 1),
    Grain.CALENDAR_QUARTER: calendar_rules(Grain.CALENDAR_QUARTER, "calendar quarter", "a calendar quarter", 3),
    Grain.CALENDAR_HALF: calendar_rules(Grain.CALENDAR_HALF, "calendar half", "a calendar half", 6),
    Grain.CALENDAR_YEAR: calendar_rules(Grain.CALENDAR_YEAR, "calendar year", "a calendar year", 12),
}
