"""Examples of calls, made of the names in the catalogue that a caller sees and of figures that have rows for them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct

from engine.books.reader import Reader
from engine.books.search import first_ids, is_findable
from engine.model.aggregation import MemberAggregation
from engine.model.calendar.periods import Grain, PeriodRange
from engine.model.catalogue import PERIOD, Base, DimensionKind, Domain, Metric, MetricLine, Statement
from engine.model.fact_store import Presence
from engine.model.figure_parts import PartsFinder
from engine.model.scenarios import Scenario, live
from engine.model.scope import ALL, UNASSIGNED, Cut, Cuts
from engine.queries.rows import shown_columns
from server.caller.caller import Caller

# Models obey texts: a description has keys of the instance, no label and nothing that a load brought. A refusal may
# name visible members, if short.


Example = Mapping[str, Any]
MAX_SUBJECTS = 8  # metrics with a scenario that examples ask for
MAX_TRIED = 24  # metrics, or lines of a statement, that are looked at for rows
MAX_OPENED = 20_000  # members of a dimension that an example breaks down by before others
MAX_DIMENSIONS = 5  # that examples of a subject break down by
MAX_COLUMNS = 8  # of rows, where all do not fit into an answer
MAX_OF_EACH = 8  # members of a dimension that a filter is tried with
MAX_MEMBER = 60  # characters of a member that an example names
GRAINS = (Grain.MONTH, Grain.QUARTER, Grain.YEAR)
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


class Subject(Struct, frozen=True, kw_only=True):
    """A metric that has rows for a caller, what to ask it for, and the dimensions that cut it, trees first.

    Those of very many members are `wide`: no example opens their members if another will do.
    """

    metric: Metric
    base: Base
    scenario: Scenario
    other: str  # the reference to compare with
    range: PeriodRange
    dimensions: Sequence[str]
    wide: Sequence[str]

    @property
    def axes(self) -> Sequence[str]:
        """What an example breaks down by, in the order of trial."""
        return *self.dimensions[:MAX_DIMENSIONS], PERIOD, *self.wide[:MAX_DIMENSIONS]

    @property
    def bounds(self) -> dict[str, str]:
        """The range as arguments."""
        return {"period_start": self.range.start.code, "period_end": self.range.end.code}


def no_example(_: Caller) -> Iterable[Example]:
    """Return no arguments: the call takes none, or one that another call returned."""
    return ()


def subjects_of(reader: Reader) -> Sequence[Subject]:
    """Return what examples ask for; nothing if the caller sees no dated rows of any metric that is no formula."""
    return reader.memo_as_seen("subjects of examples", lambda: tuple(islice(subjects(reader), MAX_SUBJECTS)), len)


def subjects(reader: Reader) -> Iterator[Subject]:
    """Yield the metrics that have rows, each with its scenarios: plain sums, and those of statements, first."""
    shown = {line.metric for each in reader.statements.values() for line in each.lines if isinstance(line, MetricLine)}
    bases = [(metric, metric.body) for metric in reader.metrics.values() if isinstance(metric.body, Base)]
    for metric, base in sorted(bases, key=lambda pair: (*detours(pair[1]), pair[0].key not in shown))[:MAX_TRIED]:
        domain = reader.domains[base.domain]
        for scenario in sorted(live(reader.scenarios).values(), key=lambda each: each.kind != "actual"):
            days = presence_of(base, scenario, reader)
            asked = range_of(days, scenario, base, domain, reader)
            if asked is not None:
                dimensions = dimensions_of(base, reader)
                wide = [key for key in dimensions if is_wide(key, reader)]
                yield Subject(
                    metric=metric,
                    base=base,
                    scenario=scenario,
                    other=other_of(scenario, base, asked, reader),
                    range=asked,
                    dimensions=[key for key in dimensions if key not in wide],
                    wide=wide,
                )


def detours(base: Base) -> tuple[bool, bool, bool]:
    """Return what keeps a base from being a plain sum: conditions, units, repetition; what it adds up to, and time."""
    mixed = base.measure.currency is not None or base.measure.unit_from is not None
    is_partial = bool(base.amounts) or mixed or base.repeats
    return is_partial, base.over_members is not MemberAggregation.SUM, not base.over_time.is_flow


def presence_of(base: Base, scenario: Scenario, reader: Reader, sides: Iterable[str] = (), kept: Cuts = ()) -> Presence:
    """Return the days of the rows of a base that the caller sees."""
    return reader.presence(base.domain, scenario.id, reader.cut_cell((*base.where, *kept)), sides)


def range_of(days: Presence, scenario: Scenario, base: Base, domain: Domain, reader: Reader) -> PeriodRange | None:
    """Return the last period that has rows, a closed one if any is; of a flow, its year so far."""
    calendar, closed = reader.catalogue.calendar, scenario.open_after(domain.key)
    grain = next((grain for grain in (*GRAINS, domain.grain) if domain.carries(grain)), domain.grain)
    dated = [day for day in days.dates if closed is None or day <= closed] or days.dates
    last = next((found for day in reversed(dated[-MAX_TRIED:]) if (found := calendar.at(day, grain))), None)
    if last is None:
        return None
    year = calendar.at(last.last, Grain.YEAR) if base.over_time.is_flow else None
    first = next(iter(calendar.periods(run)), last) if year and (run := calendar.touching(year.span, grain)) else last
    return PeriodRange(first if first.ordinal <= last.ordinal else last, last)


def other_of(scenario: Scenario, base: Base, asked: PeriodRange, reader: Reader) -> str:
    """Return a scenario with rows to compare with, budgets first; else the year before."""
    others = [other for other in live(reader.scenarios).values() if other.id != scenario.id]
    for other in sorted(others, key=lambda each: each.kind != "budget"):
        pairs = ((scenario, other), (other, scenario))
        if all(presence_of(base, one, reader, {against.id}).days(asked.span) for one, against in pairs):
            return other.id
    return f"{scenario.id}@py"


def dimensions_of(base: Base, reader: Reader) -> list[str]:
    """Return the dimensions with members that cut a base: those that its condition names last, trees first."""
    named = {reader.catalogue.dimensions[cut.dimension].leaf for cut in base.where}
    having = reader.catalogue.dimensions_of(reader.domains[base.domain])
    findable = [each for each in having if is_findable(each) and each.key in reader.dimensions]
    ordered = sorted(findable, key=lambda each: (each.leaf in named, each.kind is not DimensionKind.RAGGED))
    return [each.key for each in ordered]


def is_wide(dimension: str, reader: Reader) -> bool:
    """Tell whether a dimension has very many members, or members of very many."""
    return reader.leaf_count(reader.catalogue.dimensions[dimension].leaf) > MAX_OPENED


# Reports.


def columns_of(subject: Subject) -> list[dict[str, str]]:
    """Return two columns to report."""
    return [{"scenario": subject.scenario.id}, {"scenario": subject.other}]


def statement_example(caller: Caller) -> Iterator[Example]:
    """Yield statements with a line that has rows, beside what it is compared with."""
    reader = caller.reader
    for subject in subjects_of(reader):
        variance = {"scenario": f"var({subject.scenario.id},{subject.other})", "alias": "Variance"}
        for statement in statements_of(subject, reader):
            scenarios = [*columns_of(subject), variance]
            yield {"statement": statement, "scenarios": scenarios, **subject.bounds, "scale": 3}


def statements_of(subject: Subject, reader: Reader) -> Iterator[str]:
    """Yield the statements in which some line that is no formula has rows, the default first."""
    default = reader.catalogue.default.statement
    for key in sorted(reader.statements, key=lambda key: key != default):
        if has_rows(reader.statements[key], subject, reader):
            yield key


def has_rows(statement: Statement, subject: Subject, reader: Reader) -> bool:
    """Tell whether one of the first lines of a statement has rows in the range of an example."""
    parts_of = PartsFinder(reader.catalogue).parts_of
    bases = [parts_of(line, statement).bases for line in statement.lines]
    plain = [next(iter(found)) for found in bases if len(found) == 1]
    return any(presence_of(base, subject.scenario, reader).days(subject.range.span) for base in plain[:MAX_TRIED])


def metric_example(caller: Caller) -> Iterator[Example]:
    """Yield metrics by the members of a dimension, or by periods."""
    for subject in subjects_of(caller.reader):
        for dimension in subject.axes:
            asked = {"metrics": [subject.metric.key], "scenarios": columns_of(subject), **subject.bounds}
            yield {**asked, "dimensions": [dimension]}


def explain_example(caller: Caller) -> Iterator[Example]:
    """Yield variances by the members of a dimension, or of a sum over time by periods."""
    for subject in subjects_of(caller.reader):
        scenarios = [subject.scenario.id, subject.other]
        for dimension in subject.axes:
            if dimension != PERIOD or subject.base.over_time.is_flow:
                yield {"metric": subject.metric.key, "scenarios": scenarios, "by": [dimension], **subject.bounds}


def rows_example(caller: Caller) -> Iterator[Example]:
    """Yield the rows of metrics whose domain can be inspected, of many columns also the first and the last."""
    for subject in subjects(caller.reader):
        domain = caller.reader.domains[subject.base.domain]
        if domain.inspect_enabled:
            asked = {"source_key": domain.key, "scenario_id": subject.scenario.id}
            rows = {**asked, "filters": {"metric": subject.metric.key}, **subject.bounds, "limit": 20}
            yield rows
            columns = shown_columns(domain)
            if len(columns) > MAX_COLUMNS:
                yield {**rows, "columns": [*columns[: MAX_COLUMNS - 1], columns[-1]]}


def source_example(caller: Caller) -> Iterator[Example]:
    """Yield the sources that can be inspected."""
    yield from ({"source_key": key} for key, domain in caller.reader.domains.items() if domain.inspect_enabled)


def chart_of(asked: Example) -> Example:
    """Return a chart of a result of metrics by the members of a dimension."""
    (metric,), (dimension,) = asked["metrics"], asked["dimensions"]
    label = f"{dimension}_label"
    code = (
        f"result = df.filter(pl.col({dimension!r}).is_not_null(), pl.col('value').is_not_null())"
        f".select({label!r}, 'alias', 'value')"
    )
    spec = {"chart_type": "bar", "title": f"{metric} by {dimension}", "x": label, "y": "value", "series": "alias"}
    return {"data_refs": [f"ds_{ELLIPSIS}"], "transform_code": code, "chart_spec": spec}


# Discovery, feeds and prompts.


def search_example(caller: Caller) -> Iterator[Example]:
    """Yield listings of dimensions that have visible members, then a search of a metric by its name."""
    reader = caller.reader
    first = (key for subject in subjects_of(reader)[:1] for key in (*subject.dimensions, *subject.wide))
    for key in dict.fromkeys((*first, *(key for key, known in reader.dimensions.items() if is_findable(known)))):
        if next(visible_members(key, reader), None) is not None:
            yield {"dimension": key, "limit": 20}
    yield from ({"query": key} for key in islice(reader.metrics, 1))


def visible_members(dimension: str, reader: Reader) -> Iterator[str]:
    """Yield the visible members of a dimension that a refusal can name, among the first."""
    yield from filter(is_short, first_ids(dimension, MAX_TRIED, reader))


def is_short(member: str) -> bool:
    """Tell whether an id of a member is short and plain enough for an example."""
    return member.isprintable() and len(member) <= MAX_MEMBER and member not in (ALL, UNASSIGNED)


def variants_example(caller: Caller) -> Iterator[Example]:
    """Yield the scenarios, those with variants first."""
    scenarios = live(caller.reader.scenarios)
    yield from ({"scenario_id": key} for key in sorted(scenarios, key=lambda key: not scenarios[key].variants))


def feed_example(caller: Caller) -> Iterator[Example]:
    """Yield the feeds."""
    yield from ({"binding_id": key} for key in caller.feeds.seen)


def target_example(caller: Caller) -> Iterator[Example]:
    """Yield the tables that feeds fill."""
    yield from ({"target": feed.binding.target} for feed in caller.feeds.seen.values())


def history_example(caller: Caller) -> Iterator[Example]:
    """Yield the last loads of a feed, those that were loaded first."""
    feeds = caller.feeds.seen
    last = caller.feeds.last(list(feeds)) or {}
    for key in sorted(feeds, key=lambda key: not (key in last and last[key].success)):
        yield {"dataset_id": feeds[key].binding.target, "limit": 5}


def prompt_example(caller: Caller) -> Iterator[Example]:
    """Yield a prompt about each metric."""
    yield from ({"name": "variance_commentary", "arguments": {"metric": metric}} for metric in caller.reader.metrics)


def completion_example(caller: Caller) -> Iterator[Example]:
    """Yield each metric half written."""
    for metric in caller.reader.metrics:
        yield {"prompt": "variance_commentary", "argument": "metric", "value": metric[:3]}


def upload_example(_: Caller) -> Iterable[Example]:
    """Return a small file of figures."""
    return [{"filename": "figures.csv", "mime_type": "text/csv", "size_bytes": 1024}]


# Arguments that the example of a tool leaves out, for the refusals of wrong ones.


def argument_examples(caller: Caller) -> Example:
    """Return a value for each argument that several tools take."""
    return caller.reader.memo_as_seen("examples of arguments", lambda: make_argument_examples(caller))


def make_argument_examples(caller: Caller) -> Example:
    """Return a value for each argument that several tools take; a filter names a visible member."""
    subject = next(iter(subjects_of(caller.reader)), None)
    always: Example = {
        "dimensions": [PERIOD],
        "scale": 3,
        "decimals": 1,
        "data_ref": f"ds_{ELLIPSIS}",
        "data_refs": [f"ds_{ELLIPSIS}"],
        "chart_spec": {"chart_type": "bar", "title": "Figures by member"},
        "materiality": {"percent": 5},
        "format": "xlsx",
    }
    if subject is None:
        return always
    return {
        **always,
        **subject.bounds,
        "scenarios": columns_of(subject)[:1],
        "metrics": [subject.metric.key],
        "domain": subject.base.domain,
        "filters": next(filters_of(subject, caller.reader), {}),
    }


def filters_of(subject: Subject, reader: Reader) -> Iterator[Example]:
    """Yield filters by one short, visible member that has rows of a subject."""
    keys = (*subject.dimensions, *subject.wide[::-1])
    named = ((key, member) for key in keys for member in islice(visible_members(key, reader), MAX_OF_EACH))
    for key, member in islice(named, MAX_TRIED):
        days = presence_of(subject.base, subject.scenario, reader, kept=(Cut(key, (member,)),))
        if days.days(subject.range.span):
            yield {key: [member]}
