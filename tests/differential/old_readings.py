"""Readings that were wrong once, each by its name: a difference that one of them explains is that fault come back."""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

from tests.differential.calendars import UNITS, FilePeriod, Window
from tests.differential.figures import AskedCell, CannotBeAsked, Oracle
from tests.differential.formulas import FoundOperand, evaluate, names
from tests.differential.references import Scope, WrittenSide


class OtherSideNarrows(Oracle):
    """F2: a side of a variance is narrowed by the scenarios of the other side alone."""

    def scope(self, side: WrittenSide, other: WrittenSide) -> Scope:
        return frozenset() if side == other else other.scenarios


class MonthlyCloses(Oracle):
    """F10: data by week closes by month."""

    def close_grain(self, domain: str, base: str) -> str:
        return "month" if self.books.grain(domain) == "week" else super().close_grain(domain, base)


class LackingWeighs(Oracle):
    """F9: a tree weighs the lines of a domain that lacks it."""

    def is_weighed(self, base: str, domain: str, cell: AskedCell) -> bool:
        nodes = (found for key in cell.breakdown if self.books.is_tree(key) for _, found in self.of_nodes(key))
        weighed = any(weight != 1 for found in nodes for weight in found.values())
        return weighed or super().is_weighed(base, domain, cell)


class NamesAreFigures(Oracle):
    """F13: a formula that is used by name is a figure, which may be missing."""

    def tree(self, key: str) -> ast.expr:
        tree: ast.expr = ast.parse(self.formulas[key].replace("people.", ""), mode="eval").body
        return tree

    def _bases(self, key: str) -> list[str]:
        if key not in self.formulas:
            return [key]
        return [base for name in names(self.tree(key)) for base in self.bases(name)]

    def operand(self, base: str, side: WrittenSide, cell: AskedCell, scope: Scope) -> FoundOperand:
        if base not in self.formulas:
            return super().operand(base, side, cell, scope)
        return FoundOperand(
            evaluate(self.tree(base), lambda key: self.operand(key, side, cell, scope)), self.additive(base)
        )


class OutsideIsNothing(Oracle):
    """What is not loaded counts as 0 in a formula."""

    def is_outside(self, *_: object) -> bool:
        return False


class CutPeriodsAreClosed(Oracle):
    """A period of the data that closed_through cuts is read from the first scenario of a blend."""

    def is_before(self, period: FilePeriod, closed: date | None) -> bool:
        return closed is not None and period.first <= closed


class WindowsFitTheirGrain(Oracle):
    """F4: a window of the calendar over data by week is unavailable."""

    def check(self, base: str, side: WrittenSide, cell: AskedCell) -> None:
        super().check(base, side, cell)
        window = self.window(side, cell)
        if window and self.books.grain(self.books.metrics[base][0]) == "week" and window.start.grain.startswith("c"):
            raise CannotBeAsked


class WindowsEndWithDays(Oracle):
    """F3: a window of a week ends with its last day, and a year before with the same day of the month."""

    def shifted(self, asked: Window, shifts: Sequence[str], grain: str) -> Window | None:
        window: Window | None = asked
        for shift in shifts:
            window = super().shifted(window, [shift], grain) if window else None
            weekly = window and window.end.grain == "week" and window.start.grain != "week"
            if window and weekly and shift in UNITS and shift not in ("fy", "cy"):
                day = self.books.calendar.at("date", window.last)
                window = Window(window.start, day) if day else None
        return window


class YearsToDateStay(Oracle):
    """F5: a year to date that has no day a year before reads the whole year before that."""

    def shifted(self, asked: Window, shifts: Sequence[str], grain: str) -> Window | None:
        found = super().shifted(asked, shifts, grain)
        if found is not None or not shifts or shifts[-1] != "py":
            return found
        before = super().shifted(asked, shifts[:-1], grain)
        end = before and self.books.calendar.years_before(before.end, 1, start=False)
        start = before and end and self.books.calendar.at(before.start.grain, end.last)
        return Window(start, end) if start and end else None


class HoldsWhatRowsMake(Oracle):
    """F16: (others) counts members that rows make which the answer has no figure of."""

    counts_rows = True


class RankedAlone(Oracle):
    """F12: what ranks a member is its figure without the inner dimensions."""

    def ranked(self, cell: AskedCell) -> AskedCell:
        return replace(cell, breakdown=tuple(key for key in cell.breakdown if key in (*cell.members, *cell.leaves)))


class OthersAreTheRest(Oracle):
    """F15: (others) is over all leaves but those of the members that are shown."""

    def others(self, key: str, shown: Sequence[str], _rest: Sequence[str]) -> frozenset[str]:
        taken = {leaf for member in shown for leaf in self.books.weights(key, member)}
        return frozenset({*self.books.leaves.get(self.books.leaf_of(key), set()), ""} - taken)


OLD: Mapping[str, type[Oracle]] = {
    "F2": OtherSideNarrows,
    "F3": WindowsEndWithDays,
    "F4": WindowsFitTheirGrain,
    "F5": YearsToDateStay,
    "F9": LackingWeighs,
    "F10": MonthlyCloses,
    "F12": RankedAlone,
    "F13": NamesAreFigures,
    "F15": OthersAreTheRest,
    "F16": HoldsWhatRowsMake,
    "late_operand": OutsideIsNothing,
    "cut_closed": CutPeriodsAreClosed,
}


def several(*readings: type[Oracle]) -> type[Oracle]:
    """Return an oracle that has several readings."""
    return type("OldOracle", readings, {})
