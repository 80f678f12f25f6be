"""Pictures: what a kind of chart is drawn from, and what it draws."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from engine.charts.columns import Columns, Takes
from engine.charts.themes import THEMES, Theme
from engine.charts.units import Unit
from engine.requests import ChartSpec, ScenarioStyle

Vega = dict[str, Any]  # a part of a Vega-Lite specification: JSON
SIZES: Final = {"small": (360, 220), "medium": (640, 320), "large": (960, 460)}  # pixels of the plot


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A table with its spec, read as far as the kinds of chart have it in common."""

    spec: ChartSpec
    frame: pl.DataFrame
    columns: Columns
    takes: Takes
    units: Mapping[str, str]

    @property
    def theme(self) -> Theme:
        """The colours asked for."""
        return THEMES[self.spec.theme]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height asked for."""
        return SIZES[self.spec.size]

    def colour(self, style: ScenarioStyle) -> str:
        """Return the colour of a scenario."""
        colour: str = getattr(self.theme, style)
        return colour


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What a kind of chart draws: its marks over its points, and what it says in words."""

    width: float
    height: float
    values: list[Vega]
    layer: list[Vega]
    unit: Unit
    sentences: tuple[str, ...]
    is_said: bool = False  # its axes say their units
    said: tuple[str, ...] = ()  # what its subtitle must say besides the unit


def title_words(name: str) -> str:
    """Return a column's name as people read it."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]
