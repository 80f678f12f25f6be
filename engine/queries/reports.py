"""Turns requests for reports into queries; every name is resolved among those visible to the reader.

An unknown dimension, metric or statement raises UnknownName with the valid names. An unknown scenario or member is left
out with a note, because the answer about the others still stands.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict

from engine.books.reader import Reader
from engine.model.catalogue import PERIOD, Dimension, Domain, Metric, Statement
from engine.model.errors import BadArguments, MixedDomains, UnknownName, quoted
from engine.model.notes import Note
from engine.model.requests import MetricRequest, ReportRequest, StatementRequest
from engine.model.scenarios import resolve
from engine.queries.filters import (
    refuse_long,
    refuse_long_members,
    resolve_filters,
    select_periods,
    usable_dimension,
    with_lists,
)
from engine.queries.formulas import resolve_formulas, resolve_metric
from engine.queries.ranking import resolve_ranking
from engine.queries.references import resolve_reference, unknown_scenarios
from engine.queries.times import resolve_time_axes
from engine.queries.values import (
    LONGEST_ALIAS,
    LastClosed,
    MetricQuery,
    Query,
    ScenarioColumn,
    StatementQuery,
    resolve_range,
)

SCALES = (0, 3, 6, 9)
MOST_DECIMALS = 12
MOST_COLUMNS = 100
FALLBACK = "pnl"


def statement_query(asked: StatementRequest, reader: Reader) -> StatementQuery:
    """Return the query of a statement request."""
    statement = resolve_statement(asked.statement, reader)
    catalogue = reader.catalogue

    def find_needed() -> frozenset[str]:
        return frozenset().union(*(catalogue.domains_of_line(line, statement) for line in statement.lines))

    needed = reader.memo_as_seen(("domains of", statement.key), find_needed, len)
    domains = [domain for key, domain in reader.domains.items() if key in needed]
    return StatementQuery(statement, resolve_query(asked, reader, domains, needed, *resolve_columns(asked, reader)))


def metric_query(asked: MetricRequest, reader: Reader) -> MetricQuery:
    """Return the query of a metric request."""
    metrics = resolve_metrics(asked.metrics, reader)
    domain = reader.domains[metrics[0].domain]
    columns, notes = resolve_columns(asked, reader)
    headings = {column.heading for column in columns}
    headings |= {column.alias or column.scenario for column in asked.scenarios or ()}
    formulas = resolve_formulas(asked.formulas, domain.key, headings, reader)
    operands = [reader.metrics[name] for formula in formulas for name in formula.formula.names]
    read = frozenset().union(*(reader.catalogue.domains_of(metric) for metric in (*metrics, *operands)))
    query = resolve_query(asked, reader, [domain], read, columns, notes)
    lines = [*(metric.key for metric in metrics), *(formula.alias for formula in formulas)]
    query, ranking = resolve_ranking(asked, lines, query)
    return MetricQuery(metrics, query, formulas, ranking)


def resolve_query(
    asked: ReportRequest,
    reader: Reader,
    domains: Sequence[Domain],
    read: Collection[str],
    columns: tuple[ScenarioColumn, ...],
    notes: Sequence[Note],
) -> Query:
    """Return the query that statements and metrics share; BadArguments for a wrong scale or number of decimals.

    `domains` give the dimensions and grains; `read` are the keys of all domains whose facts the figures use. The query
    holds the notes given and its own.
    """
    if asked.scale not in SCALES:
        raise BadArguments(
            f"scale {asked.scale} is none of 0 (units), 3 (thousands), 6 (millions), 9 (billions).",
            field="scale",
            got=asked.scale,
            valid=SCALES,
        )
    if asked.decimals is not None and not 0 <= asked.decimals <= MOST_DECIMALS:
        raise BadArguments(
            f"decimals {asked.decimals} is not between 0 and {MOST_DECIMALS}.", field="decimals", got=asked.decimals
        )
    asked = with_lists(asked, reader)
    refuse_long_members(asked.filters)
    refuse_endless_blends(columns, domains)
    terms = [term for column in columns for side in column.reference.sides for term in side.terms]
    scenarios = [term.scenario for term in terms]
    last_closed = LastClosed(reader, domains, read, scenarios)
    period = resolve_range(asked, reader.catalogue.default, last_closed)
    if asked.period_start is asked.period_end is None:
        notes = [*notes, Note.of("default_period", period=period.label)]
    if period.is_undated:
        notes = [*notes, Note.of("undated")]
    filters = resolve_filters(asked.filters, reader, last_closed, period)
    breakdown = resolve_breakdown(asked.dimensions, reader, domains)
    if asked.subtotals:
        refuse_nothing_to_nest(breakdown, reader, domains)
    selected = select_periods(period, filters.by_time, reader.catalogue.calendar)
    return Query(
        domains=tuple(domains),
        columns=columns,
        asked=period,
        selected=selected,
        filters=filters.by_member,
        by_time=filters.by_time,
        breakdown=breakdown,
        time=resolve_time_axes(breakdown, columns, reader.catalogue.calendar, period, selected, domains),
        scale=asked.scale,
        decimals=asked.decimals,
        notes=(*notes, *filters.notes),
        subtotals=asked.subtotals,
    )


def resolve_statement(key: str | None, reader: Reader) -> Statement:
    """Return the requested statement, else the default of the instance, else pnl."""
    visible = reader.statements
    usual = next((name for name in (reader.catalogue.default.statement, FALLBACK) if name in visible), None)
    wanted = usual if key is None else key
    if wanted is None:
        raise BadArguments("Name a statement.", field="statement", valid=visible)
    if wanted not in visible:
        raise UnknownName.of(
            "statement", wanted, visible, field="statement", hint="svc_orientation lists the statements."
        )
    return visible[wanted]


def resolve_metrics(keys: Sequence[str], reader: Reader) -> tuple[Metric, ...]:
    """Return the requested metrics.

    Raises BadArguments for none or a duplicate, UnknownName for an unknown one, MixedDomains for several domains.
    """
    visible = reader.metrics
    if not keys:
        raise BadArguments("Name at least one metric; list_kpis lists them.", field="metrics", got=[], valid=visible)
    metrics = [resolve_metric(key, reader, "metrics") for key in keys]
    refuse_twice([metric.key for metric in metrics], "metrics")
    if len({metric.domain for metric in metrics}) > 1:
        homes = ", ".join(f"{metric.key} of {metric.domain}" for metric in metrics)
        raise MixedDomains(
            f"One call shows metrics of one domain: {homes}. Ask for each domain in a call of its own, or for a "
            "statement.",
            field="metrics",
            got=list(keys),
            example={"metrics": [metric.key for metric in metrics if metric.domain == metrics[0].domain]},
        )
    return tuple(metrics)


def resolve_columns(request: ReportRequest, reader: Reader) -> tuple[tuple[ScenarioColumn, ...], list[Note]]:
    """Return the requested or default columns, and a note for each unknown scenario."""
    asked = request.scenarios
    if asked is None:
        defaults = reader.catalogue.default.scenarios
        meant = [(resolve(key, reader.scenarios), alias or key) for key, alias in defaults]
        columns = tuple(ScenarioColumn(reference, heading) for reference, heading in meant if reference)
        if not columns:
            raise BadArguments(
                "Name the scenarios to show; these books have no default. list_scenarios lists them.",
                field="scenarios",
                valid=columns_of(reader),
            )
        return columns, [Note.of("default_scenarios", scenarios=", ".join(column.reference.key for column in columns))]
    if not asked or len(asked) > MOST_COLUMNS:
        raise BadArguments(
            f"scenarios names {len(asked)}; name between 1 and {MOST_COLUMNS}.",
            field="scenarios",
            got=[{key: text for key, text in asdict(column).items() if text} for column in asked],
            valid=columns_of(reader),
            example={"scenarios": columns_of(reader)[:1]},
        )
    for at, column in enumerate(asked):
        refuse_long(column.alias or "", f"scenarios.{at}.alias", LONGEST_ALIAS)
    refuse_twice([column.alias or column.scenario for column in asked], "scenarios")
    found, unknown = [], []
    for at, column in enumerate(asked):
        reference = resolve_reference(column.scenario, f"scenarios.{at}.scenario", reader)
        if reference is None:
            unknown.append(column.scenario)
        else:
            found.append(ScenarioColumn(reference, column.alias or column.scenario))
    return tuple(found), unknown_scenarios(unknown, reader)


def columns_of(reader: Reader) -> list[dict[str, str]]:
    """Return a column of each visible scenario, as `scenarios` takes it."""
    return [{"scenario": scenario.id, "alias": scenario.alias} for scenario in reader.scenarios.values()]


def refuse_endless_blends(columns: Sequence[ScenarioColumn], domains: Sequence[Domain]) -> None:
    """Raise BadArguments for a blend whose first scenario has no last closed day."""
    for side in (side for column in columns for side in column.reference.sides if len(side.terms) > 1):
        for domain in domains:
            if side.boundary(domain.key) is None:
                first, second = (term.key for term in side.terms)
                raise BadArguments(
                    f"{first}+{second} shows {first} through its last closed period, and {first} has no "
                    f"closed_through for {domain.key}. Ask for {first} and {second} in two columns.",
                    field="scenarios",
                    got=side.key,
                    example={"scenarios": [{"scenario": first}, {"scenario": second}]},
                )


def resolve_breakdown(keys: Sequence[str], reader: Reader, domains: Sequence[Domain]) -> tuple[Dimension, ...]:
    """Return the dimensions of the breakdown.

    Raises BadArguments for a duplicate, UnknownName for an unknown one, DimensionUnavailable if no domain has it.
    """
    refuse_twice(keys, "dimensions")
    return tuple(usable_dimension(key, reader, domains, field="dimensions", breaking_down=True) for key in keys)


def refuse_nothing_to_nest(breakdown: Sequence[Dimension], reader: Reader, domains: Sequence[Domain]) -> None:
    """Raise BadArguments for sub-totals of fewer than two dimensions; the example names others."""
    named = [dimension.key for dimension in breakdown]
    if len(named) > 1:
        return
    held = frozenset().union(*(domain.dimensions for domain in domains))
    usable = [key for key, known in reader.dimensions.items() if known.leaf in held and not known.axis_only]
    others = [key for key in (*usable, PERIOD) if key not in named]
    raise BadArguments(
        f"subtotals adds a row above each group of a breakdown by two or more dimensions, and dimensions names "
        f"{quoted(named) if named else 'none'}. Name the outer one first, then the inner one, or leave subtotals out.",
        field="dimensions",
        got=named,
        example={"dimensions": [*named, *others][:2], "subtotals": True},
    )


def refuse_twice(names: Sequence[str], field: str) -> None:
    """Raise BadArguments if a list names something twice."""
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        rest = "; two columns need two aliases" if field == "scenarios" else ""
        raise BadArguments(
            f"{field} has {quoted(twice)} twice. Give each once{rest}.",
            field=field,
            got=twice,
        )
