"""Answers: a report as a result object within a token budget.

Rows are arrays aligned with the columns. A figure is a JSON number if the shortest text of its double is exact.
Otherwise it is digits as text, and its column says so. A long answer drops the deepest lines first, then the smallest
breakdown members (never totals), then rows of metrics from the end. The answer counts what it drops.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain

import polars as pl

from engine.model.catalogue import Favourable
from engine.model.errors import BadArguments, quoted
from engine.model.exact import Exact
from engine.model.notes import Note
from engine.model.stopping import Stop, never
from engine.plans.freshness import Freshness
from engine.present.answers.budget import (
    NOT_KEPT,
    TOKENS_PER_VALUE,
    DataRef,
    Json,
    LeftOut,
    UncutAnswer,
    fitted,
    period_json,
)
from engine.present.answers.places import PlaceCut
from engine.report.data import Comparison, Drill, MemberTuple, ReportData, ScenarioStyle
from engine.report.drill import joined
from engine.report.layout import Layout, LayoutColumn, LayoutRow, TableCell, layout
from engine.report.report import height_of, schema_of

TYPES: dict[type[pl.DataType], str] = {pl.String: "text", pl.UInt32: "integer", pl.Float64: "number"}
SAID_WHERE_THERE = ("undated", "earliest_loaded_at")  # optional fields of a freshness
OF_ACTUALS = (ScenarioStyle.ACTUAL, ScenarioStyle.PRIOR_YEAR)  # the scenario's shifts tell them apart
TOKENS_PER_PLACE = 8  # least tokens of a member's column or row


def answer(report: ReportData, budget: int, data_ref: DataRef = NOT_KEPT, stop: Stop = never) -> Json:
    """Return the result object of a report, at most about `budget` tokens long as JSON text."""
    axes = axes_of_report(report)
    cut = PlaceCut(report)

    def build(left: LeftOut) -> Json:
        deepest, places = axes["levels"] - left["levels"], axes["members"] - left["members"]
        return visible_part(report, data_ref, deepest, places, cut).result()

    result = fitted(build, axes, budget, stop, least_left_out(report, budget))
    if result is None:
        fewer = "scenarios" if report.statement else "metrics, scenarios"
        narrower = f", or filter {quoted(report.breakdown)}" if report.breakdown else ""
        raise BadArguments(
            f"Even the totals of this report are longer than {budget} tokens. Ask for fewer {fewer} or a shorter "
            f"range{narrower}.",
            field="dimensions" if report.breakdown else "scenarios",
            got=list(report.breakdown) or len(report.columns),
        )
    return result


def axes_of_report(report: ReportData) -> dict[str, int]:
    """Return how many levels of lines, then members besides the total, an answer can leave out."""
    return {"levels": max((line.level for line in report.lines), default=0), "members": len(report.places) - 1}


def least_left_out(report: ReportData, budget: int) -> int:
    """Return how many levels and members an answer must leave out, by the least tokens of figures that need no JSON."""
    levels = axes_of_report(report)["levels"]
    for level in range(levels, -1, -1):
        lines = sum(line.type is not None and line.level <= level for line in report.lines)
        most = int(budget / (TOKENS_PER_PLACE + TOKENS_PER_VALUE * lines * len(report.columns)))
        if len(report.places) <= most or not level:
            break
    return levels - level + max(0, len(report.places) - 1 - most)


def whole_report(report: ReportData, stop: Stop) -> UncutAnswer:
    """Return the result object with all rows; calls `stop` between rows."""
    kept = visible_part(report)
    strings: set[int] = set()
    for row in kept.rows():
        stop()
        strings.update(strings_in(row))
    return UncutAnswer(kept.described((), strings), kept.rows())


def strings_in(row: Json) -> Iterator[int]:
    """Yield the positions of values in a row that are digits as text."""
    return (at for at, value in enumerate(row["values"]) if isinstance(value, str))


@dataclass(frozen=True, slots=True)
class VisiblePart:
    """The part of a report that an answer shows, and how much of each axis it leaves out."""

    report: ReportData
    sheet: Layout
    data_ref: DataRef
    left_out: LeftOut
    notes: Sequence[Note]

    def result(self) -> Json:
        """Return the result object."""
        rows = list(self.rows())
        return self.described(rows, set(chain.from_iterable(map(strings_in, rows))))

    def rows(self) -> Iterator[Json]:
        """Yield the rows shown."""
        for down in self.sheet.down:
            values = [figure_json(self.report, cell) for cell in self.sheet.cells(down)]
            yield {**row_json(self.report, down), "values": values}

    def described(self, rows: Sequence[Json], strings: Collection[int]) -> Json:
        """Return the result object around rows. The columns at `strings` hold digits as text."""
        report = self.report
        head = {"statement": report.statement} if report.statement else {"metrics": [line.key for line in report.lines]}
        return {
            **head,
            "label": report.label,
            "period": period_json(report.period),
            "currency": report.currency,
            "scale": report.scale,
            "decimals": report.decimals,
            "columns": [
                {**column_json(report, column, at), **({"exact_strings": True} if at in strings else {})}
                for at, column in enumerate(self.sheet.across)
            ],
            "rows": rows,
            "notes": self.data_ref.notes(self.notes),
            "freshness": freshness_json(report.freshness),
            "catalogue_version": report.catalogue_version,
            "data_version": report.data_version,
            **self.data_ref.as_data(),
            "dataset": dataset_json(report),
            **({"agent_truncated": self.left_out} if self.left_out else {}),
        }


def visible_part(
    report: ReportData,
    data_ref: DataRef = NOT_KEPT,
    deepest: int | None = None,
    places: int | None = None,
    cut: PlaceCut | None = None,
) -> VisiblePart:
    """Return a part of a report: lines down to a level, and some places beside the total, which is the last."""
    cut = cut or PlaceCut(report)
    lines = [at for at, line in enumerate(report.lines) if deepest is None or line.level <= deepest]
    shown = cut.kept(len(report.places) if places is None else places)
    left = {"lines": len(report.lines) - len(lines), "members": len(report.places) - len(shown)}
    sheet = layout(report, lines, shown)
    left_out = {axis: entries for axis, entries in left.items() if entries}
    return VisiblePart(report, sheet, data_ref, left_out, (*report.notes, *cut.notes(left["members"])))


def figure_json(report: ReportData, cell: TableCell) -> int | float | str | None:
    """Return one figure as JSON."""
    if not isinstance(cell.figure, Exact):
        return None
    comparison = cell.column.comparison
    shown = report.shown(cell.line, comparison, cell.figure)
    return shown.as_json(quotient=report.is_quotient(cell.line, comparison))


def row_json(report: ReportData, down: LayoutRow) -> Json:
    """Return the description of a row, without its values."""
    if down.line is None:
        place = report.places[down.place or 0]
        return {
            "key": place_key(place),
            "label": "Total" if place.is_total else " · ".join(member.label for member in place.members),
            "level": 0,
            "kind": "total" if place.is_total else "member" if place.holds is None else "others",
            "style": "total" if place.is_total else "plain",
            "favourable": Favourable.NONE.value,
            "unit": None,
            "format": None,
            **({"holds": place.holds} if place.holds is not None else {}),
            **members_json(place),
            **(labels_json(place) if len(place.members) > 1 else {}),  # a single member's label is the row's label
            **into_parent_json(place),
            **drill_json(place.drill),
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
        **({"into_parent": line.into_parent.as_json()} if line.into_parent is not None else {}),
        **drill_json(line.drill),
    }


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
    """Return what a place counts for in the total, if that is not 1."""
    return {} if place.into_parent is None else {"into_parent": place.into_parent.as_json()}


def column_json(report: ReportData, across: LayoutColumn, at: int) -> Json:
    """Return the description of a column: its scenario, and a place of a statement or a metric."""
    column = report.columns[across.column]
    window = column.window
    shown: Json = {"key": f"c{at + 1}", "alias": column.heading, "scenario": column.scenario}
    if column.style not in OF_ACTUALS:
        shown["style"] = column.style.value
    if window is not None:
        shown["period"] = {"start": window.start.code, "end": window.end.code, "label": window.label}
    if across.line is not None:
        line = report.lines[across.line]
        return {
            **shown,
            "metric": line.key,
            "label": line.label,
            "favourable": line.favourable.value,
            "unit": report.unit(line, column.comparison),
            "format": "percent" if column.comparison is Comparison.SHARE else line.format.value,
            **(drill_json(joined(column.drill, line.drill)) if line.drill is not None else {}),
        }
    place = report.places[across.place or 0]
    is_share = column.comparison is Comparison.SHARE
    return {
        **shown,
        **members_json(place),
        **labels_json(place),
        **into_parent_json(place),
        **({"is_total": True} if report.breakdown and place.is_total else {}),
        "unit": "fraction" if is_share else None,
        "format": "percent" if is_share else None,
        **drill_json(joined(column.drill, place.drill)),
    }


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
    parts = {name: getattr(known, name) for name in (part.name for part in fields(known))}
    return {name: part for name, part in parts.items() if name not in SAID_WHERE_THERE or part is not None}


def dataset_json(report: ReportData) -> Json:
    """Return the shape of the tidy frame that holds every figure of the report."""
    units = {
        report.unit(line, column.comparison, scaled=False)
        for line in report.lines
        for column in report.columns
        if line.type
    }
    value_unit = units.pop() if len(units) == 1 else "as in unit"
    return {
        "row_count": height_of(report),
        "columns": [
            {"name": name, "type": TYPES[dtype], "unit": value_unit if name == "value" else None}
            for name, dtype in schema_of(report).items()
        ],
    }
