"""The drill template of an answer: the inspect_rows call that most cells share, and the parts in which some differ.

To put the call of a cell together, a reader fills the placeholders from the row, column, metric and scenario of the
cell. A placeholder without a value, as for a total, goes with its key. The reader then joins the own parts of the
column or scenario, of the row and of the metric; later parts win.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from engine.model.caching import cached_method
from engine.model.stopping import watched
from engine.present.answers.budget import Json
from engine.report.data import Drill, MemberTuple, ReportColumn, ReportData, ReportLine
from engine.report.drill import joined

TOOL = "inspect_rows"
OF_A_COLUMN = ("scenario_id", "sides")  # parts that no other column shares
FILTERS_OF_A_COLUMN = ("scenario", "compared_with")
PERIOD = ("period_start", "period_end")


class DrillTemplate(Struct, frozen=True, dict=True):
    """The drill parts of a report, as its answer says them."""

    report: ReportData

    @cached_property
    def shared(self) -> Json:
        """The template; empty if no rows can be shown for any figure."""
        if not self._calls:
            return {}
        parts = joined(self._fixed, self._of_place, {"filters": {"metric": self._metric}})
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

    def of_column(self, column: ReportColumn, place: MemberTuple | None = None) -> Json:
        """Return the fields of a column: the part in which its drill differs; `place` is its place in a statement."""
        said = {"scenario_id": column.scenario}
        drill = {**column.drill, **({"sides": sides_json(column.drill["sides"])} if "sides" in column.drill else {})}
        if place is None:
            return drill_field(differing(drill, joined(self._fixed, said)))
        return drill_field(differing(joined(drill, place.drill), joined(self._filled(place), said)))

    def of_place(self, place: MemberTuple) -> Json:
        """Return the fields of a row of members: the part in which its drill differs."""
        shape = self._shape_of(tuple([member.dimension for member in place.members]))
        if shape.is_whole and shape.own([member.id for member in place.members]) == place.drill:
            return {}
        return drill_field(differing(joined(self._fixed, place.drill), self._filled(place)))

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
    def _of_place(self) -> Drill:
        """The placeholders of members. Periods have one only if all columns share the range that a total reads.

        Of two axes neither has: the days that their periods share have codes of their own.
        """
        report = self.report
        parts: list[Drill] = []
        for dimension in report.breakdown:
            field = f"column.members.{dimension}" if self._is_statement else f"row.members.{dimension}"
            text = "{row.key}" if not self._is_statement and len(report.breakdown) == 1 else "{" + field + "}"
            if dimension not in report.time:
                parts.append({"filters": {dimension: text}})
            elif len(report.time) == 1 and all(key in self._fixed for key in PERIOD):
                by_time = (key for place in watched(report.places) for key in place.drill.get("filters", {}))
                again = [key for key in dict.fromkeys(by_time) if key not in report.breakdown]
                parts.append({**dict.fromkeys(PERIOD, text), "filters": dict.fromkeys(again, text)})
        return joined(*parts)

    @cached_property
    def _template(self) -> Drill:
        return joined(self._fixed, self._of_place)

    @cached_property
    def _known_filled(self) -> dict[int, Drill]:
        return {}

    def _filled(self, place: MemberTuple) -> Drill:
        """The template with the placeholders of a place filled. For the total they are left out with their keys."""
        known = self._known_filled.get(id(place))
        if known is None:
            known = self._known_filled[id(place)] = self._fill(place)
        return known

    def _fill(self, place: MemberTuple) -> Drill:
        shape = self._shape_of(tuple([member.dimension for member in place.members]))
        return shape.filled([member.id for member in place.members])

    @cached_method
    def _shape_of(self, dimensions: tuple[str, ...]) -> "FillingShape":
        at = {text: at for at, dimension in enumerate(dimensions) for text in placeholders_of(dimension)}
        return FillingShape.of(self._template, at)

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


class FillingShape(Struct, frozen=True):
    """A template for places of the same dimensions: what all of them share, and where which of their members stands."""

    parts: Drill
    filters: Drill
    of_parts: Mapping[str, int]  # key -> position of the member
    of_filters: Mapping[str, int]
    is_whole: bool  # whether each placeholder stands for a position

    @classmethod
    def of(cls, template: Drill, at: Mapping[str, int]) -> "FillingShape":
        """Return the shape of a template. Placeholders that stand for no position are left out with their keys."""
        parts, filters = ({**template, "filters": ""}, template.get("filters", {}))
        of_parts, of_filters = (
            {key: text for key, text in every.items() if is_placeholder(text)} for every in (parts, filters)
        )
        return cls(
            {key: text for key, text in parts.items() if key != "filters" and key not in of_parts},
            {key: text for key, text in filters.items() if key not in of_filters},
            {key: at[text] for key, text in of_parts.items() if text in at},
            {key: at[text] for key, text in of_filters.items() if text in at},
            is_whole=all(text in at for text in (*of_parts.values(), *of_filters.values())),
        )

    def own(self, ids: Sequence[str]) -> Drill:
        """Return what the ids of a place alone put into the template."""
        filters = {key: ids[at] for key, at in self.of_filters.items()}
        return {**{key: ids[at] for key, at in self.of_parts.items()}, **({"filters": filters} if filters else {})}

    def filled(self, ids: Sequence[str]) -> Drill:
        """Return the template with the ids of a place."""
        of_parts = {key: ids[at] for key, at in self.of_parts.items()}
        filters = {**self.filters, **{key: ids[at] for key, at in self.of_filters.items()}}
        return {**self.parts, **of_parts, **({"filters": filters} if filters else {})}


def placeholders_of(dimension: str) -> tuple[str, ...]:
    """Return the placeholders that stand for the member of a dimension."""
    return (f"{{column.members.{dimension}}}", f"{{row.members.{dimension}}}", "{row.key}")


def is_placeholder(text: object) -> bool:
    """Tell whether a value of a template stands for a member."""
    return isinstance(text, str) and text.startswith(("{row.", "{column."))


def sides_json(sides: Sequence[Drill]) -> list[Json]:
    """Return the sides of a column without the sign of those that are added."""
    return [{key: part for key, part in side.items() if (key, part) != ("sign", "+")} for side in sides]


def differing(call: Drill, shared: Drill) -> Json:
    """Return the parts and filters of a call that others replace or lack."""
    known = shared.get("filters", {})
    filters = {key: part for key, part in call.get("filters", {}).items() if key not in known or known[key] != part}
    parts = {key: part for key, part in call.items() if key != "filters" and shared.get(key) != part}
    return {**parts, **({"filters": filters} if filters else {})}


def drill_field(part: Json) -> Json:
    """Return a drill part as a field; none if it is empty."""
    return {"drill": part} if part else {}
