"""The report: data with a frame for analysts and a face for terminals and notebooks."""

from functools import cached_property

import polars as pl

from engine.report.data import ReportData
from engine.report.frame import frame_of
from engine.report.text import as_html, as_text


class Report(ReportData):
    """A statement or metrics, answered.

    `frame` is a tidy Polars frame: a row for each figure, `value` in units as Float64 and `exact` as its digits.
    """

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The figures, one row each; see engine.report.frame."""
        return frame_of(self)

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)
