"""The worked examples of docs/figures.md: each table as rows posted, questions asked and figures answered.

A plain figure is posted and a bold one asked for, at the place that the head of its row and of its column say together.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.support.books.loads import ROOT

PAGE = ROOT / "docs" / "figures.md"
TOTAL = "Total"
AXES = ("period", "product", "entity", "node", "metric")
SETTING = re.compile(r"`(fiscal_year|trading_calendar|closed_through|adjust|scenarios|grain): ([^`]+)`")


@dataclass(frozen=True)
class Place:
    """Where in the books a cell stands: what the heads of its row and column say of it."""

    metric: str = "sum"
    scenario: str = "actual"
    period: tuple[str, str] | None = None
    members: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    wants: str = "figure"


@dataclass(frozen=True)
class PageCell:
    """A figure of a table, and where it stands."""

    line: int
    head: str
    text: str
    place: Place

    @property
    def where(self) -> str:
        """Where it stands on the page."""
        return f"docs/{PAGE.name}:{self.line} under {self.head}"

    @property
    def asked(self) -> bool:
        """Whether it is answered, not posted."""
        return self.text.startswith("**") or self.place.wants == "as floats"

    @property
    def words(self) -> str:
        """What it says, without how it is set."""
        return self.text.replace("*", "").replace("`", "").replace("\N{MINUS SIGN}", "-")

    @property
    def amounts(self) -> list[Decimal]:
        """The amounts that it says."""
        return [Decimal(amount) for amount in self.words.split(", ") if amount]


@dataclass(frozen=True)
class PageTable:
    """A table of the page, with the heading above it and what is set for it."""

    section: str
    line: int
    settings: Mapping[str, str]
    head: tuple[str, ...]
    body: tuple[tuple[str, ...], ...]

    def columns(self) -> list[tuple[int, str]]:
        """Return the columns of figures, with what is asked or posted there."""
        return [(at, head) for at, head in enumerate(self.head) if head not in (*AXES, "parent", "weight")]

    def cells(self) -> Iterator[PageCell]:
        """Yield every cell that holds something."""
        across = {at: headed(Place(), head) for at, head in self.columns()}
        periods = [place.period for place in across.values() if place.period]
        whole = (periods[0][0], periods[-1][1]) if periods else ("2026-01", "2026-01")
        for below, row in enumerate(self.body, self.line + 2):
            place = self.row_place(row)
            for at, column in across.items():
                joined = replace(
                    column,
                    metric=place.metric if column.metric == "sum" else column.metric,
                    period=column.period or place.period or whole,
                    members=place.members,
                )
                if row[at]:
                    yield PageCell(below, self.head[at], row[at], joined)

    def row_place(self, row: tuple[str, ...]) -> Place:
        """Return what the head of a row says."""
        place = Place()
        for axis, text in zip(self.head, row, strict=True):
            if axis == "period" and text:
                start, _, end = text.partition("..")
                place = replace(place, period=(start, end or start))
            elif axis == "metric":
                place = headed(place, text)
            elif axis in AXES and text not in ("", TOTAL):
                place = replace(place, members={**place.members, axis: tuple(text.split(", "))})
        return place

    def nodes(self) -> list[tuple[str, str, str]]:
        """Return the edges of its tree: node, parent, weight."""
        if "parent" not in self.head:
            return []
        rows = [dict(zip(self.head, row, strict=True)) for row in self.body]
        parents = {parent for row in rows for parent in row["parent"].split(", ")}
        return [
            (row["node"], parent, row.get("weight", "1").replace("\N{MINUS SIGN}", "-"))
            for row in rows
            if row["parent"] or row["node"] in parents  # the others are questions: two nodes, the total
            for parent in row["parent"].split(", ")
        ]

    def metrics(self) -> set[str]:
        """Return the metrics it asks for."""
        return {cell.place.metric for cell in self.cells()}


def headed(place: Place, head: str) -> Place:
    """Return a place with what a heading says of it: `what is asked`, and perhaps what of it is wanted."""
    code, _, wants = head.removeprefix("`").partition("`")
    place = replace(place, wants=wants.removeprefix(", ")) if wants.startswith(", ") else place
    for kind, reads in KINDS:
        if kind(code):
            return reads(place, code)
    return replace(place, metric=code + (wants if wants.startswith(" as ") else ""))


def with_period(place: Place, code: str) -> Place:
    """Read a period code."""
    return replace(place, period=(code, code))


def with_scenario(place: Place, code: str) -> Place:
    """Read a scenario reference, or the shift of the actuals alone."""
    return replace(place, scenario=f"actual{code}" if code.startswith("@") else code)


def with_options(place: Place, code: str) -> Place:
    """Read options of a request; decimals are of what is shown."""
    options = {key: int(value) for key, value in (option.split(": ") for option in code.split(", "))}
    return replace(place, options=options, wants="shown" if "decimals" in options else place.wants)


def with_want(place: Place, words: str) -> Place:
    """Read what else than a figure is wanted."""
    return replace(place, wants=words)


def as_it_is(place: Place, _: str) -> Place:
    """Say nothing more of a place."""
    return place


KINDS: list[tuple[Callable[[str], object], Callable[[Place, str], Place]]] = [
    (re.compile(r"\d{4}(-(Q\d|W\d\d|\d\d(-\d\d)?))?|\(undated\)").fullmatch, with_period),
    (re.compile(r"@|(actual|budget|forecast|var|var_pct)\b").match, with_scenario),
    (re.compile("(scale|decimals): ").match, with_options),
    (re.compile("JSON|as floats|note|rollup|into_parent").fullmatch, with_want),
    (re.compile("posted|figure").fullmatch, as_it_is),
]


def tables(page: Path = PAGE) -> list[PageTable]:
    """Return the tables of the page."""
    found: list[PageTable] = []
    section, settings, rows = "", dict[str, str](), list[tuple[str, ...]]()
    for number, line in enumerate([*page.read_text(encoding="utf-8").splitlines(), ""], 1):
        if line.startswith("|"):
            rows.append(tuple(cell.strip() for cell in line.strip("|").split("|")))
            continue
        if rows:
            head, _, *body = rows
            found.append(PageTable(section, number - len(rows), settings, head, tuple(body)))
            settings, rows = {}, []
        section = line.removeprefix("## ") if line.startswith("## ") else section
        settings = {**settings, **dict(SETTING.findall(line))}
    return found


def day_of(code: str) -> str:
    """Return a day in the middle of a month or week, the day itself, or "-" for rows without a date."""
    if code == "(undated)":
        return "-"
    year, _, rest = code.partition("-")
    if rest.startswith("W"):
        return date.fromisocalendar(int(year), int(rest[1:]), 3).isoformat()
    return code if "-" in rest else f"{code}-15"
