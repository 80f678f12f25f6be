"""Small books written down in a test: a few rows as text, the files of an instance around them, and their figures."""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from textwrap import dedent
from typing import Any

import yaml

from engine.books.books import Shelf
from engine.door import Door, open_books
from engine.instance.read import STORE
from engine.model.profiles import EVERYONE
from engine.report.report import Report
from server.feeds.instance import read_instance
from tests.support.books.loads import load_instance

SCENARIOS = """
actual:   {alias: Actuals, kind: actual}
budget:   {alias: Budget, kind: budget}
forecast: {alias: Forecast, kind: forecast}
"""
LEDGER = """
time: {column: date}
dimensions: {}
measures: {amount: {places: 2}}
metrics:
  revenue: {measure: amount}
"""


def csv(text: str) -> str:
    """Return a table written with spaces as CSV: `a b` over `1 2`; a dash is nothing."""
    rows = [line.split() for line in text.splitlines() if line.strip()]
    return "\n".join(",".join("" if cell == "-" else cell.replace("~", " ") for cell in row) for row in rows) + "\n"


def write_instance(
    folder: Path,
    *,
    facts: Mapping[str, str],
    domains: Mapping[str, str],
    dimensions: str = "",
    tables: Mapping[str, str] | None = None,
    statements: Mapping[str, str] | None = None,
    scenarios: str = SCENARIOS,
    fiscal_year: str = "{starts: 1}",
    calendar: str = "",
    trading: str = "",
    profiles: str = "",
    bindings: Mapping[str, Mapping[str, Any]] | None = None,
    sources: Mapping[str, Mapping[str, Any]] | None = None,
) -> Path:
    """Write an instance whose facts and tables are CSV files in its data folder.

    `facts` is domain to rows, `domains` domain to the rest of its file (`table` and `domain` are filled in), `tables`
    is the name of a live table to its rows, `statements` the key to the lines, `calendar` the CSV of a calendar table
    that stands instead of a fiscal year, `trading` that of a second one beside it.
    """
    data = folder / "data"
    data.mkdir(parents=True)
    for sub in ("domains", "statements"):
        (folder / sub).mkdir()
    feeds: dict[str, dict[str, Any]] = {}
    for name, rows in {**facts, **(tables or {})}.items():
        (data / f"{name}.csv").write_text(csv(rows))
        takes = {"allow_empty": True, **({"unknown_members": "extend"} if name in facts else {})}
        feeds[name] = {"source": "files", "target": f"live.{name}", "file": f"{name}.csv", **takes}
    for name, more in (bindings or {}).items():
        feeds[name] = {**feeds.get(name, {}), **more}
    files = {"files": {"kind": "folder", "path": "data"}}
    integrations = {"sources": {**files, **(sources or {})}, "bindings": feeds}
    (folder / "integrations.yaml").write_text(yaml.safe_dump(integrations))
    time = "calendar: calendar.csv" if calendar else f"fiscal_year: {fiscal_year}"
    second = "trading_calendar: trading.csv\n" if trading else ""
    (folder / "instance.yaml").write_text(f"name: Small\ncurrency: USD\n{time}\n{second}")
    for name, text in (("calendar.csv", calendar), ("trading.csv", trading)):
        if text:
            (folder / name).write_text(text)
    (folder / "dimensions.yaml").write_text(dedent(dimensions) or "{}\n")
    (folder / "scenarios.yaml").write_text(dedent(scenarios))
    (folder / "profiles.yaml").write_text(dedent(profiles) or "{}\n")
    for key, text in domains.items():
        (folder / "domains" / f"{key}.yaml").write_text(f"domain: {key}\ntable: live.{key}\n{dedent(text)}")
    for key, text in (statements or {}).items():
        (folder / "statements" / f"{key}.yaml").write_text(f"statement: {key}\nlines:\n{dedent(text)}")
    return folder


def write_ledger(folder: Path, rows: str, **parts: Any) -> Path:
    """Write an instance of one ledger without dimensions, whose revenue is seen by everyone."""
    return write_instance(
        folder / "small",
        facts={"gl": f"date scenario amount\n{rows}"},
        domains={"gl": LEDGER},
        profiles="everyone: {scenarios: {'*': {}}}\nassign: [{subject: dev, profile: everyone}]\n",
        **parts,
    )


def small_books(folder: Path, *, profile: str | None = None, **parts: Any) -> Door:
    """Write an instance, load it and open its books."""
    instance = write_instance(folder / "small", **parts)
    read = read_instance(instance)
    load_instance(instance, folder / "state", read)
    shelf = Shelf(read.catalogue, folder / "state" / STORE)
    return Door(shelf, EVERYONE if profile is None else read.profiles.by_key[profile])


def granting(folder: Path, scenarios: str) -> Door:
    """Return the same small books as the profile `seen`, once it grants these scenarios."""
    instance = folder / "small"
    (instance / "profiles.yaml").write_text(f"seen: {{scenarios: {scenarios}}}\n")
    return open_books(instance, state=folder / "state", profile="seen")


def figures(report: Report, *keys: str) -> dict[Any, Decimal | None]:
    """Return the figures of a report by some columns of its frame (a single one unwrapped); totals have None."""
    found: dict[Any, Decimal | None] = {}
    for row in report.frame.iter_rows(named=True):
        key = tuple(row[name] for name in keys)
        assert key not in found or len(keys) == 0, f"{key} does not tell figures apart"
        found[key[0] if len(key) == 1 else key] = None if row["exact"] is None else Decimal(row["exact"])
    return found


def figure(report: Report) -> Decimal | None:
    """Return the only figure of a report."""
    (value,) = figures(report, "line" if report.statement else "metric", "alias").values()
    return value


def codes(report: Report) -> set[str]:
    """Return the codes of the notes of a report."""
    return {note.code for note in report.notes}
