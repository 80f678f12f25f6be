"""Turns requests for rows into row queries: the filters, the scenario and the figure to inspect."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from engine.books.reader import Reader
from engine.model.calendar.periods import UNDATED_CODE, UNDATED_RANGE, PeriodRange
from engine.model.catalogue import INSPECTION_KEYS, Domain, Metric, Statement
from engine.model.errors import BadArguments, ColumnUnavailable, UnknownName, echo, quoted
from engine.model.metric_names import metrics_named
from engine.model.notes import Note
from engine.model.requests import Exclusion, RowsRequest, Selection
from engine.model.scenarios import Side, Variance, resolve
from engine.model.scope import UNASSIGNED
from engine.queries.filters import as_sent, refuse_long_members, resolve_filters, select_periods, with_lists
from engine.queries.formulas import resolve_metric
from engine.queries.ranges import LastClosed, resolve_range
from engine.queries.references import resolve_reference, unknown_scenarios
from engine.queries.reports import refuse_endless_blends
from engine.queries.row_choices import RowChoices, resolve_choices
from engine.queries.times import refuse_uneven
from engine.queries.values import Filter, ScenarioColumn

WITHOUT_PERIOD = (UNDATED_CODE, (UNDATED_CODE,), UNASSIGNED, (UNASSIGNED,))  # filters of time that keep undated rows


class LineReference(Struct, frozen=True):
    """A line of a statement."""

    statement: Statement
    line: str


class RowQuery(Struct, frozen=True, kw_only=True):
    """A query for rows of one scenario of one domain.

    `side` is the side whose figure the rows make; None means an unknown scenario. `term_index` is the position of the
    scenario in the side, `compared` holds the scenarios that it is compared with. `period` None reads all days and
    undated rows.
    """

    domain: Domain
    scenario: str  # as it was asked for
    side: Side | None
    term_index: int
    compared: frozenset[str]
    figure: Metric | LineReference | None
    written: str | None  # the figure as it was asked for
    period: PeriodRange | None
    selected: tuple[PeriodRange, ...]
    asked: Mapping[str, Selection]  # the filters as they were asked
    filters: tuple[Filter, ...]
    columns: tuple[str, ...]
    choices: RowChoices
    limit: int
    notes: tuple[Note, ...]


def row_query(asked: RowsRequest, reader: Reader, cap: int) -> RowQuery:
    """Return the query of a request for rows; it shows at most `cap` rows."""
    domain = resolve_source(asked.source_key, reader)
    limit, notes = resolve_limit(asked.limit, cap)
    asked = with_lists(asked, reader)
    refuse_long_members(asked.filters)
    special = {key: one(key, asked.filters[key]) for key in INSPECTION_KEYS[:2] if key in asked.filters}
    plain = {key: ids for key, ids in asked.filters.items() if key not in INSPECTION_KEYS}
    undated = take_undated(plain, reader)
    side, term_index = resolve_view(asked, special.get("scenario"), reader)
    if side is None:
        notes += unknown_scenarios([asked.scenario_id], reader)
    elif len(side.terms) > 1:
        refuse_endless_blends([ScenarioColumn(side, side.key)], [domain])
    named = kept_values("compared_with", asked.filters.get("compared_with", ()))
    notes += unknown_scenarios([key for key in named if key not in reader.scenarios], reader)
    terms = side.terms[term_index : term_index + 1] if side else ()
    choices = resolve_choices(asked, domain, shown_columns(domain), has_figure="metric" in special)
    calendar = reader.catalogue.calendar
    last_closed = LastClosed(reader, [domain], {domain.key}, [term.scenario for term in terms])
    period = UNDATED_RANGE if undated else resolve_period(asked, reader, last_closed)
    if not undated and asked.period_start is asked.period_end is None:
        notes.append(Note.of("default_period", period=period.label if period else "all periods"))
    if period and period.is_undated:
        notes.append(Note.of("undated"))
    if side and period:
        refuse_uneven_view(side, period, asked, reader)
    filters = resolve_filters(plain, reader, last_closed, period, inspecting=True)
    return RowQuery(
        domain=domain,
        scenario=asked.scenario_id[:100],
        side=side,
        term_index=term_index,
        compared=frozenset(named).intersection(reader.scenarios),
        figure=resolve_figure(special["metric"], reader) if "metric" in special else None,
        written=special.get("metric"),
        period=period,
        selected=select_periods(period, filters.by_time, calendar) if period else (),
        asked={key: (ids,) if isinstance(ids, str) else ids for key, ids in asked.filters.items()}
        | ({"scenario": (side.key,)} if side and side.shifts else {})
        | {known.dimension.key: known.asked for known in filters.by_member}
        | dict(filters.by_time),
        filters=filters.by_member,
        columns=choices.count_by or resolve_shown(asked.columns, domain),
        choices=choices,
        limit=limit,
        notes=(*notes, *filters.notes),
    )


def take_undated(filters: dict[str, str | Selection], reader: Reader) -> bool:
    """Remove the filter for undated rows from `filters`; tell whether it was there."""
    of_time = [key for key, dimension in reader.dimensions.items() if dimension.grain]
    undated = [key for key in of_time if filters.get(key) in WITHOUT_PERIOD]
    for key in undated:
        del filters[key]
    return bool(undated)


def resolve_source(key: str, reader: Reader) -> Domain:
    """Return the domain of an inspection source; UnknownName if it is unknown or not enabled."""
    sources = inspection_sources(reader)
    if key not in sources:
        hint = "list_inspection_sources lists them."
        raise UnknownName.of("inspection source", key, sources, field="source_key", hint=hint)
    return sources[key]


def inspection_sources(reader: Reader) -> Mapping[str, Domain]:
    """Return the domains that a reader can inspect."""
    return {key: domain for key, domain in reader.domains.items() if domain.inspect_enabled}


def resolve_limit(asked: int | None, cap: int) -> tuple[int, list[Note]]:
    """Return the most rows to show, and a note if the request asked for more; BadArguments below 1."""
    if asked is not None and asked < 1:
        raise BadArguments(f"limit {asked} is below 1.", field="limit", got=asked)
    if asked is not None and asked > cap:
        return cap, [Note.of("limit_reduced", got=str(asked), maximum=str(cap))]
    return asked or cap, []


def kept_values(key: str, ids: str | Selection) -> list[str]:
    """Return the values of a filter that is no dimension; BadArguments for an exclusion."""
    if isinstance(ids, Exclusion):
        raise BadArguments(
            f"filters.{key} takes values to keep, none to exclude.", field=f"filters.{key}", got=list(ids.exclude)
        )
    return [ids] if isinstance(ids, str) else list(ids)


def one(key: str, ids: str | Selection) -> str:
    """Return the value of a filter that takes exactly one; BadArguments otherwise."""
    values = kept_values(key, ids)
    if len(values) != 1:
        raise BadArguments(
            f"filters.{key} takes one value; ask for each in a call of its own.", field=f"filters.{key}", got=values
        )
    return values[0]


def resolve_view(request: RowsRequest, view: str | None, reader: Reader) -> tuple[Side | None, int]:
    """Return the side to inspect and the position of the scenario in it; None for an unknown scenario.

    Raises BadArguments for what is no reference, and if the scenario is a blend or variance, or is not part of `view`.
    """
    scenario = request.scenario_id
    try:
        asked = resolve_reference(scenario, "scenario_id", reader)
    except BadArguments as refused:
        refused.example = view_example((*refused.did_you_mean, *refused.valid), request, reader)
        raise
    if isinstance(asked, Variance):
        raise BadArguments(
            f"{quoted([scenario])} is a variance: inspect {asked.a.key}, then {asked.b.key}, in a call each, and "
            "subtract the second.",
            field="scenario_id",
            got=scenario,
            valid=reader.scenarios,
            example=view_example([asked.a.key], request, reader),
        )
    if asked is not None and len(asked.terms) > 1:
        raise BadArguments(
            f"scenario_id takes one scenario, and {quoted([scenario])} is a blend: inspect each of its scenarios in a "
            "call of its own, with the blend in filters.scenario.",
            field="scenario_id",
            got=scenario,
            valid=reader.scenarios,
            example=view_example([scenario], request, reader),
        )
    if asked is None or view is None:
        return asked, 0
    side = resolve_reference(view, "filters.scenario", reader)
    if not isinstance(side, Side) or asked.terms[0] not in side.terms or (asked.shifts and asked != side):
        raise BadArguments(
            f"filters.scenario {quoted([view])} is no view of {echo(scenario)}: a shifted view or a blend of which it "
            "is a part.",
            field="filters.scenario",
            got=view,
            example=view_example([scenario if asked.shifts else f"{scenario}@ytd"], request, reader),
        )
    return side, side.terms.index(asked.terms[0])


def refuse_uneven_view(side: Side, period: PeriodRange, request: RowsRequest, reader: Reader) -> None:
    """Raise BadArguments for a view that takes no periods of the grain of a range."""
    try:
        refuse_uneven([ScenarioColumn(side, side.key)], (period.grain,), reader.catalogue.calendar)
    except BadArguments as refused:
        refused.field = "filters.scenario" if "scenario" in request.filters else "scenario_id"
        refused.example = view_example(refused.did_you_mean, request, reader)
        raise


def view_example(references: Iterable[object], request: RowsRequest, reader: Reader) -> dict[str, object] | None:
    """Return the arguments that inspect the first reference that is a scenario or a view of one, with its filters."""
    for reference in references:
        side = resolve(str(reference), reader.scenarios)
        if isinstance(side, Side):
            filters = {key: ids for key, ids in as_sent(request.filters).items() if key != "scenario"}
            is_blend = len(side.terms) > 1
            view = {"scenario": side.key} if is_blend else {}
            return {
                "scenario_id": side.terms[0].key if is_blend else side.key,
                **({"filters": {**filters, **view}} if request.filters or view else {}),
            }
    return None


def resolve_period(asked: RowsRequest, reader: Reader, last_closed: LastClosed) -> PeriodRange | None:
    """Return the requested or default range, or None if there is neither."""
    default = reader.catalogue.default
    if asked.period_start is asked.period_end is default.period_start is None:
        return None
    return resolve_range(asked, default, last_closed)


def resolve_figure(name: str, reader: Reader) -> Metric | LineReference:
    """Return the metric or statement line of a name; UnknownName if there is none."""
    first, dot, rest = name.partition(".")
    if dot and first in reader.statements and not metrics_named(name, reader.metrics):
        return LineReference(reader.statements[first], rest)
    hint = "It takes a metric key of list_kpis, or statement.line."
    return resolve_metric(name, reader, "filters.metric", hint)


def shown_columns(domain: Domain) -> tuple[str, ...]:
    """Return the columns of a domain that inspection may show."""
    if domain.inspect_columns:
        return domain.inspect_columns
    return (domain.time_column, *domain.dimensions, *domain.measures)


def resolve_shown(asked: Sequence[str] | None, domain: Domain) -> tuple[str, ...]:
    """Return the columns to show; ColumnUnavailable for an empty list or a column that the source does not show."""
    valid = shown_columns(domain)
    if asked is None:
        return valid
    lost = [column for column in asked if column not in valid]
    if lost or not asked:
        raise ColumnUnavailable(
            f"{domain.key} shows no {quoted(lost)}." if lost else "columns is empty; leave it out, or name some.",
            field="columns",
            got=list(asked),
            valid=valid,
        )
    return tuple(dict.fromkeys(asked))
