"""Reports described in full: the JSON of exported files, and the rows and columns of the tables that widgets draw.

Each row and column has everything that is known of it, so a file can be read without the books.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from msgspec import Struct
from msgspec.structs import asdict

from engine.model.calendar.periods import PeriodRange
from engine.model.catalogue import Favourable, Format, Style
from engine.model.exact import json_number
from engine.model.notes import Note
from engine.model.stopping import Stop, watched
from engine.notes.currency_notes import MIXED
from engine.plans.freshness import Freshness
from engine.present.answers.budget import (
    NOT_KEPT,
    Json,
    LeftOut,
    UncutAnswer,
)
from engine.present.answers.places import PlaceCut
from engine.report.data import Comparison, Drill, MemberTuple, ReportColumn, ReportData, ScenarioStyle
from engine.report.drill import joined
from engine.report.layout import FiguresOfRow, Layout, LayoutColumn, LayoutRow, layout
from engine.report.report import height_of, row_label, schema_of

TYPES: dict[type[pl.DataType], str] = {pl.String: "text", pl.UInt32: "integer", pl.Float64: "number"}
SAID_WHERE_THERE = ("undated", "undated_amount", "earliest_loaded_at")  # optional fields of a freshness
OF_ACTUALS = (ScenarioStyle.ACTUAL, ScenarioStyle.PRIOR_YEAR)  # the scenario's shifts tell them apart


def whole_report(report: ReportData, stop: Stop) -> UncutAnswer:
    """Return the result object with all rows; calls `stop` before each."""
    sheet = layout(report)
    return UncutAnswer(described(report, sheet), rows_of(sheet, stop))


def rows_of(sheet: Layout, stop: Stop) -> Iterator[Json]:
    """Yield the rows with their values."""
    for down, figures in sheet.figures():
        stop()
        yield {**row_json(sheet.report, down), "values": values_json(sheet.report, figures)}


def described(report: ReportData, sheet: Layout) -> Json:
    """Return the result object around the rows."""
    head = {"statement": report.statement} if report.statement else {"metrics": [line.key for line in report.lines]}
    return {
        **head,
        "label": report.label,
        "period": full_period_json(report.period),
        **currency_json(report.currency),
        "scale": report.scale,
        "decimals": report.decimals,
        **materiality_json(report),
        **immaterial_json(report),
        "columns": [column_json(report, column, at) for at, column in enumerate(sheet.across)],
        "notes": NOT_KEPT.notes(report.notes),
        "freshness": freshness_json(report.freshness),
        "catalogue_version": report.catalogue_version,
        "data_version": report.data_version,
        "dataset": dataset_json(report),
    }


def currency_json(currency: str) -> Json:
    """Return the currency of the amounts; nothing for several, which every unit says."""
    return {} if currency == MIXED else {"currency": currency}


def full_period_json(period: PeriodRange) -> Json:
    """Return a period range: its codes, grain, days and label; rows without a date have no grain and no days."""
    days = {
        "grain": period.grain.value,
        "first_day": period.span.first.isoformat(),
        "last_day": period.span.last.isoformat(),
    }
    dated = {} if period.is_undated else days
    return {"start": period.start.code, "end": period.end.code, **dated, "label": period.label}


class VisiblePart(Struct, frozen=True):
    """The part of a report that an answer shows, and how much of each axis it leaves out."""

    report: ReportData
    sheet: Layout
    left_out: LeftOut
    notes: Sequence[Note]


def visible_part(
    report: ReportData,
    deepest: int | None = None,
    places: int | None = None,
    cut: PlaceCut | None = None,
    without: Collection[int] = (),
) -> VisiblePart:
    """Return a part of a report: lines down to a level, `without` some, and some places beside the total, the last."""
    cut = cut or PlaceCut(report)
    shallow = (at for at, line in enumerate(report.lines) if deepest is None or line.level <= deepest)
    lines = [at for at in shallow if at not in without]
    shown = cut.kept(len(report.places) if places is None else places)
    left = {"lines": len(report.lines) - len(lines), "members": len(report.places) - len(shown)}
    sheet = layout(report, lines, shown)
    left_out = {axis: entries for axis, entries in left.items() if entries}
    return VisiblePart(report, sheet, left_out, (*report.notes, *cut.notes(left["members"])))


def values_json(report: ReportData, figures: FiguresOfRow) -> list[int | float | str | None]:
    """Return the figures of a row of the sheet as JSON."""
    numerators, denominators = report.figures.numerators, report.figures.denominators
    first, forms = figures
    return [
        None
        if (numerator := numerators[first + beyond]) is None
        else json_number(numerator, (denominators[first + beyond] or 1) * divisor, quotient)
        for beyond, divisor, quotient in watched(forms)
    ]


def materiality_json(report: ReportData) -> Json:
    """Return what the lines of a statement had to reach; nothing where the request does not say."""
    material = report.materiality
    if material is None:
        return {}
    bounds = {"absolute": material.amount, "percent": material.percent}
    written_bounds = {name: bound.as_json() for name, bound in bounds.items() if bound is not None}
    rule = {"rule": "all" if material.needs_both else "any"} if len(written_bounds) > 1 else {}
    return {"materiality": {"of": report.columns[material.column].heading, **written_bounds, **rule}}


def immaterial_json(report: ReportData, *, labels: bool = True) -> Json:
    """Return the lines that are not material: how many of each unit, and below each node with their sum."""
    material = report.materiality
    if material is None or not material.left_out:
        return {}
    comparison = report.columns[material.column].comparison
    entries: list[Json] = []
    for group in material.left_out:
        line, entry = group.largest, dict[str, Any]()
        if group.below is None:
            entry["unit"] = report.unit(line, comparison)
        else:
            entry["below"] = group.below
        entry["lines"] = group.lines
        quotient = report.is_quotient(line, comparison)
        if group.total is not None:
            entry["sum"] = report.shown(line, comparison, group.total).as_json(quotient=quotient)
        if group.figure is not None:
            entry["largest"] = line.key
            entry |= {"label": line.label} if labels else {}
            entry["value"] = report.shown(line, comparison, group.figure).as_json(quotient=quotient)
        entries.append(entry)
    return {"immaterial": entries}


def row_json(report: ReportData, down: LayoutRow) -> Json:
    """Return the description of a row, without its values."""
    if down.line is None:
        place = report.places[down.place or 0]
        return {
            "key": place_key(place),
            "label": report.total_words() if place.is_total else row_label(place, report),
            "level": report.depth(place),
            "kind": "total" if place.is_total else "member" if place.holds is None else "others",
            "style": place_style(place, report).value,
            "favourable": Favourable.NONE.value,
            "unit": None,
            "format": None,
            **({"holds": place.holds} if place.holds is not None else {}),
            **({"unmet": place.unmet} if place.unmet is not None else {}),
            **members_json(place),
            **(labels_json(place) if len(place.members) > 1 else {}),  # a single member's label is the row's label
            **into_parent_json(place),
            **own_currency(place.currency),
            **drill_json(report.drill.at(place.members)),
        }
    line = report.lines[down.line]
    unit = report.unit(line, Comparison.FIGURE)
    points = report.unit(line, Comparison.VARIANCE)
    return {
        "key": line.key,
        "label": line.label,
        "level": line.level,
        "kind": line.kind,
        "style": line.style.value,
        "favourable": line.favourable.value,
        "unit": unit,
        **({"variance_unit": points} if points != unit else {}),
        "format": line.format.value if line.type else None,
        **({"aggregate": True} if line.repeats_over else {}),
        **({"holds": line.holds} if line.holds is not None else {}),
        **({"into_parent": line.into_parent.as_json()} if line.into_parent is not None else {}),
        **drill_json(line.drill),
    }


def place_style(place: MemberTuple, report: ReportData) -> Style:
    """Return how a row of members is typeset."""
    if place.is_total:
        return Style.TOTAL
    return Style.SUBTOTAL if report.is_subtotal(place) else Style.PLAIN


def place_key(place: MemberTuple) -> str:
    """Return the key of a place: its member ids."""
    return "total" if place.is_total else "/".join(member.id for member in place.members)


def members_json(place: MemberTuple) -> Json:
    """Return the members of a place."""
    return {"members": {member.dimension: member.id for member in place.members}}


def labels_json(place: MemberTuple) -> Json:
    """Return the labels of a place's members that differ from their ids."""
    labels = {member.dimension: member.label for member in place.members if member.label != member.id}
    return {"labels": labels} if labels else {}


def into_parent_json(place: MemberTuple) -> Json:
    """Return what a place counts for in the total, or in the sub-total above it, if that is not 1."""
    return {} if place.into_parent is None else {"into_parent": place.into_parent.as_json()}


def own_currency(currency: str | None) -> Json:
    """Return the currency of a column or row of a report of several; nothing where it has none of its own."""
    return {} if currency is None else {"currency": currency}


def switches_json(column: ReportColumn) -> Json:
    """Return the last month that a blend has of its first scenario, by domain where domains differ; else nothing."""
    months = list(dict.fromkeys(column.switches.values()))
    return {"switches_after": months[0] if len(months) == 1 else dict(column.switches)} if months else {}


def column_json(report: ReportData, across: LayoutColumn, at: int) -> Json:
    """Return the description of a column: its scenario, and a place of a statement or a metric."""
    column = report.columns[across.column]
    window = column.window if across.place is None else report.window(column, report.places[across.place])
    shown: Json = {"key": f"c{at + 1}", "alias": column.heading, "scenario": column.scenario}
    if column.style not in OF_ACTUALS:
        shown["style"] = column.style.value
    if window is not None:
        shown["period"] = {"start": window.start.code, "end": window.end.code, "label": window.label}
    shown |= switches_json(column)
    if across.line is not None:
        line = report.lines[across.line]
        return {
            **shown,
            "metric": line.key,
            "label": line.label,
            "favourable": line.favourable.value,
            "unit": report.unit(line, column.comparison, currency=report.currency_at(line, column, None)),
            "format": format_of(column.comparison) or line.format.value,
            **(drill_json(joined(column.drill, line.drill)) if line.drill is not None and column.has_rows else {}),
        }
    place = report.places[across.place or 0]
    return {
        **shown,
        **({"level": depth} if (depth := report.depth(place)) else {}),
        **members_json(place),
        **labels_json(place),
        **into_parent_json(place),
        **({"is_total": True} if report.breakdown and place.is_total else {}),
        **own_currency(column.currency or place.currency),
        "unit": own_unit(column.comparison),
        "format": format_of(column.comparison),
        **(drill_json(joined(column.drill, report.drill.at(place.members))) if column.has_rows else {}),
    }


def own_unit(comparison: Comparison) -> str | None:
    """Return the unit of a column whose figures have another than their lines; None where they have that."""
    if comparison.keeps_unit:
        return None
    if not comparison.is_fraction:
        return "number"
    return "pp" if comparison.is_in_points else "fraction"


def format_of(comparison: Comparison) -> str | None:
    """Return the format of a column whose figures have another than their lines; None where they have that."""
    if comparison.keeps_unit:
        return None
    shown = Format.PERCENT if comparison.is_fraction else Format.NUMBER
    return str(shown.value)


def drill_json(drill: Drill | None) -> Json:
    """Return a drill part as JSON; empty if there is none."""
    return {"drill": drill} if drill else {}


def freshness_json(freshness: Mapping[str, Mapping[str, Freshness]]) -> Json:
    """Return the freshness of every scenario by domain."""
    return {
        domain: {scenario: known_json(known) for scenario, known in scenarios.items()}
        for domain, scenarios in freshness.items()
    }


def known_json(known: Freshness) -> Json:
    """Return a freshness, without its empty optional fields."""
    parts = asdict(known) | {"undated_amount": known.undated_amount.as_json() if known.undated_amount else None}
    return {name: part for name, part in parts.items() if name not in SAID_WHERE_THERE or part is not None}


def dataset_json(report: ReportData) -> Json:
    """Return the shape of the tidy frame that holds every figure of the report."""
    kinds = {line.figure_class: line for line in report.lines if line.type}
    units = {report.unit(line, column.comparison, scaled=False) for line in kinds.values() for column in report.columns}
    value_unit = units.pop() if len(units) == 1 and report.currency != MIXED else "as in unit"
    return {
        "row_count": height_of(report),
        "columns": [
            {"name": name, "type": TYPES[dtype], "unit": value_unit if name == "value" else None}
            for name, dtype in schema_of(report).items()
        ],
    }
