"""Periods along an axis: codes in the order of time, with those that are missing, and few labels that do not collide.

2026-01, 2026-Q1, 2026-W05, 2026 and 2026-01-31; all codes of one axis are of one grain.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from engine.model.calendar.periods import MONTHS, SHAPES, Grain, iso_week, parse_day, week_code

Label = str | list[str]
FIRST_YEAR, LAST_YEAR, MOST_YEARS = 1950, 2100, 40


@dataclass(frozen=True, slots=True)
class Steps:
    """The codes of one grain as numbers that count in time."""

    ordinal: Callable[[str], int | None]
    code: Callable[[int], str] | None  # None where what is missing is no gap: a day without figures
    label: Callable[[str], str]
    in_year: int
    every: tuple[int, ...]  # steps between labels that read well


def month_of(code: str) -> int | None:
    """Return a month as months since year 0."""
    year, month = int(code[:4]), int(code[5:])
    return year * 12 + month - 1 if 1 <= month <= 12 else None


def quarter_of(code: str) -> int | None:
    """Return a quarter as quarters since year 0."""
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
    """Return the grain of codes; None where they are not all codes of one.

    Four digits are years where they lie close together in our time, and ids of accounts otherwise.
    """
    for grain, steps in STEPS.items():
        if all(SHAPES[grain][0].fullmatch(value) and steps.ordinal(value) is not None for value in values):
            return grain if grain is not Grain.YEAR or are_years(sorted(map(int, values))) else None
    return None


def are_years(numbers: Sequence[int]) -> bool:
    """Tell whether numbers of four digits are years."""
    first, last = numbers[0], numbers[-1]
    return first >= FIRST_YEAR and last <= LAST_YEAR and last - first < MOST_YEARS


def in_time(values: Sequence[str], grain: Grain) -> list[str]:
    """Return codes in the order of time, with those between that are missing; days are never filled in."""
    steps = STEPS[grain]
    ordinals = sorted({found for value in values if (found := steps.ordinal(value)) is not None})
    if steps.code is None:
        return [date.fromordinal(ordinal).isoformat() for ordinal in ordinals]
    return [steps.code(ordinal) for ordinal in range(ordinals[0], ordinals[-1] + 1)]


def labels_of(codes: Sequence[str], grain: Grain, most: int) -> dict[str, Label]:
    """Return at most about so many codes with their labels; the year stands under the first of each year."""
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
    """Return a code as a sentence says it: "Sep 2026"; a name as it is."""
    if grain is None or grain is Grain.YEAR:
        return code
    return f"{STEPS[grain].label(code)} {code[:4]}"
