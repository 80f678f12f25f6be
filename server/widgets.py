"""Widgets: views of results that MCP hosts show beside the answer, each one self-contained file, where it is built."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

DIST = Path(__file__).parents[1] / "widgets" / "dist"  # where `make widgets` builds them
PLAYGROUND = "playground.html"  # which shows them to the one user of a machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Widget:
    """One view: its name, and what a host lists it as."""

    name: str
    title: str
    description: str

    @property
    def uri(self) -> str:
        """The address under which hosts read it."""
        return f"ui://tieout/{self.name}"


FINANCIAL_TABLE = Widget(
    name="financial-table",
    title="Financial table",
    description="A statement or metrics as a table: lines that collapse, scenarios and variances side by side.",
)
INSPECTION_GRID = Widget(
    name="inspection-grid",
    title="Inspection grid",
    description="The rows behind a figure: the first 50, with what each contributes to it.",
)
WIDGETS = (FINANCIAL_TABLE, INSPECTION_GRID)


def built(widgets: Sequence[Widget] = WIDGETS, folder: Path = DIST) -> Mapping[Widget, str]:
    """Return the page of each widget that is built."""
    pages = {widget: folder / f"{widget.name}.html" for widget in widgets}
    return {widget: page.read_text() for widget, page in pages.items() if page.is_file()}
