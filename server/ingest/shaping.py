"""Shaping: one extract on its way into a live table, column by column, as its binding maps it."""

from dataclasses import dataclass, field

import polars as pl

from engine.calendar.periods import PeriodRange
from engine.feeds import Binding, Filling
from server.ingest.columns import because, mapped, text
from server.ingest.rejects import FILE, ROW, VALIDATE, LoadFailed, Rejects

OTHER_SEPARATORS = ";\t|"


@dataclass
class Shaping:
    """One extract on its way into a live table."""

    binding: Binding
    extract: pl.DataFrame
    rejects: Rejects
    periods: PeriodRange | None = None  # that were asked for, None where all
    columns: dict[str, pl.Series] = field(default_factory=dict)  # those read so far, each judged once

    def column(self, name: str) -> pl.Series:
        """Return what fills a column of the live table."""
        if name not in self.columns:
            self.columns[name] = self._column(name, self.binding.fillings.get(name))
        return self.columns[name]

    def _column(self, name: str, filling: Filling | None) -> pl.Series:
        if filling is not None and filling.constant is not None:
            return pl.Series(name, [filling.constant]).new_from_index(0, self.extract.height)
        return self._meant(name, self.extracted((filling.column if filling else None) or name), filling)

    def extracted(self, name: str) -> pl.Series:
        """Return a column of the extract as it came."""
        if name not in self.extract.columns or name in (FILE, ROW):
            known = [column for column in self.extract.columns if column not in (FILE, ROW)]
            says = f"the extract of {self.binding.key} has no column '{name}'; it has {', '.join(known)}"
            if len(known) == 1 and any(mark in known[0] for mark in OTHER_SEPARATORS):
                says += "; the columns of a CSV file are separated by commas"
            raise LoadFailed(VALIDATE, says)
        return self.extract[name]

    def _meant(self, name: str, column: pl.Series, filling: Filling | None) -> pl.Series:
        if filling is None or filling.values is None:
            return column
        parsed = mapped(column, filling.values)
        self.rejects.where(parsed.reasons.is_not_null(), name, column, parsed.reasons)
        return parsed.values

    def format(self, name: str) -> str | None:
        """Return the format that the days of a column are written in, None where it is the usual one."""
        filling = self.binding.fillings.get(name)
        return filling.format if filling else None

    def ids(self, name: str, *, optional: bool = False) -> pl.Series:
        """Return a column of ids or names as text, null where nothing fills it and nothing must."""
        if optional and name not in self.binding.fillings and name not in self.extract.columns:
            return pl.Series(name, [None], dtype=pl.String).new_from_index(0, self.extract.height)
        return text(self.column(name))

    def required(self, name: str) -> pl.Series:
        """Return a column of ids, rejecting rows that have none."""
        ids = self.ids(name)
        self.rejects.where(ids.is_null(), name, ids, "is missing")
        return ids

    def once(self, name: str, ids: pl.Series) -> None:
        """Reject every row after the first that says the same id."""
        rejected = ids.is_not_null() & ~ids.is_first_distinct()
        self.rejects.where(rejected, name, ids, because(rejected, "stands twice").fill_null("stands twice"))

    def finish(self, columns: dict[str, pl.Series]) -> pl.DataFrame:
        """Return the rows that are kept; LoadFailed where more are rejected than the binding allows."""
        self.rejects.hold(self.binding.rejects_allowed)
        return self.rejects.kept(pl.DataFrame(columns))
