"""Periods along an axis: codes in time order with gaps filled, and few labels that do not collide.

Codes are 2026-01, 2026-Q1, 2026-W05, 2026, 2026-01-31, of calendar years CY2026-Q1 and CY2026, and of trading years
TY2026-P01 and TY2026. All codes of one axis have one grain.
"""

from collections.abc import Callable, Sequence

import polars as pl
from msgspec import Struct

from engine.model.calendar.labels import MONTHS
from engine.model.calendar.periods import GRAINS, Grain

Label = str | list[str]
FIRST_YEAR, LAST_YEAR, MOST_YEARS = 1950, 2100, 40


class AxisSteps(Struct, frozen=True):
    """How the periods of one grain stand along an axis."""

    label: Callable[[str], str]
    in_year: int
    every: tuple[int, ...]  # numbers of steps between labels
    fills: bool = True  # periods without a point have a place too
    year: int = 4  # characters of the year in the code


STEPS = {
    Grain.TRADING_YEAR: AxisSteps(lambda code: code, 1, (1, 2, 5, 10, 25), year=6),
    Grain.TRADING_QUARTER: AxisSteps(lambda code: code[7:], 4, (1, 2, 4, 8, 20), year=6),
    Grain.TRADING_PERIOD: AxisSteps(lambda code: code[7:], 13, (1, 2, 3, 6, 13, 26), fills=False, year=6),
    Grain.TRADING_WEEK: AxisSteps(lambda code: code[7:], 53, (1, 2, 4, 13, 26), fills=False, year=6),
    Grain.CALENDAR_YEAR: AxisSteps(lambda code: code, 1, (1, 2, 5, 10, 25), year=6),
    Grain.CALENDAR_HALF: AxisSteps(lambda code: code[7:], 2, (1, 2, 4, 10, 20), year=6),
    Grain.CALENDAR_QUARTER: AxisSteps(lambda code: code[7:], 4, (1, 2, 4, 8, 20), year=6),
    Grain.CALENDAR_MONTH: AxisSteps(lambda code: MONTHS[int(code[7:]) - 1], 12, (1, 2, 3, 6, 12, 24, 60), year=6),
    Grain.YEAR: AxisSteps(lambda code: code, 1, (1, 2, 5, 10, 25)),
    Grain.QUARTER: AxisSteps(lambda code: code[5:], 4, (1, 2, 4, 8, 20)),
    Grain.MONTH: AxisSteps(lambda code: MONTHS[int(code[5:]) - 1], 12, (1, 2, 3, 6, 12, 24, 60)),
    Grain.WEEK: AxisSteps(lambda code: code[5:], 53, (1, 2, 4, 13, 26)),
    Grain.DATE: AxisSteps(
        lambda code: f"{int(code[8:])} {MONTHS[int(code[5:7]) - 1]}", 366, (1, 2, 7, 14, 28, 91), fills=False
    ),
}


def grain_of(values: Sequence[str]) -> Grain | None:
    """Return the grain of codes; None if they do not share one.

    Four-digit numbers are years if they are close together and recent. Otherwise they are ids, such as account numbers.
    """
    for grain in STEPS:
        if all(GRAINS[grain].parse(value) is not None for value in values):
            return grain if grain is not Grain.YEAR or are_years(sorted(map(int, values))) else None
    return None


def is_time(column: pl.Series) -> bool:
    """Tell whether a column holds dates or period codes."""
    if column.dtype.is_temporal():
        return True
    if column.dtype != pl.String:
        return False
    texts = column.drop_nulls()
    if texts.is_empty() or grain_of(texts.head(1).to_list()) is None:  # ids, of which there may be many
        return False
    return grain_of(texts.unique().to_list()) is not None


def are_years(numbers: Sequence[int]) -> bool:
    """Tell whether four-digit numbers are years."""
    first, last = numbers[0], numbers[-1]
    return first >= FIRST_YEAR and last <= LAST_YEAR and last - first < MOST_YEARS


def in_time(values: Sequence[str], grain: Grain) -> list[str]:
    """Return codes in time order with missing codes filled in; missing days are not filled."""
    form = GRAINS[grain]
    numbers = sorted({found for value in values if (found := form.parse(value)) is not None})
    return [form.code(n) for n in (range(numbers[0], numbers[-1] + 1) if STEPS[grain].fills else numbers)]


def labels_of(codes: Sequence[str], grain: Grain, most: int) -> dict[str, Label]:
    """Return labels for at most about `most` codes; the first code of each year has the year below it."""
    steps = STEPS[grain]
    every = next((step for step in steps.every if len(codes) / step <= most), -(-len(codes) // most))
    places = [GRAINS[grain].parse(code) or 0 for code in codes] if steps.fills else range(len(codes))
    chosen = [code for at, code in zip(places, codes, strict=True) if at % every == 0]
    if steps.in_year == 1:
        return {code: code for code in chosen}
    if every >= steps.in_year:
        return {code: code[: steps.year] for code in chosen}
    firsts = {code[: steps.year]: code for code in reversed(chosen)}
    return {
        code: [steps.label(code), code[: steps.year]] if firsts[code[: steps.year]] == code else steps.label(code)
        for code in chosen
    }


def words_of(code: str, grain: Grain | None) -> str:
    """Return a code as words for a sentence, "Sep 2026"; a name is unchanged."""
    if grain is None or STEPS[grain].in_year == 1:
        return code
    return f"{STEPS[grain].label(code)} {code[: STEPS[grain].year]}"
