"""Periods along an axis: codes in time order with gaps filled, and few labels that do not collide.

Codes are 2026-01, 2026-Q1, 2026-W05, 2026 and 2026-01-31. All codes of one axis have one grain.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from engine.model.calendar.periods import MONTHS, SHAPES, Grain, iso_week, parse_day, week_code

Label = str | list[str]
FIRST_YEAR, LAST_YEAR, MOST_YEARS = 1950, 2100, 40


@dataclass(frozen=True, slots=True)
class Steps:
    """Conversion of the codes of one grain to consecutive numbers and back."""

    ordinal: Callable[[str], int | None]
    code: Callable[[int], str] | None  # None for days, which are never filled
    label: Callable[[str], str]
    in_year: int
    every: tuple[int, ...]  # numbers of steps between labels


def month_of(code: str) -> int | None:
    """Return a month as the number of months since year 0."""
    year, month = int(code[:4]), int(code[5:])
    return year * 12 + month - 1 if 1 <= month <= 12 else None


def quarter_of(code: str) -> int | None:
    """Return a quarter as the number of quarters since year 0."""
    year, quarter = int(code[:4]), int(code[6:])
    return year * 4 + quarter - 1 if 1 <= quarter <= 4 else None


def day_of(code: str) -> int | None:
    """Return a day as its ordinal."""
    found = SHAPES[Grain.DATE][0].fullmatch(code)
    return None if found is None else parse_day(found)


STEPS = {
    Grain.YEAR: Steps(int, lambda n: f"{n:04}", lambda code: code, 1, (1, 2, 5, 10, 25)),
    Grain.QUARTER: Steps(quarter_of, lambda n: f"{n // 4:04}-Q{n % 4 + 1}", lambda code: code[5:], 4, (1, 2, 4, 8, 20)),
    Grain.MONTH: Steps(
        month_of,
        lambda n: f"{n // 12:04}-{n % 12 + 1:02}",
        lambda code: MONTHS[int(code[5:]) - 1],
        12,
        (1, 2, 3, 6, 12, 24, 60),
    ),
    Grain.WEEK: Steps(
        lambda code: iso_week(int(code[:4]), int(code[6:])), week_code, lambda code: code[5:], 53, (1, 2, 4, 13, 26)
    ),
    Grain.DATE: Steps(
        day_of, None, lambda code: f"{int(code[8:])} {MONTHS[int(code[5:7]) - 1]}", 366, (1, 2, 7, 14, 28, 91)
    ),
}


def grain_of(values: Sequence[str]) -> Grain | None:
    """Return the grain of codes; None if they do not share one.

    Four-digit numbers are years if they are close together and recent. Otherwise they are ids, such as account numbers.
    """
    for grain, steps in STEPS.items():
        if all(SHAPES[grain][0].fullmatch(value) and steps.ordinal(value) is not None for value in values):
            return grain if grain is not Grain.YEAR or are_years(sorted(map(int, values))) else None
    return None


def are_years(numbers: Sequence[int]) -> bool:
    """Tell whether four-digit numbers are years."""
    first, last = numbers[0], numbers[-1]
    return first >= FIRST_YEAR and last <= LAST_YEAR and last - first < MOST_YEARS


def in_time(values: Sequence[str], grain: Grain) -> list[str]:
    """Return codes in time order with missing codes filled in; missing days are not filled."""
    steps = STEPS[grain]
    ordinals = sorted({found for value in values if (found := steps.ordinal(value)) is not None})
    if steps.code is None:
        return [date.fromordinal(ordinal).isoformat() for ordinal in ordinals]
    return [steps.code(ordinal) for ordinal in range(ordinals[0], ordinals[-1] + 1)]


def labels_of(codes: Sequence[str], grain: Grain, most: int) -> dict[str, Label]:
    """Return labels for at most about `most` codes; the first code of each year has the year below it."""
    steps = STEPS[grain]
    every = next((step for step in steps.every if len(codes) / step <= most), -(-len(codes) // most))
    chosen = [code for at, code in enumerate(codes) if ((steps.ordinal(code) or 0) if steps.code else at) % every == 0]
    if steps.in_year == 1:
        return {code: code for code in chosen}
    if every >= steps.in_year:
        return {code: code[:4] for code in chosen}
    firsts = {code[:4]: code for code in reversed(chosen)}
    return {code: [steps.label(code), code[:4]] if firsts[code[:4]] == code else steps.label(code) for code in chosen}


def words_of(code: str, grain: Grain | None) -> str:
    """Return a code as words for a sentence, "Sep 2026"; a name is unchanged."""
    if grain is None or grain is Grain.YEAR:
        return code
    return f"{STEPS[grain].label(code)} {code[:4]}"
