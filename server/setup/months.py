"""Months across: the columns that are named by months, wherever they stand, and the sums of them that stand beside."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

import polars as pl

from engine.model.calendar.labels import MONTHS
from server.files.dates import month_number
from server.files.days import MonthColumns, detect_month_columns, is_dated_month, is_month_name
from server.files.findings import Finding, Findings
from server.files.notation import NumberColumn
from server.files.period_names import SPOKEN, PeriodKind, month_of, numbered, period_code
from server.setup.figures import exact_figures
from server.setup.words import scenario_kind, without_scenario

FEWEST_CODED: Final = {kind: 3 if kind is PeriodKind.MONTH else 2 for kind in PeriodKind}  # columns with their years
FEWEST_SPOKEN: Final = 2  # of them where their names say a scenario
FEWEST: Final = 3  # months that make a table of months across
SPANS: Final = (2, 3, 4, 6, 12)  # quarters of a half, months of a quarter, quarters of a year, months of both


def month_columns(columns: Sequence[str]) -> MonthColumns | None:
    """Return the columns that are named by months; None if fewer than three are, or two name the same month.

    They are named by a month, by a month and its year (`Jan-26`), by a number (`P01`, `Monat 1`, `1` to `12`), or by a
    month behind a kind of scenario (`Plan Jan`).
    """
    for fits in (is_month_name, is_dated_month):
        found = detect_month_columns([name for name in columns if fits(name)])
        if found is not None:
            return found if found.has_years or differ(map(month_of, found.names)) else None
    if (coded := coded_columns(columns)) is not None:
        return coded
    groups: dict[str, dict[str, int]] = {}
    for name in columns:
        spoken = SPOKEN.fullmatch(name.strip())
        match = numbered(name) or (spoken if spoken and scenario_kind(spoken["word"]) else None)
        if match and (month := month_of(name)):
            groups.setdefault((match["word"] or "").lower(), {})[name] = month
    fitting = [group for word, group in groups.items() if len(group) >= (FEWEST if word else len(MONTHS))]
    if len(fitting) != 1 or not differ(fitting[0].values()):
        return None
    return MonthColumns(tuple(fitting[0]), has_years=False, findings=month_names(fitting[0]))


def coded_columns(columns: Sequence[str]) -> MonthColumns | None:
    """Return the columns that name periods with their year in a form that no format of days reads, with their codes.

    Of columns of several kinds they are the finest: those of longer periods stand beside them, as sums do.
    """
    codes: dict[PeriodKind, dict[str, str]] = {}
    spoken = 0
    for name in columns:
        scenario, bare = without_scenario(name)
        spoken += scenario is not None
        for kind, code in period_code(bare):
            codes.setdefault(kind, {})[name] = code
    fewest = dict.fromkeys(FEWEST_CODED, FEWEST_SPOKEN) if spoken else FEWEST_CODED
    fitting = [kind for kind in PeriodKind if len(codes.get(kind, {})) >= fewest[kind]]
    if not fitting or not differ(codes[fitting[0]].values()):
        return None
    kind, found = fitting[0], codes[fitting[0]]
    is_half = kind is PeriodKind.HALF
    findings = Findings()
    return MonthColumns(
        tuple(found), has_years=True, findings=findings, codes=found, grain=kind.grain, are_halves=is_half
    )


def differ(periods: Iterable[int | str | None]) -> bool:
    """Tell whether no period occurs twice."""
    codes = list(periods)
    return len(set(codes)) == len(codes)


def month_names(months: Mapping[str, int]) -> Findings:
    """Return the key that reads the names of columns as months; none if a load reads them without it."""
    if all(month_number(name) == f"{month:02}" for name, month in months.items()):
        return Findings()
    written = {month: name for name, month in months.items()}
    names = [written.get(month, name) for month, name in enumerate(MONTHS, 1)]
    return Findings((Finding("dates.months", names, f"columns {', '.join(months)}"),))


def is_numbered(names: Sequence[str]) -> bool:
    """Tell whether months are named by numbers, which a fiscal year may count from another month than January."""
    return all(map(numbered, names))


def turns_the_year(names: Sequence[str]) -> bool:
    """Tell whether months without years run from one year into the next, as from July to June."""
    months = [month_of(name) or 0 for name in names]
    steps = [later > earlier for earlier, later in pairwise(months)]
    return any(steps) and not all(steps)


# Sums that stand beside the months.


def sums_beside(
    frame: pl.DataFrame, across: Sequence[NumberColumn], beside: Sequence[NumberColumn]
) -> Iterator[tuple[str, str | None]]:
    """Yield each column of numbers beside months, and the months that it sums up in every row; None if none."""
    order = frame.columns
    months = sorted((one.name for one in across), key=order.index)
    figures = exact_figures(frame, [*across, *beside])
    for column in beside:
        runs = runs_of(months, [name for name in months if order.index(name) < order.index(column.name)])
        proven = (run for run in runs if len(run) > 1 and is_sum(figures, run, column.name))
        run = next(proven, None)
        yield column.name, f"the sum of {run[0]} to {run[-1]} in every row" if run else None


def runs_of(months: Sequence[str], before: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the months that a column may sum up: all, those before it, and the last quarter and half before it."""
    yield months
    yield before
    yield from (before[-span:] for span in SPANS if len(before) >= span)


def is_sum(figures: pl.DataFrame, months: Sequence[str], column: str) -> bool:
    """Tell whether a column is the sum of some months in each of its rows, and not zero in all of them."""
    total = pl.sum_horizontal(pl.col(name).cast(pl.Int128) for name in months)
    proven = figures.select(((total == pl.col(column)).all() & (pl.col(column) != 0).any()).alias("proven"))
    complete = not any(figures[name].null_count() for name in (*months, column))
    return complete and bool(proven["proven"][0])
