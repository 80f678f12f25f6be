"""The "about" sheet of a file: the request, time, profile, freshness and notes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from engine.model.calendar.periods import PeriodRange, Span
from engine.model.exact import ONE
from engine.model.formulas import written
from engine.model.notes import messages
from engine.model.requests import Exclusion, Selection
from engine.present.answers.rows import MOST_SPANS
from engine.report.data import SCALED
from engine.report.explanation import Explanation
from engine.report.inspection import Inspection
from engine.report.report import Report, left_out_words
from engine.report.snapshots import Kept
from engine.report.transform import Fresh, Transform

Row = tuple[str, str]


class ExportStamp(Struct, frozen=True, kw_only=True):
    """When a file was written, and for whom."""

    at: datetime
    subject: str


def about(kept: Kept, made: ExportStamp, question: Iterable[Row]) -> Iterator[Row]:
    """Yield the name and text of each fact about a file; `question` is the request."""
    yield "Books", kept.permission.books
    yield from question
    yield "Made at", made.at.isoformat(timespec="seconds")
    yield "Made for", made.subject
    yield "Catalogue version", kept.catalogue_version
    yield "Data version", kept.data_version
    yield from freshness_rows(kept.freshness)
    for message in messages(kept.notes):
        yield "Note", message


def asked_report(report: Report) -> Iterator[Row]:
    """Yield the request of a report."""
    keys = ", ".join(line.key for line in report.lines)
    yield ("Statement", report.statement) if report.statement else ("Metrics", keys)
    yield from period_rows(report.period)
    for column in report.columns:
        yield f"Column: {column.heading}", column.scenario
    if report.breakdown:
        yield "Broken down by", ", ".join(report.breakdown) + (", with sub-totals" if report.subtotals else "")
    yield "Currency", report.currency
    if report.scale:
        yield "Scale", f"numbers are in units and shown in{SCALED[report.scale]}"
    yield from filter_rows(report.filters)
    if known := report.materiality:
        bounds = {"absolute": known.amount, "percent": known.percent}
        rule = " and " if known.needs_both else " or "
        words = rule.join(f"{name} {bound.digits()}" for name, bound in bounds.items() if bound is not None)
        yield "Materiality", f"{report.columns[known.column].heading}: {words}"
        for sentence in left_out_words(report):
            yield "Left out", sentence


def asked_explanation(explanation: Explanation) -> Iterator[Row]:
    """Yield the request of an explanation."""
    yield "Explains", explanation.written
    yield from period_rows(explanation.period)
    for name, side in zip("ab", explanation.sides, strict=False):  # without sides there is nothing to explain
        yield f"Side {name}: {side.heading}", side.scenario
    yield "By", ", ".join(known.by for known in explanation.lists)
    yield "Currency", explanation.currency
    yield from filter_rows(explanation.filters)


def asked_rows(inspection: Inspection) -> Iterator[Row]:
    """Yield the request of an inspection."""
    yield "Rows of", inspection.source
    yield "Scenario", inspection.scenario
    if inspection.period is not None:
        yield "Period", inspection.period.label
        if not inspection.period.is_undated:
            yield "Days", days_in_words(inspection.read)
    yield "Rows", f"{len(inspection.rows)}" + (", and there are more" if inspection.truncated else ", all of them")
    yield from inspection.chosen.items()
    yield from filter_rows(inspection.filters)
    if inspection.figure is not None:
        yield "Contribution total", written(inspection.contribution_total)
        if inspection.divisor != ONE:
            yield "Divisor", inspection.divisor.digits()
        if inspection.makes_figure:
            yield "Figure", written(inspection.figure_amount, quotient=inspection.quotient)


def asked_transform(transform: Transform) -> Iterator[Row]:
    """Yield the inputs of a script, and the script."""
    for at, words in enumerate(transform.inputs):
        yield f"Made of: frames[{at}]", words
    yield "By the script", transform.code


def filter_rows(filters: Mapping[str, Selection]) -> Iterator[Row]:
    """Yield the filters of a request."""
    for dimension, ids in filters.items():
        if isinstance(ids, Exclusion):
            among = [", ".join(ids.include)] if ids.include else []
            yield f"Filter: {dimension}", " ".join([*among, "without", ", ".join(ids.exclude)])
        else:
            yield f"Filter: {dimension}", ", ".join(ids)


def days_in_words(spans: Sequence[Span]) -> str:
    """Return the days whose rows count: the first spans, and how many there are beside them."""
    words = [f"{span.first} to {span.last}" for span in spans[:MOST_SPANS]]
    more = len(spans) - len(words)
    return ", ".join([*words, *([f"and {more} more spans"] if more else [])]) or "none"


def period_rows(period: PeriodRange) -> Sequence[Row]:
    """Return the rows of a period range."""
    if period.is_undated:
        return [("Period", period.label)]
    return [("Period", period.label), ("Days", f"{period.span.first} to {period.span.last}")]


def freshness_rows(freshness: Fresh) -> Iterator[Row]:
    """Yield the freshness of each scenario of a domain."""
    for domain, scenarios in freshness.items():
        for scenario, known in scenarios.items():
            words = [f"through {known.through}" if known.through else "no rows"]
            words += [f"loaded {known.loaded_at}"] if known.loaded_at else []
            words += [f"open: {known.open}"] if known.open else []
            words += [f"undated: {known.undated:,}"] if known.undated else []
            yield f"Fresh: {domain}, {scenario}", ", ".join(words)
