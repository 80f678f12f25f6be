"""The drill template of an answer: the inspect_rows call that most cells share, and the parts in which some differ.

To put the call of a cell together, a reader fills the placeholders from the row, column, metric and scenario of the
cell. A placeholder without a value, as for a total, goes with its key. The reader then joins the own parts of the
column or scenario, of the row and of the metric; later parts win. A column `var(a,b)` without `sides` has a call for
a, and one for b, which is subtracted.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from engine.model.caching import cached_method
from engine.present.answers.budget import Json
from engine.report.data import Drill, MemberTuple, ReportData, ReportLine, ReportMember
from engine.report.drill import joined

TOOL = "inspect_rows"
OF_A_COLUMN = ("scenario_id", "sides")  # parts that no other column shares
FILTERS_OF_A_COLUMN = VIEW, COMPARED = "scenario", "compared_with"
PERIOD = ("period_start", "period_end")
Members = tuple[ReportMember, ...]


class DrillTemplate(Struct, frozen=True, dict=True):
    """The drill parts of a report, as its answer says them."""

    report: ReportData

    @cached_property
    def shared(self) -> Json:
        """The template; empty if no rows can be shown for any figure."""
        if not self._calls:
            return {}
        parts = joined(self._template, {"filters": {"metric": self._metric}})
        return {"tool": TOOL, "source_key": self._source, "scenario_id": self._scenario, **parts}

    def of_line(self, line: ReportLine) -> Json:
        """Return the fields of a line: its operands, or the part in which its drill differs; null if it has no rows."""
        if line.type is None or not self._calls:
            return {}
        if line.drill is None:
            return {"drill": None}
        if "operands" in line.drill:
            return {"operands": [self._operand(call) for call in line.drill["operands"]]}
        metric = self._metric.replace(self._key, line.key)
        if self._is_statement and line.drill["filters"]["metric"] == line.key:  # statement.line is the same figure
            metric = line.key
        return drill_field(self._beside(line.drill, metric))

    def of_column(self, at: int, place: MemberTuple | None = None) -> Json:
        """Return the fields of a column: the part in which its drill differs; `place` is its place in a statement.

        Null where its drill leads to a part of the rows of its figures alone.
        """
        if self._calls and not self.report.columns[at].has_rows:
            return {"drill": None}
        return self._fields(at, None if place is None else self._stand_ins(place))

    def of_place(self, place: MemberTuple) -> Json:
        """Return the fields of a row of members: the part in which its drill differs."""
        return self._fields(None, self._stand_ins(place))

    @cached_method
    def _fields(self, at: int | None, members: Members | None) -> Json:
        call, said = self._fixed, {}
        if at is not None:
            column = self.report.columns[at]
            call, said = dict(column.drill), {"scenario_id": column.scenario}
            if "sides" in call:
                call = without_sides(call, column.scenario)
        if members is None:
            return drill_field(differing(call, joined(self._fixed, said)))
        return drill_field(differing(joined(call, self.report.drill.at(members)), joined(self._filled(members), said)))

    def _stand_ins(self, place: MemberTuple) -> Members:
        """Return what decides on the part of a place: for a member that its id keeps, what stands for all such."""
        known = self._each_member
        return tuple([member if member.kept_by else known.get(member.dimension, member) for member in place.members])

    @cached_property
    def _each_member(self) -> Mapping[str, ReportMember]:
        """What stands for every member, by dimension: its placeholder; none where the template has none."""
        report, rule = self.report, self.report.drill
        is_by_id = self._fills_periods and not rule.cells and not set(rule.by_time).intersection(report.breakdown)
        apart = () if is_by_id else rule.time
        return {name: ReportMember(name, self._placeholder(name), "") for name in report.breakdown if name not in apart}

    @property
    def _fills_periods(self) -> bool:
        """Whether periods have a placeholder: only if all columns share the range that a total reads.

        Of two axes neither has: the days that their periods share have codes of their own.
        """
        return len(self.report.time) == 1 and all(key in self._fixed for key in PERIOD)

    def _placeholder(self, dimension: str) -> str:
        if self._is_statement:
            return f"{{column.members.{dimension}}}"
        return "{row.key}" if len(self.report.breakdown) == 1 else f"{{row.members.{dimension}}}"

    @cached_property
    def of_lines(self) -> Hashable:
        """What decides on the fields of a line besides the line."""
        return bool(self._calls) and (self._source, self._metric)

    @property
    def _is_statement(self) -> bool:
        return self.report.statement is not None

    @property
    def _key(self) -> str:
        return "{row.key}" if self._is_statement else "{metric.key}"

    @property
    def _scenario(self) -> str:
        return "{column.scenario}" if self._is_statement else "{scenario.scenario}"

    @cached_property
    def _calls(self) -> Sequence[Drill]:
        """The drills of lines, an operand by itself."""
        drills = [line.drill for line in self.report.lines if line.drill is not None]
        return [call for drill in drills for call in drill.get("operands", [drill])]

    @cached_property
    def _source(self) -> str:
        return most_common(call["source_key"] for call in self._calls)

    @cached_property
    def _metric(self) -> str:
        """The pattern of lines' metric filters: statement.line, else that of most lines."""
        if self._is_statement:
            return f"{self.report.statement}.{self._key}"
        drills = [(line.key, line.drill) for line in self.report.lines if line.drill and "filters" in line.drill]
        named = [(line, drill["filters"]["metric"]) for line, drill in drills]
        return most_common(
            (metric.removesuffix(line) + self._key for line, metric in named if metric.endswith(line)), self._key
        )

    @cached_property
    def _fixed(self) -> Drill:
        """The parts that all columns share."""
        first, *others = [column.drill for column in self.report.columns] or [{}]
        parts = {key: part for key, part in first.items() if key not in (*OF_A_COLUMN, "filters")}
        filters = {key: part for key, part in first.get("filters", {}).items() if key not in FILTERS_OF_A_COLUMN}
        same = {key: part for key, part in parts.items() if all(other.get(key) == part for other in others)}
        return joined(same, {"filters": filters})

    @cached_property
    def _template(self) -> Drill:
        """The parts that all columns share, with the placeholders of members, and of periods where there are rows."""
        report, parts = self.report, [self._fixed]
        replaced = [key for key in report.drill.by_time if key not in report.breakdown and len(report.places) > 1]
        for dimension in report.breakdown:
            text = self._placeholder(dimension)
            if dimension not in report.time:
                parts.append({"filters": {dimension: text}})
            elif self._fills_periods:
                parts.append({**dict.fromkeys(PERIOD, text), "filters": dict.fromkeys(replaced, text)})
        return joined(*parts)

    def _filled(self, members: Members) -> Drill:
        """Return the template with the placeholders of a place filled; the total leaves them out with their keys."""
        return filled(self._template, {self._placeholder(member.dimension): member.id for member in members})

    def _operand(self, call: Drill) -> str | Json:
        """Return the call of an operand: its metric, with whatever else differs from the template."""
        differs = self._beside(call, "")
        metric: str = call["filters"]["metric"]
        return metric if differs == {"filters": {"metric": metric}} else differs

    def _beside(self, call: Drill, metric: str) -> Json:
        """Return what differs in the call of a line from the template filled with a metric."""
        return differing(call, {"source_key": self._source, "filters": {"metric": metric}})


def most_common(names: Iterable[str], default: str = "") -> str:
    """Return the most common name, the first of several."""
    counted = Counter(names)
    return max(counted, key=lambda name: counted[name]) if counted else default


def filled(template: Drill, ids: Mapping[str, str]) -> Drill:
    """Return a template with ids in place of its placeholders, without those that have none and their keys."""
    return {
        key: filled(text, ids) if key == "filters" else ids[text] if is_placeholder(text) else text
        for key, text in template.items()
        if not is_placeholder(text) or text in ids
    }


def is_placeholder(text: object) -> bool:
    """Tell whether a value of a template stands for a member."""
    return isinstance(text, str) and text.startswith(("{row.", "{column."))


def sides_json(sides: Sequence[Drill]) -> list[Json]:
    """Return the sides of a column without the sign of those that are added."""
    return [{key: part for key, part in side.items() if (key, part) != ("sign", "+")} for side in sides]


def without_sides(call: Drill, reference: str) -> Drill:
    """Return the call of a column without the sides that its reference says: those of a variance, a scenario each.

    Both are compared with what either is compared with: what narrows one side leaves the other as it is, or narrows it.
    """
    sides = sides_json(call["sides"])
    names = ",".join(side["scenario_id"] for side in sides)
    has_blend = any(VIEW in side.get("filters", {}) for side in sides)
    if has_blend or reference not in (f"var({names})", f"var_pct({names})"):
        return {**call, "sides": sides}
    compared = sorted({key for side in sides for key in side.get("filters", {}).get(COMPARED, ())})
    rest = {key: part for key, part in call.items() if key != "sides"}
    return joined(rest, {"filters": {COMPARED: compared}}) if compared else rest


def differing(call: Drill, shared: Drill) -> Json:
    """Return the parts and filters of a call that others replace or lack."""
    known = shared.get("filters", {})
    filters = {key: part for key, part in call.get("filters", {}).items() if key not in known or known[key] != part}
    parts = {key: part for key, part in call.items() if key != "filters" and shared.get(key) != part}
    return {**parts, **({"filters": filters} if filters else {})}


def drill_field(part: Json) -> Json:
    """Return a drill part as a field; none if it is empty."""
    return {"drill": part} if part else {}
