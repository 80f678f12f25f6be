"""Turns requests for reports into queries; every name is resolved among those visible to the reader.

An unknown dimension, metric or statement raises UnknownName with the valid names. An unknown scenario or member is left
out with a note, because the answer about the others still stands.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict

from msgspec.structs import replace

from engine.books.reader import Reader
from engine.books.terms import meant
from engine.model.calendar.steps import Shift
from engine.model.catalogue import PERIOD, Base, Dimension, Domain, Metric, Statement
from engine.model.errors import BadArguments, MixedDomains, UnknownName, quoted
from engine.model.figure_parts import FigureParts, PartsFinder
from engine.model.functions import metrics_of, own_operands_in, own_sides
from engine.model.notes import Note
from engine.model.requests import MetricRequest, ReportRequest, StatementRequest
from engine.model.scenarios import Reference, Side, live, resolve, why_not_step
from engine.model.views import View
from engine.queries.filters import (
    refuse_long,
    refuse_long_members,
    resolve_filters,
    select_periods,
    usable_dimension,
    with_lists,
)
from engine.queries.formulas import (
    figure_of,
    operand_columns,
    refuse_lacking,
    refuse_operands_without_step,
    resolve_formulas,
    resolve_metric,
)
from engine.queries.materiality import resolve_materiality
from engine.queries.ranges import LastClosed, resolve_range
from engine.queries.ranking import resolve_ranking
from engine.queries.references import unknown_scenarios
from engine.queries.times import refuse_uneven, resolve_time_axes
from engine.queries.values import LONGEST_ALIAS, AdHocFormula, MetricQuery, Query, ScenarioColumn, StatementQuery
from engine.queries.views import AskedColumns, resolve_column

SCALES = (0, 3, 6, 9)
MOST_DECIMALS = 12
MOST_COLUMNS = 100
FALLBACK = "pnl"


def statement_query(asked: StatementRequest, reader: Reader) -> StatementQuery:
    """Return the query of a statement request."""
    statement = resolve_statement(asked.statement, reader)
    catalogue = reader.catalogue

    def find_needed() -> frozenset[str]:
        return FigureParts.of(catalogue, *statement.lines, home=statement).domains

    needed = reader.memo_as_seen(("domains of", statement.key), find_needed, len)
    domains = [domain for key, domain in reader.domains.items() if key in needed]
    columns = resolve_columns(asked, reader)
    if any(side.step for column in columns.read for side in column.reference.sides):
        refuse_without_step(columns.read, FigureParts.of(catalogue, *statement.lines, home=statement).bases, reader)

    def find_own_sides() -> frozenset[str]:
        return own_sides(FigureParts.of(catalogue, *statement.lines, home=statement).own_operands)

    own = reader.memo_as_seen(("own sides of", statement.key), find_own_sides, len)
    query = resolve_query(asked, reader, domains, needed, columns, operand_columns(own, sides_of(columns), reader))
    test, notes = resolve_materiality(asked, query, reader)
    query = replace(query, notes=(*query.notes, *notes))
    return StatementQuery(statement, query, asked.lines, asked.depth, test)


def metric_query(asked: MetricRequest, reader: Reader) -> MetricQuery:
    """Return the query of a metric request."""
    metrics = resolve_metrics(asked.metrics, reader) if asked.metrics or not asked.formulas else ()
    columns = resolve_columns(asked, reader)
    headings = {column.alias or column.scenario for column in asked.scenarios or ()}
    headings |= {column.heading for column in columns.read}
    formulas = resolve_formulas(asked.formulas, metrics[0].domain if metrics else "", headings, reader)
    domain = reader.domains[metrics[0].domain if metrics else home_of(formulas[0], reader)]
    figures = [figure_of(name, reader).bases for formula in formulas for name in metrics_of(formula.formula)]
    bases = FigureParts.of(reader.catalogue, *metrics).bases.union(*figures)
    refuse_without_step(columns.read, bases, reader)
    refuse_operands_without_step(formulas, sides_of(columns), reader)
    read = frozenset(base.domain for base in bases)
    of_metrics = (own_sides_of_metric(metric, reader) for metric in metrics)
    of_formulas = FigureParts.of(reader.catalogue, *(formula.formula for formula in formulas))
    own = own_sides(of_formulas.own_operands).union(*of_metrics)
    query = resolve_query(asked, reader, [domain], read, columns, operand_columns(own, sides_of(columns), reader))
    refuse_uneven_operands(formulas, query, reader)
    by_member = (*(known.dimension for known in query.filters), *query.breakdown)
    refuse_lacking(formulas, domain.key, [each for each in by_member if not each.grain], reader)
    query, ranking = resolve_ranking(asked, metrics, [formula.alias for formula in formulas], query, reader)
    return MetricQuery(metrics, query, formulas, ranking)


def own_sides_of_metric(metric: Metric, reader: Reader) -> frozenset[str]:
    """Return what operands of a metric read in place of the scenario of a column, memoised by the books."""
    if isinstance(metric.body, Base):
        return frozenset()
    key = ("own sides of metric", metric.key)
    return reader.memo_as_seen(key, lambda: own_sides(FigureParts.of(reader.catalogue, metric).own_operands), len)


def home_of(formula: AdHocFormula, reader: Reader) -> str:
    """Return the domain of a formula: that of the metric or line that it names first."""
    name = metrics_of(formula.formula)[0]
    metric = reader.metrics.get(name)
    return metric.domain if metric else min(base.domain for base in figure_of(name, reader).bases)


def sides_of(columns: AskedColumns) -> Sequence[Side]:
    """Return the sides that the columns of a request read, each once."""
    return list(dict.fromkeys(side for column in columns.read for side in column.reference.sides))


def refuse_uneven_operands(formulas: Sequence[AdHocFormula], query: Query, reader: Reader) -> None:
    """Raise BadArguments for steps of an operand that take no periods of the grains of a query."""
    grains, calendar = (query.asked.grain, *(axis.grain for axis in query.time)), reader.catalogue.calendar
    sides = list(dict.fromkeys(side for column in query.columns for side in column.reference.sides))
    for formula in formulas:
        own = own_sides(own_operands_in(formula.formula))
        try:
            refuse_uneven(operand_columns(own, sides, reader), grains, calendar)
        except BadArguments as refused:
            refused.field, refused.example = f"formulas.{formula.alias}", None
            raise


def refuse_without_step(columns: Sequence[ScenarioColumn], bases: Collection[Base], reader: Reader) -> None:
    """Raise BadArguments for an opening or a mean of periods where none of some bases has one."""

    def has(base: Base, step: Shift) -> bool:
        return why_not_step(step, base.over_members, base.over_time) is None

    steps = {side: side.step for column in columns for side in column.reference.sides if side.step}
    side = next((side for side, step in steps.items() if not any(has(base, step) for base in bases)), None)
    if side is None:
        return
    step, parts_of = steps[side], PartsFinder(reader.catalogue).parts_of
    made_of = {key: parts_of(metric).bases for key, metric in reader.metrics.items()}
    others = [key for key, own in made_of.items() if all(has(base, step) for base in own)]
    keys = [column.reference.key.replace(f"@{step.key}", step.instead) for column in columns]
    what = "a balance before the range, and no balance" if step.opens else "means of sums and closings, and none"
    works = f"{quoted(others)}, or for {step.instead}" if others else step.instead
    raise BadArguments(
        f"{side.key} reads {what} is asked for. Ask for {works}.",
        field="scenarios",
        got=side.key,
        example={"scenarios": [{"scenario": key} for key in dict.fromkeys(keys)]},
    )


def resolve_query(
    asked: ReportRequest,
    reader: Reader,
    domains: Sequence[Domain],
    read: Collection[str],
    asked_columns: AskedColumns,
    of_operands: tuple[ScenarioColumn, ...] = (),
) -> Query:
    """Return the query that statements and metrics share; BadArguments for a wrong scale or number of decimals.

    `domains` give the dimensions and grains; `read` are the keys of all domains whose facts the figures use.
    `of_operands` are what operands with sides of their own read. The query holds the notes of the columns and its own.
    """
    columns, notes = asked_columns.read, asked_columns.notes
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
    refuse_endless_blends((*columns, *of_operands), domains)
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
    calendar = reader.catalogue.calendar
    selected = select_periods(period, filters.by_time, calendar)
    time = resolve_time_axes(breakdown, (*columns, *of_operands), calendar, period, selected, domains)
    refuse_uneven(columns, (period.grain, *(axis.grain for axis in time)), calendar)
    return Query(
        domains=tuple(domains),
        columns=columns,
        asked=period,
        selected=selected,
        filters=filters.by_member,
        by_time=filters.by_time,
        breakdown=breakdown,
        time=time,
        scale=asked.scale,
        decimals=asked.decimals,
        notes=(*notes, *filters.notes),
        subtotals=asked.subtotals,
        views=asked_columns.views,
    )


def resolve_statement(key: str | None, reader: Reader) -> Statement:
    """Return the requested statement, else the default of the instance, else pnl."""
    visible = reader.statements
    usual = next((name for name in (reader.catalogue.default.statement, FALLBACK) if name in visible), None)
    wanted = usual if key is None else key
    if wanted is None:
        raise BadArguments("Name a statement.", field="statement", valid=visible)
    if wanted not in visible:
        wanted = meant(wanted, "statement", "statement", reader) or wanted
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
        raise BadArguments(
            "Name at least one metric; list_kpis lists them.",
            field="metrics",
            got=[],
            valid=visible,
            example={"metrics": list(visible)[:1]} if visible else None,
        )
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


def resolve_columns(request: ReportRequest, reader: Reader) -> AskedColumns:
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
        note = Note.of("default_scenarios", scenarios=", ".join(column.reference.key for column in columns))
        return AskedColumns(columns, (), [note])
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
    found: list[tuple[Reference | View, str]] = []
    unknown = []
    for at, column in enumerate(asked):
        meaning = resolve_column(column.scenario, f"scenarios.{at}.scenario", reader)
        if meaning is None:
            unknown.append(column.scenario)
        else:
            found.append((meaning, column.alias or column.scenario))
    return AskedColumns.of(found, unknown_scenarios(unknown, reader))


def columns_of(reader: Reader) -> list[dict[str, str]]:
    """Return a column of each visible scenario, as `scenarios` takes it."""
    return [{"scenario": scenario.id, "alias": scenario.alias} for scenario in live(reader.scenarios).values()]


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
