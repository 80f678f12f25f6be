"""Themes: the colours and type of the charts, light and dark; blue is good, orange is bad, for every eye."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

TITLE_SIZE, SUBTITLE_SIZE = 16, 12
FONT = "Liberation Sans, Arial, Helvetica, sans-serif"


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
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
    tint: str  # under a hatching
    good: str
    bad: str
    least: str  # the two ends of a scale of one colour
    most: str
    palette: tuple[str, ...]

    def config(self) -> dict[str, Any]:
        """Return what Vega-Lite takes from it for a whole chart."""
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
    """Return the colour between two, a share of the way to the second."""
    parts = zip(channels(first), channels(second), strict=True)
    return "#" + "".join(f"{round(one + (other - one) * share):02x}" for one, other in parts)


def contrast(first: str, second: str) -> float:
    """Return the contrast of two colours, 1 to 21, as WCAG measures it."""
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    """Return how light a colour is, 0 to 1."""
    parts = [part / 255 for part in channels(colour)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def channels(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of "#rrggbb"."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
