"""Turns requests to explain a variance into queries: the figure, the two sides, and the lists that explain it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict

from msgspec import Struct
from msgspec.structs import replace

from engine.books.reader import Reader
from engine.model.catalogue import PERIOD, Base, FormulaLine, HeaderLine, Line, Metric, MetricLine, RollupLine
from engine.model.errors import BadArguments, Refusal, UnknownName, quoted
from engine.model.exact import Exact
from engine.model.figure_parts import FigureParts
from engine.model.formulas import Formula
from engine.model.notes import Note
from engine.model.requests import ExplainRequest, Materiality, ReportRequest
from engine.model.scenarios import Side, Variance, resolve, why_not_step
from engine.queries.filters import keys_of, usable, usable_dimension
from engine.queries.ranking import MOST_TOP
from engine.queries.references import resolve_reference, unknown_scenarios
from engine.queries.reports import refuse_twice, refuse_without_step, resolve_query
from engine.queries.rows import LineReference, resolve_figure
from engine.queries.values import Query, ScenarioColumn
from engine.queries.views import AskedColumns

LINES = "lines"  # the entry of `by` that stands for the operands of a formula
MOST_LISTS, MOST_DEPTH = 3, 5
SIDES = 2
WHOLE = 100  # percent


class Threshold(Struct, frozen=True):
    """Contributions below it are not shown: an amount, or a share of the larger total."""

    amount: Exact
    is_share: bool


class ExplainQuery(Struct, frozen=True, kw_only=True):
    """A variance to explain. Each query breaks down by one entry of `by`, that of `lines` by nothing."""

    figure: Metric | LineReference
    written: str  # the figure as it was asked for
    variance: Variance | None  # None if one of its sides is unknown: nothing is explained then
    whole: Query  # without a breakdown
    queries: Mapping[str, Query]
    depth: int
    drivers: bool
    top: int
    threshold: Threshold | None


def explain_query(asked: ExplainRequest, reader: Reader) -> ExplainQuery:
    """Return the query of a request to explain a variance."""
    figure = resolve_explained(asked.metric, reader)
    variance, unknown = resolve_sides(asked.scenarios, reader)
    top, reduced = resolve_top(asked.top)
    notes = [*unknown, *reduced]
    if not 1 <= asked.depth <= MOST_DEPTH:
        raise BadArguments(f"depth {asked.depth} is not between 1 and {MOST_DEPTH}.", field="depth", got=asked.depth)
    made_of = bases_of(figure, asked.metric, reader)
    read = frozenset(base.domain for base in made_of)
    home = [figure.domain] if isinstance(figure, Metric) else [key for key in reader.domains if key in read]
    domains = [reader.domains[key] for key in home]
    refuse_no_list(asked, figure, made_of, reader)
    compared = (ScenarioColumn(variance, variance.key),) if variance else ()
    columns = AskedColumns(compared, (), notes)
    steps = [side.step for column in compared for side in column.reference.sides]
    has_all = all(why_not_step(step, base.over_members, base.over_time) is None for base in made_of for step in steps)

    def query(*dimensions: str) -> Query:
        report = ReportRequest(
            period_start=asked.period_start,
            period_end=asked.period_end,
            filters=asked.filters,
            dimensions=dimensions,
        )
        with said_of_explaining(reader):
            refuse_without_step(compared, made_of if has_all else (), reader)
            return resolve_query(report, reader, domains, read, columns)

    keys = [
        key if key == LINES else usable_dimension(key, reader, domains, field="by", breaking_down=True).key
        for key in asked.by
    ]
    whole = query()
    return ExplainQuery(
        figure=figure,
        written=asked.metric,
        variance=variance,
        whole=whole,
        queries={key: whole if key == LINES else query(key) for key in keys},
        depth=asked.depth,
        drivers=asked.drivers,
        top=top,
        threshold=resolve_threshold(asked.materiality),
    )


@contextmanager
def said_of_explaining(reader: Reader) -> Iterator[None]:
    """Say of `by` what a report refuses about its dimensions, and give the columns of its example as two sides."""
    try:
        yield
    except Refusal as refused:
        refused.field = "by" if refused.field == "dimensions" else refused.field
        if refused.field == "scenarios" and refused.example:
            refused.example = two_of([column["scenario"] for column in refused.example["scenarios"]], reader)
        raise


def resolve_explained(name: str, reader: Reader) -> Metric | LineReference:
    """Return the metric or line to explain; UnknownName if there is none."""
    try:
        return resolve_figure(name, reader)
    except UnknownName as unknown:
        hint = "It takes a metric key of list_kpis, or statement.line."
        raise UnknownName.of("metric", name, reader.metrics, field="metric", hint=hint) from unknown
    except BadArguments as several:
        several.field = "metric"
        raise


def bases_of(figure: Metric | LineReference, written: str, reader: Reader) -> frozenset[Base]:
    """Return the measured figures that a figure is made of; UnknownName if a statement has no such line."""
    if isinstance(figure, Metric):
        return FigureParts.of(reader.catalogue, figure).bases
    line = line_of(figure, written, reader)
    return FigureParts.of(reader.catalogue, line, home=figure.statement).bases


def line_of(reference: LineReference, written: str, reader: Reader) -> Line:
    """Return the line of a reference, of a node the line that it stands below; UnknownName if there is none."""
    lines = [line for line in reference.statement.lines if not isinstance(line, HeaderLine)]
    for line in lines:
        is_below = isinstance(line, RollupLine) and reference.line.startswith(f"{line.dimension}.")
        if line.key == reference.line or is_below:
            return line
    keys = [f"{reference.statement.key}.{line.key}" for line in lines]
    hint = "run_statement shows the lines of a statement."
    raise UnknownName.of("metric", written, [*reader.metrics, *keys], field="metric", hint=hint)


def resolve_sides(asked: Sequence[str], reader: Reader) -> tuple[Variance | None, list[Note]]:
    """Return the variance of two scenarios, or None and a note if one of them is unknown.

    Raises BadArguments unless there are two different ones.
    """
    if len(asked) != SIDES:
        raise BadArguments(
            f"scenarios names {len(asked)}. Name two: the first is explained against the second.",
            field="scenarios",
            got=list(asked),
            valid=reader.scenarios,
            example=two_of(asked, reader),
        )
    try:
        sides = [resolve_explained_side(name, f"scenarios.{at}", reader) for at, name in enumerate(asked)]
    except BadArguments as refused:
        if refused.field != "scenarios":
            near = [*refused.did_you_mean[:1], *refused.valid]
            meant = [str(near[0]) if name == refused.got and near else name for name in asked]
            refused.example = two_of(meant, reader)
        raise
    a, b = sides
    if a is None or b is None:
        return None, unknown_scenarios([name for name, side in zip(asked, sides, strict=True) if side is None], reader)
    if a == b:
        raise BadArguments(
            f"scenarios has {quoted([a.key])} twice, so there is no variance. Name another one, or an earlier time.",
            field="scenarios",
            got=list(asked),
            example={"scenarios": [a.key, f"{a.key}@py"]},
        )
    return Variance(a, b, relative=False), []


def resolve_explained_side(name: str, field: str, reader: Reader) -> Side | None:
    """Return one side of a variance to explain, None if it is unknown; BadArguments if it is a variance itself."""
    reference = resolve_reference(name, field, reader)
    if isinstance(reference, Variance):
        raise BadArguments(
            f"{quoted([name])} is a variance itself. Name its two scenarios.",
            field="scenarios",
            got=name,
            example={"scenarios": [reference.a.key, reference.b.key]},
        )
    return reference


def two_of(asked: Sequence[str], reader: Reader) -> dict[str, list[str]] | None:
    """Return an example of two scenarios: those of a variance, else the first that was asked for beside another."""
    known = [found for name in asked if (found := resolve(name, reader.scenarios))]
    if known and isinstance(known[0], Variance):
        return {"scenarios": [side.key for side in known[0].sides]}
    names = list(dict.fromkeys([*(found.key for found in known), *reader.scenarios]))
    return {"scenarios": [names[0], (*names[1:], f"{names[0]}@py")[0]]} if names else None


def refuse_no_list(
    asked: ExplainRequest, figure: Metric | LineReference, made_of: Collection[Base], reader: Reader
) -> None:
    """Raise BadArguments for no list, more than three, or one twice; it offers what explains the figure."""
    if not 0 < len(asked.by) <= MOST_LISTS:
        valid = [*lines_of(figure, asked.metric, reader), *dimensions_of(made_of, reader)]
        raise BadArguments(
            f"by names {len(asked.by)}. Name 1 to {MOST_LISTS}: dimensions of the metric, or {LINES} for the operands "
            "of its formula.",
            field="by",
            got=list(asked.by),
            valid=valid,
            example={"by": valid[:1]} if valid else None,
        )
    refuse_twice(asked.by, "by")


def lines_of(figure: Metric | LineReference, written: str, reader: Reader) -> list[str]:
    """Return LINES if a figure has a formula, whose operands are its lines."""
    line = figure if isinstance(figure, Metric) else line_of(figure, written, reader)
    metric = reader.catalogue.metrics[line.metric] if isinstance(line, MetricLine) else line
    has_formula = isinstance(metric, FormulaLine) or (isinstance(metric, Metric) and isinstance(metric.body, Formula))
    return [LINES] if has_formula else []


def dimensions_of(made_of: Collection[Base], reader: Reader) -> list[str]:
    """Return the dimensions that explain a figure over any range: those that all its domains have.

    Of time that is the period alone, and only of a sum over time.
    """
    domains = [domain for key, domain in reader.domains.items() if any(base.domain == key for base in made_of)]
    of_time = [PERIOD] if all(base.over_time.is_flow for base in made_of) else []
    return [
        key
        for key in keys_of(reader, domains[:1], breaking_down=True)
        if all(usable(key, reader, [domain]) for domain in domains)
        and (key in of_time or reader.dimensions[key].grain is None)
    ]


def resolve_top(asked: int) -> tuple[int, list[Note]]:
    """Return how many rows of a list are shown, with a note if these are fewer than asked for."""
    if asked < 1:
        raise BadArguments(f"top {asked} is below 1.", field="top", got=asked)
    if asked > MOST_TOP:
        return MOST_TOP, [Note.of("top_reduced", got=str(asked), maximum=str(MOST_TOP))]
    return asked, []


def resolve_threshold(asked: Materiality | None) -> Threshold | None:
    """Return the threshold of a request; BadArguments unless it is one amount or one share, 0 or more."""
    if asked is None:
        return None
    number = asked.absolute if asked.percent is None else asked.percent
    try:
        amount = None if number is None else Exact.of(repr(number))
    except ValueError:
        amount = None
    if amount is None or amount.numerator < 0 or None not in (asked.absolute, asked.percent):
        raise BadArguments(
            "materiality takes one number, 0 or more: absolute in the unit of the metric, or percent of the larger "
            "total.",
            field="materiality",
            got={key: part for key, part in asdict(asked).items() if part is not None},
            example={"materiality": {"percent": 5}},
        )
    is_share = asked.percent is not None
    return Threshold(replace(amount, denominator=amount.denominator * WHOLE) if is_share else amount, is_share)
