"""Summaries: what a chart shows in one to three plain sentences whose figures are exact before they are rounded."""

from collections.abc import Iterable

from engine.charts.grid import Grid, Series
from engine.charts.units import Unit, unit_of
from engine.exact import Exact

MOST_SERIES = 3
PERCENT = unit_of("fraction", (1.0,))


def exact(value: float) -> Exact:
    """Return a figure by its shortest digits, so that 0.3 − 0.1 is 0.2."""
    return Exact.of(repr(value))


def number(figure: Exact) -> float:
    """Return the double of a figure to 15 digits: what arithmetic of a script left beyond them is noise."""
    return float(f"{figure.decimal():.15g}")


def total(values: Iterable[float]) -> float:
    """Return the sum of figures, exact before it is a double."""
    return number(sum(map(exact, values), Exact(0)))


def change_words(first: float, last: float, unit: Unit) -> str:
    """Return a change in the unit and, of a positive base, in percent: "+1.8, +14.6%"."""
    change = exact(last) - exact(first)
    said = unit.words_of(change, signed=True)
    if unit.sign or unit.name == "pp":
        return f"{said.removesuffix('%')} pp"
    return said if first <= 0 else f"{said}, {PERCENT.words_of(change / exact(first), signed=True)}"


def in_words(unit: Unit) -> str:
    """Return the unit as a sentence ends with it."""
    return f" {unit.words}" if unit.words and not unit.sign else ""


def of_series(grid: Grid, series: Series, unit: Unit) -> str:
    """Tell the course of one series: first, last, change, highest, lowest."""
    known = [(at, value) for at, value in enumerate(series.values) if value is not None]
    (at_first, first), (at_last, last) = known[0], known[-1]
    name = heading(grid, series)
    if len(known) == 1:
        return f"{name}{unit.text(first)}{in_words(unit)} in {grid.words(at_first)}."
    at_high, high = max(known, key=lambda found: found[1])
    at_low, low = min(known, key=lambda found: found[1])
    begun = f"{name}{unit.text(first)}{in_words(unit)} in {grid.words(at_first)}"
    ended = f"{unit.text(last)} in {grid.words(at_last)} ({change_words(first, last, unit)})"
    extremes = f"highest {unit.text(high)} in {grid.words(at_high)}, lowest {unit.text(low)} in {grid.words(at_low)}"
    return f"{begun}, {ended}; {extremes}."


def heading(grid: Grid, series: Series) -> str:
    """Return how a sentence on a series begins: with its name, unless it is alone."""
    return f"{series.name}: " if len(grid.series) > 1 else ""


def named(grid: Grid, name: str, figure: str) -> str:
    """Return a figure at the end of a line or area, with the name of its series, unless that is alone."""
    return f"{name[:30]} {figure}" if len(grid.series) > 1 else figure


def course(grid: Grid, unit: Unit) -> tuple[str, ...]:
    """Tell the course of the first series, and how many more there are."""
    told = [series for series in grid.series if series.known]
    said = [of_series(grid, series, unit) for series in told[:MOST_SERIES]]
    return (
        (*said[:-1], f"{said[-1]} {len(told) - MOST_SERIES} more series.") if len(told) > MOST_SERIES else tuple(said)
    )


def forecast_course(grid: Grid, unit: Unit, begins: int) -> tuple[str, ...]:
    """Tell the course of every series, and where the forecast begins."""
    return (f"The forecast begins in {grid.words(begins)}.", *course(grid, unit)[:2])


def ranking(grid: Grid, unit: Unit) -> tuple[str, ...]:
    """Tell the largest and the smallest of each series."""
    said = []
    for series in grid.series[:MOST_SERIES]:
        known = [(value, at) for at, value in enumerate(series.values) if value is not None]
        (high, at_high), (low, at_low) = max(known), min(known)
        most = f"{grid.words(at_high)} is largest with {unit.text(high)}{in_words(unit)}"
        said.append(f"{heading(grid, series)}{most}, {grid.words(at_low)} smallest with {unit.text(low)}.")
    return tuple(said)
