"""Examples of calls, made of the names in the catalogue that a caller sees and of figures that have rows for them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from engine.books.reader import Reader
from engine.books.search import is_findable
from engine.model.aggregation import MemberAggregation
from engine.model.calendar.periods import Grain, PeriodRange
from engine.model.catalogue import PERIOD, Base, DimensionKind, Domain, Metric, MetricLine, Statement
from engine.model.fact_store import Presence
from engine.model.scenarios import Scenario
from engine.model.scope import ALL, UNASSIGNED
from server.caller.caller import Caller

# Models obey texts: a description has keys of the instance, no label and nothing that a load brought. A refusal may
# name visible members, if short.


Example = Mapping[str, Any]
MAX_TRIED = 24  # metrics, or lines of a statement, that are looked at for rows
MAX_MEMBER = 60  # characters of a member that an example names
GRAINS = (Grain.MONTH, Grain.QUARTER, Grain.YEAR)
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


class Subject(Struct, frozen=True, kw_only=True):
    """A metric that has rows for a caller, what to ask it for, and the dimensions that cut it, trees first."""

    metric: Metric
    base: Base
    scenario: Scenario
    other: str  # the reference to compare with
    range: PeriodRange
    dimensions: Sequence[str]

    @property
    def dimension(self) -> str:
        """The dimension to break it down by."""
        return next(iter(self.dimensions), PERIOD)

    @property
    def bounds(self) -> dict[str, str]:
        """The range as arguments."""
        return {"period_start": self.range.start.code, "period_end": self.range.end.code}


def no_example(_: Caller) -> Example:
    """Return no arguments: the call takes none, or one that another call returned."""
    return {}


def subject_of(reader: Reader) -> Subject | None:
    """Return what examples ask for; None if the caller sees no dated rows of any metric that is no formula."""
    return reader.memo_as_seen("subject of examples", lambda: next(subjects(reader), None))


def subjects(reader: Reader) -> Iterator[Subject]:
    """Yield the metrics that have rows with the first scenario that has them: plain sums, those of statements first."""
    shown = {line.metric for each in reader.statements.values() for line in each.lines if isinstance(line, MetricLine)}
    bases = [(metric, metric.body) for metric in reader.metrics.values() if isinstance(metric.body, Base)]
    for metric, base in sorted(bases, key=lambda pair: (*detours(pair[1]), pair[0].key not in shown))[:MAX_TRIED]:
        domain = reader.domains[base.domain]
        for scenario in sorted(reader.scenarios.values(), key=lambda each: each.kind != "actual"):
            days = presence_of(base, scenario, reader)
            asked = range_of(days, scenario, base, domain, reader)
            if asked is not None:
                yield Subject(
                    metric=metric,
                    base=base,
                    scenario=scenario,
                    other=other_of(scenario, base, asked, reader),
                    range=asked,
                    dimensions=dimensions_of(base, reader),
                )


def detours(base: Base) -> tuple[bool, bool, bool]:
    """Return what keeps a base from being a plain sum: conditions and units, what it adds up to, and time."""
    mixed = base.measure.currency is not None or base.measure.unit_from is not None
    return bool(base.amounts) or mixed, base.over_members is not MemberAggregation.SUM, not base.over_time.is_flow


def presence_of(base: Base, scenario: Scenario, reader: Reader, sides: Iterable[str] = ()) -> Presence:
    """Return the days of the rows of a base that the caller sees."""
    return reader.presence(base.domain, scenario.id, reader.cut_cell(base.where), sides)


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
    others = [other for other in reader.scenarios.values() if other.id != scenario.id]
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


# Reports.


def columns_of(subject: Subject) -> list[dict[str, str]]:
    """Return two columns to report."""
    return [{"scenario": subject.scenario.id}, {"scenario": subject.other}]


def statement_example(caller: Caller) -> Example:
    """Return a statement with a line that has rows, beside what it is compared with."""
    reader = caller.reader
    subject = subject_of(reader)
    statement = statement_of(subject, reader) if subject else None
    if subject is None or statement is None:
        return {}
    variance = {"scenario": f"var({subject.scenario.id},{subject.other})", "alias": "Variance"}
    return {"statement": statement, "scenarios": [*columns_of(subject), variance], **subject.bounds, "scale": 3}


def statement_of(subject: Subject, reader: Reader) -> str | None:
    """Return a statement in which some line that is no formula has rows, the default first."""
    default = reader.catalogue.default.statement
    for key in sorted(reader.statements, key=lambda key: key != default):
        if has_rows(reader.statements[key], subject, reader):
            return key
    return None


def has_rows(statement: Statement, subject: Subject, reader: Reader) -> bool:
    """Tell whether one of the first lines of a statement has rows in the range of an example."""
    bases = [reader.catalogue.bases_of_line(line, statement) for line in statement.lines]
    plain = [next(iter(found)) for found in bases if len(found) == 1]
    return any(presence_of(base, subject.scenario, reader).days(subject.range.span) for base in plain[:MAX_TRIED])


def metric_example(caller: Caller) -> Example:
    """Return a metric by the members of a dimension."""
    subject = subject_of(caller.reader)
    if subject is None:
        return {}
    asked = {"metrics": [subject.metric.key], "scenarios": columns_of(subject), **subject.bounds}
    return {**asked, "dimensions": [subject.dimension]}


def explain_example(caller: Caller) -> Example:
    """Return a variance by the members of a dimension; none where no dimension has members."""
    subject = subject_of(caller.reader)
    if subject is None or not (subject.dimensions or subject.base.over_time.is_flow):
        return {}
    scenarios = [subject.scenario.id, subject.other]
    return {"metric": subject.metric.key, "scenarios": scenarios, "by": [subject.dimension], **subject.bounds}


def rows_example(caller: Caller) -> Example:
    """Return the rows of a metric whose domain can be inspected."""
    reader = caller.reader
    subject = next((each for each in subjects(reader) if reader.domains[each.base.domain].inspect_enabled), None)
    if subject is None:
        return {}
    asked = {"source_key": subject.base.domain, "scenario_id": subject.scenario.id}
    return {**asked, "filters": {"metric": subject.metric.key}, **subject.bounds, "limit": 20}


def source_example(caller: Caller) -> Example:
    """Return a source that can be inspected."""
    sources = [key for key, domain in caller.reader.domains.items() if domain.inspect_enabled]
    return {"source_key": sources[0]} if sources else {}


def chart_example(caller: Caller) -> Example:
    """Return a chart of the example of metrics."""
    subject = subject_of(caller.reader)
    if subject is None:
        return {}
    label = f"{subject.dimension}_label"
    code = (
        f"result = df.filter(pl.col({subject.dimension!r}).is_not_null(), pl.col('value').is_not_null())"
        f".select({label!r}, 'alias', 'value')"
    )
    title = f"{subject.metric.key} by {subject.dimension}"
    spec = {"chart_type": "bar", "title": title, "x": label, "y": "value", "series": "alias"}
    return {"data_refs": [f"ds_{ELLIPSIS}"], "transform_code": code, "chart_spec": spec}


# Discovery, feeds and prompts.


def search_example(caller: Caller) -> Example:
    """Return a listing of a dimension that has visible members, else a metric by its name."""
    reader = caller.reader
    subject = subject_of(reader)
    findable = [key for key, dimension in reader.dimensions.items() if is_findable(dimension)]
    for key in dict.fromkeys((*(subject.dimensions if subject else ()), *findable)):
        if visible_member(key, reader) is not None:
            return {"dimension": key, "limit": 20}
    return {"query": next(iter(reader.metrics))} if reader.metrics else {}


def visible_member(dimension: str, reader: Reader) -> str | None:
    """Return a visible member of a dimension that a refusal can name, None if there is none among the first."""
    ids = (member for member, _ in zip(reader.visible_ids(dimension), range(MAX_TRIED), strict=False))
    return next((member for member in ids if is_short(member)), None)


def is_short(member: str) -> bool:
    """Tell whether an id of a member is short and plain enough for an example."""
    return member.isprintable() and len(member) <= MAX_MEMBER and member not in (ALL, UNASSIGNED)


def variants_example(caller: Caller) -> Example:
    """Return a scenario, one with variants if any has some."""
    keys = sorted(caller.reader.scenarios, key=lambda key: not caller.reader.scenarios[key].variants)
    return {"scenario_id": keys[0]} if keys else {}


def feed_example(caller: Caller) -> Example:
    """Return a feed."""
    return {"binding_id": next(iter(caller.feeds.seen))} if caller.feeds.seen else {}


def target_example(caller: Caller) -> Example:
    """Return the table that a feed fills."""
    feed = next(iter(caller.feeds.seen.values()), None)
    return {"target": feed.binding.target} if feed else {}


def history_example(caller: Caller) -> Example:
    """Return the last loads of a feed, one that was loaded if any was."""
    feeds = caller.feeds.seen
    last = caller.feeds.last(list(feeds)) or {}
    first = next((key for key in feeds if key in last and last[key].success), next(iter(feeds), None))
    return {} if first is None else {"dataset_id": feeds[first].binding.target, "limit": 5}


def prompt_example(caller: Caller) -> Example:
    """Return a prompt about a metric."""
    metric = next(iter(caller.reader.metrics), None)
    return {"name": "variance_commentary", "arguments": {"metric": metric}} if metric else {}


def completion_example(caller: Caller) -> Example:
    """Return a metric that is half written."""
    metric = next(iter(caller.reader.metrics), "")
    return {"prompt": "variance_commentary", "argument": "metric", "value": metric[:3]}


def upload_example(_: Caller) -> Example:
    """Return a small file of figures."""
    return {"filename": "figures.csv", "mime_type": "text/csv", "size_bytes": 1024}


# Arguments that the example of a tool leaves out, for the refusals of wrong ones.


def argument_examples(caller: Caller) -> Example:
    """Return a value for each argument that several tools take."""
    return caller.reader.memo_as_seen("examples of arguments", lambda: make_argument_examples(caller))


def make_argument_examples(caller: Caller) -> Example:
    """Return a value for each argument that several tools take; a filter names a visible member."""
    subject = subject_of(caller.reader)
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
    named = ((key, visible_member(key, caller.reader)) for key in subject.dimensions)
    filters = next(({key: [member]} for key, member in named if member is not None), {})
    return {
        **always,
        **subject.bounds,
        "scenarios": columns_of(subject)[:1],
        "metrics": [subject.metric.key],
        "filters": filters,
    }
