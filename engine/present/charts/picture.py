"""Pictures: a chart's input, its units, and its light and dark themes."""

from collections.abc import Iterable, Mapping, Sequence
from math import floor, log10
from typing import Any, Final, Literal

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from engine.model.exact import Exact, decimal_places
from engine.model.requests import ChartSpec, ScenarioStyle
from engine.present.charts.columns import Columns
from engine.present.charts.refusals import ChartRequirements
from engine.report.data import EACH, SCALED
from engine.report.layout import MINUS, grouped

# Themes: colours and type of the charts, light and dark. Blue is favourable and orange adverse, for colour-blind
# readers.


TITLE_SIZE, SUBTITLE_SIZE = 16, 12
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"


class Theme(Struct, frozen=True, kw_only=True):
    """The colours of one background."""

    background: str
    ink: str
    quiet: str  # labels of axes, subtitles
    line: str  # rules and ticks
    grid: str
    actual: str
    prior_year: str
    plan: str
    forecast: str
    tint: str  # background of a hatching
    good: str
    bad: str
    least: str  # the low end of a sequential scale; the next is the high end
    most: str
    palette: tuple[str, ...]

    def config(self) -> dict[str, Any]:
        """Return the Vega-Lite configuration of a chart."""
        return {
            "font": FONT,
            "view": {"stroke": None},
            "title": {
                "anchor": "start",
                "frame": "bounds",
                "color": self.ink,
                "fontSize": TITLE_SIZE,
                "fontWeight": "bold",
                "subtitleColor": self.quiet,
                "subtitleFontSize": SUBTITLE_SIZE,
                "subtitlePadding": 5,
                "offset": 16,
            },
            "axis": {
                "labelColor": self.quiet,
                "labelFontSize": 11,
                "titleColor": self.quiet,
                "titleFontSize": 11,
                "titleFontWeight": "normal",
                "domainColor": self.line,
                "tickColor": self.line,
                "gridColor": self.grid,
                "labelPadding": 5,
            },
            "legend": {
                "orient": "top",
                "title": None,
                "labelColor": self.ink,
                "labelFontSize": 12,
                "symbolType": "square",
                "symbolSize": 110,
                "symbolStrokeWidth": 1.5,
                "labelLimit": 240,
                "offset": 8,
            },
            "text": {"color": self.ink, "fontSize": 11},
            "rule": {"color": self.line},
        }


THEMES: Final[Mapping[Literal["light", "dark"], Theme]] = {
    "light": Theme(
        background="#ffffff",
        ink="#1f2328",
        quiet="#57606a",
        line="#8c959f",
        grid="#e7eaee",
        actual="#3b4450",
        prior_year="#a3acb6",
        plan="#3b4450",
        forecast="#3b4450",
        tint="#dde1e6",
        good="#00639c",
        bad="#a63c00",
        least="#e8f1f8",
        most="#00507f",
        palette=("#00639c", "#b35900", "#1f7a66", "#6f4c9b", "#7a5c20", "#a83a63", "#4f5a65", "#5a7312"),
    ),
    "dark": Theme(
        background="#14181d",
        ink="#e8ebef",
        quiet="#a3adb8",
        line="#6b7683",
        grid="#2a3038",
        actual="#d5dae0",
        prior_year="#717b87",
        plan="#d5dae0",
        forecast="#d5dae0",
        tint="#3a424c",
        good="#7cc4ff",
        bad="#ffb26b",
        least="#1d2a36",
        most="#7cc4ff",
        palette=("#7cc4ff", "#ffb26b", "#6fcdb5", "#bda0e6", "#cdb07a", "#ee8fb2", "#a9b4be", "#c5de72"),
    ),
}


def mixed(first: str, second: str, share: float) -> str:
    """Return the mix of two colours, with a share of the second."""
    parts = zip(channels(first), channels(second), strict=True)
    return "#" + "".join(f"{round(one + (other - one) * share):02x}" for one, other in parts)


def contrast(first: str, second: str) -> float:
    """Return the WCAG contrast ratio of two colours, 1 to 21."""
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, 0 to 1."""
    parts = [part / 255 for part in channels(colour)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def channels(colour: str) -> tuple[int, int, int]:
    """Return the red, green and blue of "#rrggbb"."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


# Units: scale, rounding and text of a chart's figures, once for the whole picture.


HUNDREDFOLD: Final = {"fraction": "%", "pp": "pp"}  # units whose figures are multiplied by 100
PLAIN: Final = ("number", "ratio")  # units without a word
MOST_PLACES = 12
MORE_PLACES = 3  # beyond those that show three digits, where figures look alike
HUNDRED = Exact(100)
SCALE_WORDS: Final = {"k": 3, "thousand": 3, "m": 6, "mn": 6, "million": 6, "bn": 9, "billion": 9}


class Unit(Struct, frozen=True):
    """The unit of figures: `name` as in the rows, `words` as in the picture."""

    name: str | None
    words: str
    power: int  # power of ten that divides figures; -2 for hundredths
    places: int

    @property
    def sign(self) -> str:
        """The sign on each figure, such as %."""
        return "%" if self.words == "%" else ""

    def text(self, value: float, *, signed: bool = False) -> str:
        """Return a figure as text: "1,234.5", "−3.2%", rounded half away from zero."""
        return self.words_of(Exact.of(repr(value)), signed=signed)

    def words_of(self, figure: Exact, *, signed: bool = False) -> str:
        """Return an exact figure as text."""
        shown = figure * HUNDRED if self.power == -2 else figure.scaled(self.power)
        rounded = shown.rounded(self.places)
        sign = MINUS if rounded < Exact(0) else "+" if signed and rounded else ""
        return f"{sign}{grouped(abs(rounded.numerator), self.places)}{self.sign}"

    def ticks(self, step: float) -> str:
        """Return the Vega expression of axis labels for ticks `step` apart."""
        shown = step / 10**self.power
        places = max(0, -floor(log10(shown) + 1e-9))
        places += round(shown * 10**places, 6) % 1 != 0  # steps of 2.5
        scaled = f"datum.value * {10**-self.power}" if self.power < 0 else f"datum.value / {10**self.power}"
        return f"format({scaled}, ',.{min(places, MOST_PLACES)}f') + '{self.sign}'"


class AskedUnit(Struct, frozen=True):
    """The unit that a spec asks for: its name, and the power of ten to show figures at if the spec gives one."""

    name: str
    power: int | None = None


def asked_unit(asked: str, known: str) -> AskedUnit | None:
    """Return the unit that a spec asks of figures whose unit is known; None if it contradicts that unit.

    A scale word scales: "EUR thousands" over figures in EUR. A number and a ratio take any name, but a number
    is no share. A price may name what it is a price of: "EUR per head".
    """
    if known in HUNDREDFOLD:
        return AskedUnit(known) if asked.casefold() == known or (asked, known) == ("%", "fraction") else None
    *before, last = asked.split() or [""]
    power = SCALE_WORDS.get(last.casefold().removesuffix("s") if before or len(last) > 2 else "")
    name = asked if power is None else " ".join(before)
    if name.casefold() in ("", known.casefold()):
        return AskedUnit(known, power)
    is_price = known.endswith(EACH) and name.casefold().startswith(known.removesuffix(EACH).casefold())
    is_name = known in PLAIN and name != "%" and (name not in HUNDREDFOLD or known == "ratio")
    return AskedUnit(name, power) if is_price or is_name else None


def unit_of(name: str | None, values: Iterable[float], power: int | None = None) -> Unit:
    """Return the unit to show figures in: at a power of ten, else with three or four digits before the scale."""
    figures = list(values)
    largest = max(map(abs, figures), default=0.0)
    if name in HUNDREDFOLD:
        return Unit(name, HUNDREDFOLD[name], -2, 1 if largest >= 0.001 else 3)
    if name == "%":
        return Unit(name, "%", 0, 1)
    is_scaled = name is not None and name.endswith(tuple(words.strip() for words in SCALED.values() if words))
    if power is None:
        power = 0 if is_scaled else next((power for power in (9, 6, 3) if largest >= 10 ** (power + 1)), 0)
    said = "" if name in PLAIN else name or ""
    words = f"{said}{SCALED[power]}".strip()
    return Unit(name, words, power, places_of(figures, largest / 10**power, power))


def places_of(figures: Sequence[float], largest: float, power: int) -> int:
    """Return the decimal places that show three digits of the largest figure, limited to the figures' own."""
    if not largest or largest >= 100:
        return 0
    needed = max(decimal_places(Exact.of(repr(figure)).scaled(power).reduced()[1]) or 0 for figure in figures)
    return min(MOST_PLACES, needed, 2 - floor(log10(largest)))


def told_apart(unit: Unit, values: Iterable[float]) -> Unit:
    """Return a unit with up to three more places: the fewest that tell as many figures apart as can be."""
    figures = set(values)
    finer = [replace(unit, places=min(MOST_PLACES, unit.places + more)) for more in range(MORE_PLACES + 1)]
    return max(finer, key=lambda one: len({one.text(figure) for figure in figures}))


# Pictures: the input of a chart kind, and its output.


Vega = dict[str, Any]  # a part of a Vega-Lite specification: JSON
SIZES: Final = {"small": (360, 220), "medium": (640, 320), "large": (960, 460)}  # pixels of the plot


class ChartInput(Struct, frozen=True, kw_only=True):
    """A table with its spec, and what all chart kinds read of them."""

    spec: ChartSpec
    frame: pl.DataFrame
    columns: Columns
    takes: ChartRequirements
    units: Mapping[str, str]
    adds_up: bool  # whether rows with the same x are parts of a sum, as those of a ledger

    @property
    def theme(self) -> Theme:
        """The theme requested."""
        return THEMES[self.spec.theme]

    @property
    def size(self) -> tuple[int, int]:
        """The width and height requested."""
        return SIZES[self.spec.size]

    def colour(self, style: ScenarioStyle) -> str:
        """Return the colour of a scenario."""
        colour: str = getattr(self.theme, style)
        return colour


class Picture(Struct, frozen=True, kw_only=True):
    """The output of a chart kind: marks over points, and texts."""

    width: float
    height: float
    values: list[Vega]
    layer: list[Vega]
    unit: Unit
    sentences: tuple[str, ...]
    units: Mapping[str, str | None] = {}  # of columns of figures whose unit is another
    is_said: bool = False  # whether the axes show their units
    said: tuple[str, ...] = ()  # texts for the subtitle besides the unit


def title_words(name: str) -> str:
    """Return a column's name as a title."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]
