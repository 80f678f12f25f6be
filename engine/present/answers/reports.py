"""Answers: a report as a result object within a token budget.

An answer says each thing once and leaves out what a reader fills in: level 0; the kinds of lines that have figures; the
unit of money; favourable up, of a line below another as the line before; scale 0; a weight of 1; a label equal to its
key, and that of a day, a month or a week; an alias equal to its scenario; empty notes. Values are arrays aligned with
the columns, or run metric by metric, within a metric scenario by scenario. A figure is a JSON number if the shortest
text of its double is exact, otherwise digits as text. Drill parts are one template with placeholders.

A long answer drops the deepest lines first, then breakdown members, those below sub-totals before these (never totals),
then other lines of a statement: those without a style from the end, ratios, sub-totals and totals. One always stays.
The answer counts what it drops.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from engine.model.caching import cached_method
from engine.model.calendar.fiscal import plain_period
from engine.model.calendar.periods import PeriodRange
from engine.model.catalogue import Favourable, Style
from engine.model.errors import BadArguments, quoted
from engine.model.stopping import Stop, never, watched
from engine.notes.currency_notes import MIXED
from engine.plans.freshness import Freshness
from engine.present.answers.budget import (
    NOT_KEPT,
    Build,
    DataRef,
    Json,
    LeftOut,
    fitted,
    most_entries,
    period_json,
    tokens,
    without_defaults,
)
from engine.present.answers.drill_template import DrillTemplate
from engine.present.answers.full_reports import (
    currency_json,
    dataset_json,
    freshness_json,
    immaterial_json,
    into_parent_json,
    members_json,
    own_currency,
    own_unit,
    switches_json,
    values_json,
    visible_part,
)
from engine.present.answers.places import PlaceCut
from engine.report.data import Comparison, MemberTuple, ReportColumn, ReportData, ReportLine, ReportMember
from engine.report.layout import FiguresOfRow, Layout, LayoutColumn, LayoutRow

TOKENS_PER_PLACE = 6  # least tokens of a member's column or row
LEFT_OUT = (Style.PLAIN, Style.RATIO, Style.SUBTOTAL, Style.TOTAL)  # lines of a statement, these styles first
UP = Favourable.UP.value
OF_NEGATIVE = {Favourable.UP: "less negative", Favourable.DOWN: "more negative"}
KINDS_SAID = ("header", "memo", "member", "others")  # kinds of line that a reader cannot tell from their figures


def answer(report: ReportData, budget: int, data_ref: DataRef = NOT_KEPT, stop: Stop = never) -> Json:
    """Return the result object of a report, at most about `budget` tokens long as JSON text."""
    axes = axes_of_report(report)
    result = fitted(builder(report, data_ref), axes, budget, stop, least_left_out(report, budget))
    if result is None:
        raise too_long(report, budget)
    return result


def summary(report: ReportData, data_ref: DataRef) -> Json:
    """Return the totals of a report, its notes and its reference: lines of level 0, without members and drill."""
    visible = visible_part(report, 0, 0)
    parts = AnswerParts(report)
    shown = (parts.statement if report.statement else parts.metrics)(visible.sheet)
    notes = data_ref.notes(report.notes)
    return {
        **described(report),
        **{name: without_drill(part) for name, part in shown.items()},
        **({"notes": notes} if notes else {}),
        **data_ref.as_data(),
    }


def without_drill(entries: Sequence[Json | str]) -> list[Json | str]:
    """Return columns or rows without what leads to their rows."""
    return [
        entry if isinstance(entry, str) else {name: part for name, part in entry.items() if name != "drill"}
        for entry in watched(entries)
    ]


def refuse_too_long(least: ReportData, budget: int) -> None:
    """Raise BadArguments if even the shortest answer of a report is too long; `least` is the outline of the report."""
    if tokens(builder(least)(axes_of_report(least))) > budget:
        raise too_long(least, budget)


def too_long(report: ReportData, budget: int) -> BadArguments:
    """Return the refusal of a report whose shortest answer is too long."""
    fewer = "scenarios" if report.statement else "metrics, scenarios"
    narrower = f", or filter {quoted(report.breakdown)}" if report.breakdown else ""
    least = "one line" if report.statement else "the totals"
    return BadArguments(
        f"Even {least} of this report would pass {budget} tokens. Ask for fewer {fewer} or a shorter range{narrower}.",
        field="dimensions" if report.breakdown else "scenarios",
        got=list(report.breakdown) or len(report.columns),
    )


def builder(report: ReportData, data_ref: DataRef = NOT_KEPT) -> Build:
    """Return the function that makes the result object of a report, given what it leaves out."""
    axes, cut, parts = axes_of_report(report), PlaceCut(report), AnswerParts(report)
    outer = outer_lines(report)

    def build(left: LeftOut) -> Json:
        deepest, places = axes["levels"] - left["levels"], axes["members"] - left["members"]
        kept = visible_part(report, deepest, places, cut, frozenset(outer[: left["lines"]]))
        notes = data_ref.notes(kept.notes)
        return {
            **described(report),
            **(parts.statement if report.statement else parts.metrics)(kept.sheet),
            **({"drill": parts.drills.shared} if parts.drills.shared else {}),
            **({"notes": notes} if notes else {}),
            "freshness": short_freshness(report.freshness),
            **data_ref.as_data(),
            **({"agent_truncated": kept.left_out} if kept.left_out else {}),
        }

    return build


def axes_of_report(report: ReportData) -> dict[str, int]:
    """Return how many levels of lines, members besides the total, then lines of a statement an answer can leave out."""
    return {
        "levels": max((line.level for line in report.lines), default=0),
        "members": len(report.places) - 1,
        "lines": max(0, len(outer_lines(report)) - 1) if report.statement else 0,
    }


def outer_lines(report: ReportData) -> Sequence[int]:
    """Return the lines outside rollups in the order in which an answer leaves them out."""
    outer = [at for at, line in enumerate(report.lines) if not line.level]
    return sorted(outer, key=lambda at: (LEFT_OUT.index(report.lines[at].style), -at))


def least_left_out(report: ReportData, budget: int) -> int:
    """Return how many levels and members an answer must leave out, by the least tokens of figures that need no JSON."""
    levels = axes_of_report(report)["levels"]
    for level in range(levels, -1, -1):
        lines = sum(line.type is not None and line.level <= level for line in report.lines)
        most = most_entries(budget, lines * len(report.columns), TOKENS_PER_PLACE)
        if len(report.places) <= most or not level:
            break
    return levels - level + max(0, len(report.places) - 1 - most)


def details(report: ReportData) -> Json:
    """Return what only programs need of an answered report: versions, loads, and the schema of its dataset."""
    return {
        "catalogue_version": report.catalogue_version,
        "data_version": report.data_version,
        "freshness": freshness_json(report.freshness),
        "dataset": dataset_json(report),
    }


def described(report: ReportData) -> Json:
    """Return the fields before the columns and rows."""
    head = {"statement": report.statement, "label": report.label} if report.statement else {}
    return {
        **head,
        "period": period_json(report.period),
        **currency_json(report.currency),
        **({"scale": report.scale} if report.scale else {}),
        **({"decimals": report.decimals} if report.decimals is not None else {}),
        **immaterial_json(report, labels=False),
    }


# Columns and rows. In a statement lines are rows, scenarios and members columns; of metrics members are rows.


class AnswerParts(Struct, frozen=True, eq=False, dict=True):
    """The columns and rows of an answer; what does not depend on the cut is made once for all attempts."""

    report: ReportData

    @cached_property
    def drills(self) -> DrillTemplate:
        """The drill template, and what differs from it."""
        return DrillTemplate(self.report)

    def statement(self, sheet: Layout) -> Json:
        """Return the columns and rows of a statement."""
        return {"columns": [self._column(across) for across in watched(sheet.across)], "rows": list(self._lines(sheet))}

    def metrics(self, sheet: Layout) -> Json:
        """Return the metrics, scenarios and rows of a report of metrics."""
        report, drills = self.report, self.drills
        return {
            "metrics": [
                {**line_json(report, line, good_words(report, at)), **drills.of_line(line)}
                for at, line in enumerate(report.lines)
            ],
            "scenarios": [
                {
                    **scenario_json(column, column.window),
                    **own_currency(column.currency),
                    **drills.of_column(at),
                }
                for at, column in enumerate(report.columns)
            ],
            **({"dimensions": list(report.breakdown)} if report.breakdown else {}),
            "rows": [self._place(*row) for row in watched(sheet.figures())],
        }

    @cached_method
    def _column(self, across: LayoutColumn) -> Json:
        """Return a scenario and place as a column."""
        column, place = self.report.columns[across.column], self.report.places[across.place or 0]
        named = {**level_json(place, self.report), **members_json(place), **labels_json(place, self.report)}
        return {
            **scenario_json(column, self.report.window(column, place)),
            **(named if place.members else {}),
            **into_parent_json(place),
            **({"is_total": True} if self.report.breakdown and place.is_total else {}),
            **({"label": self.report.total_words(column)} if column.close and place.is_total else {}),
            **own_currency(column.currency or place.currency),
            **self.drills.of_column(across.column, place),
        }

    def _lines(self, sheet: Layout) -> Iterator[Json]:
        """Yield the lines as rows; a header has no values, and a line below another is favourable as the one before."""
        before = UP
        for down, figures in sheet.figures():
            line, good = self.report.lines[down.line or 0], good_words(self.report, down.line or 0)
            head = self._head(line, good, before if line.level else UP)
            yield head if line.type is None else {**head, "values": values_json(self.report, figures)}
            before = good

    @cached_property
    def _money(self) -> str:
        return self.report.money

    def _head(self, line: ReportLine, good: str, known: str) -> Json:
        """Return a line of a statement without its values, as the line keeps it for the next report."""
        currency, varies = self.report.line_currencies.get(line.key), has_variance(self.report)
        key = (self._money, currency, good, known, varies, self.drills.of_lines)
        head: Json = line.heads.get(
            key, lambda: {**line_json(self.report, line, good, known), **self.drills.of_line(line)}
        )
        return head

    @cached_property
    def _places(self) -> dict[LayoutRow, Json]:
        return {}

    def _place(self, down: LayoutRow, figures: FiguresOfRow) -> Json:
        """Return a combination of members as a row with its values, or the total."""
        if down not in self._places:
            place = self.report.places[down.place or 0]
            self._places[down] = {
                **named_json(place, self.report),
                **into_parent_json(place),
                **own_currency(place.currency),
                **self.drills.of_place(place),
                "values": values_json(self.report, figures),
            }
        return self._places[down]


def named_json(place: MemberTuple, report: ReportData) -> Json:
    """Return the names of a place: the id of a single member as its key, else the members; the total has neither."""
    if place.is_total:
        return {"label": report.total_words()} if report.breakdown else {}
    others = {} if place.holds is None else {"holds": place.holds}
    others |= {} if place.unmet is None else {"unmet": place.unmet}
    if len(report.breakdown) > 1:
        return {**level_json(place, report), **members_json(place), **labels_json(place, report), **others}
    (member,) = place.members
    label = {} if is_said(member, report) else {"label": member.label}
    return {"key": member.id, **label, **others}


def level_json(place: MemberTuple, report: ReportData) -> Json:
    """Return how many sub-totals a place stands below, if any."""
    return {"level": depth} if (depth := report.depth(place)) else {}


def labels_json(place: MemberTuple, report: ReportData) -> Json:
    """Return the labels of a place's members that neither their ids nor the sub-totals above it say."""
    members = place.members[-1:] if report.subtotals else place.members
    labels = {member.dimension: member.label for member in members if not is_said(member, report)}
    return {"labels": labels} if labels else {}


def is_said(member: ReportMember, report: ReportData) -> bool:
    """Tell whether the id of a member says its label: the same text, or the code of a plain period."""
    plain = plain_period(member.id) if member.dimension in report.time else None
    return member.label == (member.id if plain is None else plain.label)


# Parts of both.


def good_words(report: ReportData, at: int) -> str:
    """Return the favourable direction of a line; in words where its totals are negative, so that up is less of them."""
    figures, lines = report.figures, report.lines
    first = at * figures.width
    totals = [
        figures.numerators[first + column * figures.places]
        for column, known in enumerate(report.columns)
        if known.comparison is Comparison.FIGURE
    ]
    return direction_words(lines[at].favourable, totals)


def direction_words(good: Favourable, totals: Iterable[int | None]) -> str:
    """Return a favourable direction as an answer says it, by the numerators of the figures that it is of."""
    known = [total for total in totals if total is not None]
    return OF_NEGATIVE.get(good, good.value) if known and max(known) < 0 else good.value


def has_variance(report: ReportData) -> bool:
    """Tell whether a report has a column of differences, which of fractions are percentage points."""
    return any(column.comparison is Comparison.VARIANCE for column in report.columns)


def line_json(report: ReportData, line: ReportLine, good: str, known: str = UP) -> Json:
    """Return a line or metric, without its values; of its favourable direction nothing if it is the known one."""
    unit = report.unit(line, Comparison.FIGURE)
    said: Json = {"key": line.key}
    if line.label != line.key:
        said["label"] = line.label
    if line.kind in KINDS_SAID:
        said["kind"] = line.kind
    if line.level:
        said["level"] = line.level
    if unit is not None and (unit != report.money or report.currency == MIXED):
        said["unit"] = unit
    if has_variance(report) and (points := report.unit(line, Comparison.VARIANCE)) != unit:
        said["variance_unit"] = points
    if line.type is not None and good != known:
        said["favourable"] = good
    if line.repeats_over:
        said["aggregate"] = True
    if line.holds is not None:
        said["holds"] = line.holds
    if line.into_parent is not None and (weight := line.into_parent.as_json()) != 1:
        said["into_parent"] = weight
    return said


def scenario_json(column: ReportColumn, window: PeriodRange | None) -> Json:
    """Return a scenario as requested, with the range that it shows if that is another."""
    period = {} if window is None else {"period": period_json(window)}
    unit = {} if column.comparison.keeps_unit else {"unit": own_unit(column.comparison)}
    alias = without_defaults({"alias": column.heading}, {"alias": column.scenario})
    return {**alias, "scenario": column.scenario, **period, **switches_json(column), **unit}


def short_freshness(freshness: Mapping[str, Mapping[str, Freshness]]) -> Json:
    """Return the last loaded period of every scenario by domain; an object where a period is open or rows undated."""
    return {
        domain: {scenario: loaded_json(known) for scenario, known in scenarios.items()}
        for domain, scenarios in freshness.items()
    }


def loaded_json(known: Freshness) -> str | Json | None:
    """Return the last loaded period, with the open periods of the range and the undated rows and their amount."""
    amount = known.undated_amount.as_json() if known.undated_amount else None
    more = {"open": known.open, "undated": known.undated, "undated_amount": amount}
    more = {name: value for name, value in more.items() if value}
    return {"through": known.through, **more} if more else known.through
