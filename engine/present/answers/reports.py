"""Answers: a report as a result object within a token budget.

Rows are arrays aligned with the columns. A figure is a JSON number if the shortest text of its double is exact.
Otherwise it is digits as text, and its column says so. A long answer drops the deepest lines first, then breakdown
members from the end (never totals), then rows of metrics from the end. The answer counts what it drops.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain

import polars as pl

from engine.model.catalogue import Favourable
from engine.model.errors import BadArguments, quoted
from engine.model.exact import Exact
from engine.model.stopping import Stop
from engine.plans.freshness import Freshness
from engine.present.answers.budget import NOT_KEPT, DataRef, Json, UncutAnswer, period_json, tokens
from engine.report.data import Comparison, Drill, MemberTuple, ReportData, ReportLine, ScenarioStyle
from engine.report.drill import joined
from engine.report.layout import Layout, LayoutColumn, LayoutRow, TableCell, layout
from engine.report.report import height_of, schema_of

TYPES: dict[type[pl.DataType], str] = {pl.String: "text", pl.UInt32: "integer", pl.Float64: "number"}
SAID_WHERE_THERE = ("undated", "earliest_loaded_at")  # optional fields of a freshness
OF_ACTUALS = (ScenarioStyle.ACTUAL, ScenarioStyle.PRIOR_YEAR)  # the scenario's shifts tell them apart
TOKENS_PER_PLACE = 8  # least tokens of a member's column or row


def answer(report: ReportData, budget: int, data_ref: DataRef = NOT_KEPT) -> Json:
    """Return the result object of a report, at most about `budget` tokens long as JSON text."""
    fitting = budget // TOKENS_PER_PLACE
    kept = VisiblePart(report, layout(report), data_ref, places=fitting if fitting < len(report.places) - 1 else None)
    result = kept.result()
    while tokens(result) > budget:
        shorter = kept.shorter(tokens(result) / budget)
        if shorter is None:
            fewer = "scenarios" if report.statement else "metrics, scenarios"
            narrower = f", or filter {quoted(report.breakdown)}" if report.breakdown else ""
            raise BadArguments(
                f"Even the totals of this report are longer than {budget} tokens. Ask for fewer {fewer} or a shorter "
                f"range{narrower}.",
                field="dimensions" if report.breakdown else "scenarios",
                got=list(report.breakdown) or len(report.columns),
            )
        kept = shorter
        result = kept.result()
    return result


def whole_report(report: ReportData, stop: Stop) -> UncutAnswer:
    """Return the result object with all rows; calls `stop` between rows."""
    kept = VisiblePart(report, layout(report), NOT_KEPT)
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
    """The part of a report that an answer shows: lines down to a level, and a number of places besides the total."""

    report: ReportData
    sheet: Layout
    data_ref: DataRef
    deepest: int | None = None
    places: int | None = None

    def shorter(self, excess: float) -> "VisiblePart | None":
        """Return a smaller part after one `excess` times too long; None if only totals are left."""
        level = max((line.level for line in self.report.lines), default=0) if self.deepest is None else self.deepest
        if self.report.statement is not None and level > 0:
            return replace(self, deepest=level - 1)
        members = len(self.report.places) - 1 if self.places is None else self.places
        if members > 0:
            return replace(self, places=min(members - 1, int(members / max(excess, 1.0))))
        return None

    def shows_line(self, line: ReportLine) -> bool:
        """Tell whether the part shows a line."""
        return self.deepest is None or line.level <= self.deepest

    def shows_place(self, at: int) -> bool:
        """Tell whether the part shows a place; it always shows the total."""
        return self.places is None or at < self.places or self.report.places[at].is_total

    @property
    def down(self) -> list[LayoutRow]:
        """The rows shown."""
        return [
            down
            for down in self.sheet.down
            if (down.line is None or self.shows_line(self.report.lines[down.line]))
            and (down.place is None or self.shows_place(down.place))
        ]

    @property
    def across(self) -> list[LayoutColumn]:
        """The columns shown."""
        return [across for across in self.sheet.across if across.place is None or self.shows_place(across.place)]

    @property
    def left_out(self) -> Json:
        """How much of each axis the part leaves out."""
        lines = sum(not self.shows_line(line) for line in self.report.lines)
        members = sum(not self.shows_place(at) for at in range(len(self.report.places)))
        return {axis: count for axis, count in (("lines", lines), ("members", members)) if count}

    def result(self) -> Json:
        """Return the result object."""
        rows = list(self.rows())
        return self.described(rows, set(chain.from_iterable(map(strings_in, rows))))

    def rows(self) -> Iterator[Json]:
        """Yield the rows shown."""
        across = self.across
        for down in self.down:
            values = [figure_json(self.report, self.sheet.cell(down, column)) for column in across]
            yield {**row_json(self.report, down), "values": values}

    def described(self, rows: Sequence[Json], strings: Collection[int]) -> Json:
        """Return the result object around rows. The columns at `strings` hold digits as text."""
        report, across = self.report, self.across
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
                for at, column in enumerate(across)
            ],
            "rows": rows,
            "notes": self.data_ref.notes(report.notes),
            "freshness": freshness_json(report.freshness),
            "catalogue_version": report.catalogue_version,
            "data_version": report.data_version,
            **self.data_ref.as_data(),
            "dataset": dataset_json(report),
            **({"agent_truncated": self.left_out} if self.left_out else {}),
        }


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
            "kind": "total" if place.is_total else "member",
            "style": "total" if place.is_total else "plain",
            "favourable": Favourable.NONE.value,
            "unit": None,
            "format": None,
            **members_json(place),
            **(labels_json(place) if len(place.members) > 1 else {}),  # a single member's label is the row's label
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
