"""Transforms: tables that scripts compute from stored results, with the notes and permission of those results."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from engine.model.errors import first_of
from engine.model.notes import NAMED, Note
from engine.notes.currency_notes import MIXED
from engine.plans.freshness import Freshness
from engine.report.data import PER, ReportData
from engine.report.explanation import Explanation
from engine.report.inspection import Inspection
from engine.report.permission import Permission, joined
from engine.report.report import Report

Fresh = Mapping[str, Mapping[str, Freshness]]
Measured = Iterator[tuple[str | None, pl.Series]]  # figures by unit
NO_CURRENCY = ("number", "ratio", "fraction", "pp", "days")  # units of figures that are no amounts
NO_DAY = ""  # sorts before any load time


class Transform(Struct, frozen=True, eq=False, kw_only=True):
    """A table that a script computed. Its figures are floats, without proof of exactness."""

    label: str
    frame: pl.DataFrame
    units: Mapping[str, str]  # of columns whose figures come unchanged from a result
    code: str
    chart: Mapping[str, Any]  # the chart requested
    inputs: tuple[str, ...]  # descriptions of the script's inputs
    notes: tuple[Note, ...]
    freshness: Fresh
    catalogue_version: str
    data_version: str
    permission: Permission


class ScriptOutput(Struct, frozen=True):
    """What a script was asked and what it left; without a script, a result as it is."""

    label: str
    code: str
    chart: Mapping[str, Any]
    frame: pl.DataFrame
    units: Mapping[str, str] = {}  # of columns whose unit is known beforehand
    notes: tuple[Note, ...] = ()


Given = Report | Inspection | Transform | Explanation


class TransformInput(Struct, frozen=True):
    """How to describe one kind of input, and how to list its figures by unit."""

    words: Callable[[Any], str]
    measured: Callable[[Any], Measured]


def transformed(made: ScriptOutput, given: Sequence[Given]) -> Transform:
    """Return the transform that a script made of results, with all their permissions."""
    inputs = tuple(INPUTS[type(one)].words(one) for one in given)
    units = {**units_of(made.frame, given), **made.units}
    mixing = mixed_columns(made.frame, units, given) if made.code else ()
    computed = [Note.of("script_figures")] if made.code else []
    if mixing:
        computed.append(mixed_note(mixing, given))
    return Transform(
        label=made.label,
        frame=made.frame,
        units={**dict.fromkeys(mixing, MIXED), **units},
        code=made.code,
        chart=made.chart,
        inputs=inputs,
        notes=tuple(dict.fromkeys([*(note for one in given for note in one.notes), *made.notes, *computed])),
        freshness=freshness_of(given),
        catalogue_version=", ".join(dict.fromkeys(one.catalogue_version for one in given)),
        data_version=", ".join(dict.fromkeys(one.data_version for one in given)),
        permission=joined([one.permission for one in given]),
    )


def units_of(frame: pl.DataFrame, given: Sequence[Given]) -> dict[str, str]:
    """Return the units of columns whose figures all occur in one unit of the inputs.

    A script may divide, scale and rename, so a figure that no input holds has no known unit. A sign changes no unit,
    and a zero has any. Where several units hold every figure, the one that a column `unit` says throughout decides.
    """
    known: dict[str | None, list[pl.Series]] = {}
    for one in given:
        for unit, figures in INPUTS[type(one)].measured(one):
            known.setdefault(unit, []).append(figures.drop_nulls())
    pools = {unit: pl.concat([figures.rename("").abs() for figures in found]).unique() for unit, found in known.items()}
    said = frame["unit"].unique().to_list() if frame.schema.get("unit") == pl.String else []
    found_units = {}
    for name, dtype in frame.schema.items():
        figures = frame[name].drop_nulls()
        if dtype == pl.Float64 and len(figures):
            amounts = figures.filter(figures != 0).abs()
            units = [unit for unit, pool in pools.items() if amounts.is_in(pool.implode()).all()]
            if len(units) > 1 and len(said) == 1:
                units = [unit for unit in units if unit == said[0]]
            if len(units) == 1 and units[0]:
                found_units[name] = units[0]
    return found_units


def currencies_of(given: Sequence[Given]) -> list[str]:
    """Return the currencies of the amounts of some results; of several, MIXED is among them where they are added up."""
    units = (unit for one in given for unit, _ in INPUTS[type(one)].measured(one))
    return list(dict.fromkeys(unit for unit in units if unit and unit not in NO_CURRENCY and not unit.endswith(PER)))


def mixed_columns(frame: pl.DataFrame, units: Mapping[str, str], given: Sequence[Given]) -> tuple[str, ...]:
    """Return the columns of a script's table that may add up several currencies: figures of no known unit."""
    if len(currencies_of(given)) < 2:
        return ()
    return tuple(name for name, dtype in frame.schema.items() if dtype == pl.Float64 and name not in units)


def mixed_note(columns: Iterable[str], given: Sequence[Given]) -> Note:
    """Return the note on columns of a script that may add up amounts of several currencies."""
    currencies = first_of([each for each in currencies_of(given) if each != MIXED], NAMED)
    return Note.of("mixed_currency", operands=tuple(columns), currencies=currencies)


def freshness_of(given: Sequence[Given]) -> dict[str, dict[str, Freshness]]:
    """Return the freshness of the results by domain and scenario; the oldest load wins."""
    fresh: dict[str, dict[str, Freshness]] = {}
    for one in given:
        for domain, scenarios in one.freshness.items():
            for scenario, known in scenarios.items():
                held = fresh.setdefault(domain, {})
                held[scenario] = older(held[scenario], known) if scenario in held else known
    return fresh


def older(one: Freshness, other: Freshness) -> Freshness:
    """Return the older of two freshnesses; it is open if either is."""
    first = min(one, other, key=lambda known: known.loaded_at or NO_DAY)
    return replace(first, open=first.open or one.open or other.open)


def report_words(report: ReportData) -> str:
    """Return the description of a report."""
    return f"{report.label}, {report.period.label}: {', '.join(column.heading for column in report.columns)}"


def report_measured(report: Report) -> Measured:
    """Yield the figures of a report by unit."""
    for (unit,), part in report.frame.group_by("unit", maintain_order=True):
        yield unit, part["value"]


def inspection_words(inspection: Inspection) -> str:
    """Return the description of an inspection."""
    period = f", {inspection.period.label}" if inspection.period else ""
    return f"rows of {inspection.source}, {inspection.scenario}{period}"


def inspection_measured(inspection: Inspection) -> Measured:
    """Yield the amounts of an inspection by unit, column by column."""
    for column in inspection.columns:
        if column.kind == "amount":
            yield column.unit, inspection.frame[column.name]


def transform_measured(transform: Transform) -> Measured:
    """Yield the numbers of a transform by unit, column by column."""
    for name, dtype in transform.frame.schema.items():
        if dtype == pl.Float64:
            yield transform.units.get(name), transform.frame[name]


def explanation_words(explanation: Explanation) -> str:
    """Return the description of an explanation."""
    sides = " explained against ".join(side.heading for side in explanation.sides) or "nothing explained"
    return f"{explanation.line.label}, {explanation.period.label}: {sides}"


def explanation_measured(explanation: Explanation) -> Measured:
    """Yield the totals and contributions of an explanation by unit."""
    for (unit,), part in explanation.frame.group_by("unit", maintain_order=True):
        yield unit, part["value"]


INPUTS: Mapping[type, TransformInput] = {
    Report: TransformInput(report_words, report_measured),
    Inspection: TransformInput(inspection_words, inspection_measured),
    Explanation: TransformInput(explanation_words, explanation_measured),
    Transform: TransformInput(lambda transform: transform.label, transform_measured),
}
