"""Units: how the figures of a chart are scaled, rounded and said, once for the whole picture."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Final

from engine.exact import Exact, decimal_places
from engine.report.data import SCALED
from engine.report.display import MINUS, grouped

HUNDREDFOLD: Final = {"fraction": "%", "pp": "pp"}  # units of figures that are shown times 100
PLAIN: Final = ("number", "ratio")  # units that need no word
MOST_PLACES = 12
HUNDRED = Exact(100)


@dataclass(frozen=True, slots=True)
class Unit:
    """What figures are shown in: `name` as the rows have it, `words` as the picture says it."""

    name: str | None
    words: str
    power: int  # figures are divided by ten to it; -2 for hundredths
    places: int

    @property
    def sign(self) -> str:
        """What each figure carries itself."""
        return "%" if self.words == "%" else ""

    def text(self, value: float, *, signed: bool = False) -> str:
        """Return a figure as the picture shows it: "1,234.5", "−3.2%"; rounded half away from zero."""
        return self.words_of(Exact.of(repr(value)), signed=signed)

    def words_of(self, figure: Exact, *, signed: bool = False) -> str:
        """Return an exact figure as the picture shows it."""
        shown = figure * HUNDRED if self.power == -2 else figure.scaled(self.power)
        rounded = shown.rounded(self.places)
        sign = MINUS if rounded < Exact(0) else "+" if signed and rounded else ""
        return f"{sign}{grouped(abs(rounded.numerator), self.places)}{self.sign}"

    def ticks(self, step: float) -> str:
        """Return the expression that writes the labels of an axis whose ticks lie `step` apart."""
        shown = step / 10**self.power
        places = max(0, -floor(log10(shown) + 1e-9))
        places += round(shown * 10**places, 6) % 1 != 0  # steps of 2.5
        scaled = f"datum.value * {10**-self.power}" if self.power < 0 else f"datum.value / {10**self.power}"
        return f"format({scaled}, ',.{min(places, MOST_PLACES)}f') + '{self.sign}'"


def unit_of(name: str | None, values: Iterable[float]) -> Unit:
    """Return what figures of a unit are best shown in: three digits or four before thousands are left out."""
    figures = list(values)
    largest = max(map(abs, figures), default=0.0)
    if name in HUNDREDFOLD:
        return Unit(name, HUNDREDFOLD[name], -2, 1 if largest >= 0.001 else 3)
    if name == "%":
        return Unit(name, "%", 0, 1)
    is_scaled = name is not None and name.endswith(tuple(words.strip() for words in SCALED.values() if words))
    power = 0 if is_scaled else next((power for power in (9, 6, 3) if largest >= 10 ** (power + 1)), 0)
    said = "" if name in PLAIN else name or ""
    words = f"{said}{SCALED[power]}".strip()
    return Unit(name, words, power, places_of(figures, largest / 10**power, power))


def places_of(figures: Sequence[float], largest: float, power: int) -> int:
    """Return the decimal places that show three digits of the largest figure, no more than the figures have."""
    if not largest or largest >= 100:
        return 0
    needed = max(decimal_places(Exact.of(repr(figure)).scaled(power).reduced()[1]) or 0 for figure in figures)
    return min(MOST_PLACES, needed, 2 - floor(log10(largest)))
