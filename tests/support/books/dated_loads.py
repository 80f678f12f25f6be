"""A ledger whose feed replaces periods, loaded at times that a test says."""

import json
from datetime import datetime
from pathlib import Path

from engine.door import Door, open_books
from engine.facts.manifest import current_version, manifest_file
from engine.report.report import Report
from tests.support.books.loads import load_feeds
from tests.support.books.small import csv, write_instance


class DatedLedger:
    """A ledger whose feed replaces periods, and what its loads are called here: by when they were published."""

    def __init__(self, folder: Path, facts: str, profiles: str = "", load: str = "replace_periods") -> None:
        self.state = folder / "state"
        self.folder = write_instance(
            folder / "small",
            facts={"gl": f"date scenario product amount\n{facts}"},
            domains={
                "gl": """
                time: {column: date}
                dimensions: {product: product}
                measures: {amount: {places: 2}}
                metrics:
                  revenue: {measure: amount}
                  balance: {measure: amount, over_time: closing}
                  opening: {measure: amount, over_time: opening}
                  to_date: {measure: amount, over_time: {to_date: books}}
                  known: {measure: amount, over_time: {last_known: always}}
                """
            },
            dimensions="product: {kind: leaf}",
            scenarios="""
                actual:   {alias: Actuals, kind: actual, closed_through: 2021-03}
                forecast: {alias: Forecast, kind: forecast}
            """,
            profiles=profiles,
            bindings={"gl": {"load": load, "rejects": {"allow": 100}}},  # rows of other periods
        )
        self.names: dict[str, str] = {}

    def load(self, periods: str, facts: str | None = None, at: str = "") -> Door:
        """Load some periods, at the time that the loader's clock shows, and return the books."""
        if facts is not None:
            (self.folder / "data" / "gl.csv").write_text(csv(f"date scenario product amount\n{facts}"))
        (loaded,) = load_feeds(self.folder, self.state, periods=periods)
        self.names[loaded.load] = f"L{len(self.names) + 1}"
        if at:
            self.set_clock(loaded.load, at)
        return open_books(self.folder, state=self.state)

    def set_clock(self, load: str, at: str) -> None:
        """Write the time of a load as a clock that showed it would have."""
        file = manifest_file(self.state / "store", current_version(self.state / "store"))
        manifest = json.loads(file.read_text())
        manifest["loads"][load]["loaded_at"] = datetime.fromisoformat(at).isoformat()
        file.write_text(json.dumps(manifest))

    def told(self, report: Report, scenario: str = "actual") -> tuple[str | None, str | None]:
        """Return which load a result names, and when it says that the first of several was."""
        known = report.freshness["gl"][scenario]
        return self.names.get(known.load_id or ""), known.earliest_loaded_at
