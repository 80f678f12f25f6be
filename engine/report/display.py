"""Figures as people read them: scaled, rounded once, with signs that say what they are."""

from engine.catalogue import Format
from engine.exact import Exact
from engine.formulas.figures import Kind
from engine.report.data import Comparison, Line, ReportData

PLACES = {Format.CURRENCY: 0, Format.NUMBER: 0, Format.PERCENT: 1}
MINUS = "\N{MINUS SIGN}"
ZERO = "\N{EN DASH}"
HUNDRED = Exact(100)


def display(report: ReportData, line: Line, comparison: Comparison, figure: Exact | None) -> str:
    """Return a figure as text: "" for none, an en dash for zero, parentheses around negative amounts.

    Percents and points are shown times 100; variances and percents carry a sign. Rounding is half away from zero.
    """
    if figure is None:
        return ""
    shown = report.shown(line, comparison, figure)
    is_percent, places = is_in_hundredths(line, comparison), places_shown(report, line, comparison)
    rounded = (shown * HUNDRED if is_percent else shown).rounded(places)
    if not rounded:
        return ZERO
    negative = rounded.numerator < 0
    digits = grouped(abs(rounded.numerator), places)
    if is_percent:
        suffix = " pp" if comparison is Comparison.VARIANCE else "%"
        sign = MINUS if negative else "+" if comparison is not Comparison.FIGURE else ""
        return f"{sign}{digits}{suffix}"
    if comparison is Comparison.VARIANCE:
        return f"{MINUS if negative else '+'}{digits}"
    return f"({digits})" if negative else digits


def is_in_hundredths(line: Line, comparison: Comparison) -> bool:
    """Tell whether a figure is shown times 100."""
    return comparison is Comparison.SHARE or line.format is Format.PERCENT


def places_shown(report: ReportData, line: Line, comparison: Comparison) -> int:
    """Return the decimal places of a figure: as asked for, else as its kind has them."""
    if report.decimals is not None:
        return report.decimals
    if is_in_hundredths(line, comparison):
        return 1
    return 2 if line.type is not None and line.type.kind in (Kind.PRICE, Kind.RATIO) else default(report, line)


def default(report: ReportData, line: Line) -> int:
    """Return the decimal places of a figure where the request names none: 1 in millions and above."""
    return 1 if report.scale >= 6 and line.format is Format.CURRENCY else PLACES[line.format]


def grouped(units: int, places: int) -> str:
    """Return units of the last decimal place as text with thousands set apart."""
    if not places:
        return f"{units:,}"
    whole, decimals = divmod(units, 10**places)
    return f"{whole:,}.{decimals:0{places}}"
