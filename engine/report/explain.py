"""Explains a variance: reads the figures of its lists together and makes the contributions of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise

from msgspec.structs import replace

from engine.books.reader import Reader
from engine.model.catalogue import DimensionKind, Metric
from engine.model.errors import BadArguments, DimensionUnavailable, UnknownName, quoted
from engine.model.evaluation import FigureCube
from engine.model.exact import Exact
from engine.model.notes import Note
from engine.model.scenarios import Variance
from engine.model.stopping import Stop, never, watched
from engine.notes.blank_causes import BlankCauses
from engine.notes.currency_notes import MIXED, currency_reads
from engine.notes.report_reads import ReportFigures, ReportReads, collected
from engine.notes.shared_rows import members_sharing
from engine.notes.table import report_notes
from engine.notes.unassigned_notes import unassigned_plans
from engine.notes.weight_notes import differing_total, uneven_rows
from engine.plans.day_causes import NO_ROWS
from engine.plans.expressions import Expression, FormulaExpression
from engine.plans.figure_forms import FigureForm, RatioForm, SumForm, form_of
from engine.plans.figures import FigurePlan, Figures, MetricPlan
from engine.plans.freshness import Freshness, freshness
from engine.plans.report_size import MOST_GROUPS, ReportSize, report_size
from engine.plans.rows import Row, metric_expression, metric_row, statement_rows
from engine.plans.windows import ColumnRead, DateWindow, shifted_window
from engine.queries.explanations import LINES, ExplainQuery, said_of_explaining
from engine.queries.filters import filter_of
from engine.queries.times import joined
from engine.queries.values import Query, Ranking, ScenarioColumn
from engine.report.currencies import shown_currencies
from engine.report.data import Comparison
from engine.report.effects import driver_effects, hidden_mix
from engine.report.explained_lists import ExplainedFigure, SidePairs, by_lines, by_members, present
from engine.report.explanation import ExplainedList, Explanation, frame_of
from engine.report.ranking import stays_in_frames
from engine.report.run import column_of, made_of

MAX_INSIDE = 10_000  # leaves of a dimension whose mix inside the rows is told
WITHOUT = ("shared_rows", "weighted_rows")  # notes of reports: the lists tell of their rows and totals themselves


def explain(
    asked: ExplainQuery,
    reader: Reader,
    stop: Stop = never,
    most_groups: int = MOST_GROUPS,
    admit: Callable[[ReportSize], None] = lambda _: None,
) -> Explanation:
    """Return the explanation of a variance; its lists are read in one collect. One of an unknown side has none.

    Raises BadArguments for a figure that cannot be explained so, DimensionUnavailable for a dimension that an operand
    lacks, and what `admit` raises.
    """
    figure = explained_figure(asked, reader)
    if asked.variance is None:
        plan = FigurePlan((figure.row,), asked.whole, reader, stop)
        return made(figure, plan, (), (None, None), asked.whole.notes, {}, reader.catalogue.currency)
    ranking = Ranking(line=0, column=0, asc=False, top=asked.top)
    plans = {key: in_frames(plan, figure, ranking) for key, plan in plans_of(figure, reader, stop).items()}
    for plan in plans.values():
        with said_of_explaining(reader):
            admit(report_size(plan, ranking if plan.framed else None, most_groups, admit))
    inside = inside_plans(figure, plans, most_groups, admit)
    reads = [
        ReportReads(
            plan,
            unassigned=unassigned_plans(plan),
            currencies=currency_reads(plan),
            ranking=ranking if plan.framed else None,
            contributions=plan.framed,
        )
        for plan in plans.values()
    ]
    every = collected([*reads, *map(ReportReads, inside.values())])
    found, below = dict(zip(plans, every, strict=False)), dict(zip(inside, every[len(plans) :], strict=True))
    whole = next(known for known in found.values() if not known.figures.plan.reads.topped)
    lists = tuple(list_of(key, figure, found.get(key, whole)) for key in asked.queries)
    told = notes_of(figure, asked.variance, found, whole, lists)
    notes = (*asked.whole.notes, *told, *inside_notes(figure, found, below))
    a, b = (present(total) for total in SidePairs(whole.figures).totals(figure.expression))
    plan = whole.figures.plan
    currency = whole.currency if whole.currency != MIXED else shown_currencies(whole).of_row(figure.row)
    return made(figure, plan, lists, (a, b), tuple(dict.fromkeys(notes)), freshness(plan), currency)


# The figure, and what of it can be explained.


def explained_figure(asked: ExplainQuery, reader: Reader) -> ExplainedFigure:
    """Return the figure to explain with its form; BadArguments if it has none, or no list that is asked for."""
    row = row_of(asked, reader)
    expression = row.expression
    if expression is None:
        raise BadArguments(f"{asked.written} is a heading and has no figures.", field="metric", got=asked.written)
    form = form_of(expression)
    if form is None:
        raise BadArguments(
            f"{asked.written} is neither a sum over its members nor one such sum over another, so that its variance "
            "has no contributions that add up to it. Explain a metric that it is made of.",
            field="metric",
            got=asked.written,
            valid=[key for key, metric in reader.metrics.items() if form_of(metric_expression(metric, reader))],
        )
    if LINES in asked.queries:
        refuse_lines(expression, form, asked)
    return ExplainedFigure(row=row, form=form, volume=volume_of(asked, reader), asked=asked)


def row_of(asked: ExplainQuery, reader: Reader) -> Row:
    """Return the row of the figure to explain; UnknownName if the statement has no such line."""
    figure = asked.figure
    if isinstance(figure, Metric):
        return metric_row(figure, reader, key=figure.key, label=figure.label)
    rows = {row.key: row for row in statement_rows(figure.statement, reader)}
    if figure.line not in rows:
        lines = [f"{figure.statement.key}.{key}" for key, row in rows.items() if row.expression is not None]
        hint = "run_statement shows the lines of a statement."
        raise UnknownName.of("metric", asked.written, [*reader.metrics, *lines], field="metric", hint=hint)
    return rows[figure.line]


def refuse_lines(expression: Expression, form: FigureForm, asked: ExplainQuery) -> None:
    """Raise BadArguments for the lines of a figure without a formula, and for those of a ratio deeper than 1."""
    if not isinstance(expression, FormulaExpression):
        raise BadArguments(
            f"{asked.written} has no formula, so it has no {LINES}. Name dimensions in by.",
            field="by",
            got=[LINES],
        )
    if isinstance(form, RatioForm) and asked.depth > 1:
        raise BadArguments(
            f"{asked.written} is a ratio: its {LINES} are its numerator and denominator, at depth 1 alone. Explain one "
            "of them deeper.",
            field="depth",
            got=asked.depth,
            valid=[1],
        )


def volume_of(asked: ExplainQuery, reader: Reader) -> Row | None:
    """Return the row of the volume that drives a metric; BadArguments if drivers are asked for and it has none."""
    if not asked.drivers:
        return None
    metric = asked.figure if isinstance(asked.figure, Metric) else None
    if metric is None or metric.drivers is None or metric.drivers.volume not in reader.metrics:
        driven = [
            key for key, known in reader.metrics.items() if known.drivers and known.drivers.volume in reader.metrics
        ]
        others = f", or explain {quoted(driven)}, which has drivers" if driven else ""
        raise BadArguments(
            f"{asked.written} has no drivers that you may see. Leave drivers out{others}.",
            field="drivers",
            got=True,
            valid=[False],
        )
    volume = reader.metrics[metric.drivers.volume]
    return metric_row(volume, reader, key=volume.key, label=volume.label)


# The plans: one for each dimension, and one without a breakdown where no other has the total.


def plans_of(figure: ExplainedFigure, reader: Reader, stop: Stop) -> dict[str, FigurePlan]:
    """Return the plans by entry of `by`; LINES is that of the figure without a breakdown, where one is needed."""
    rows = (figure.row, *([figure.volume] if figure.volume else ()))
    asked, plans = figure.asked, {}
    for key in asked.queries:
        if key != LINES:
            query = one_level_below(asked.queries[key], key, figure.expression, reader)
            plans[key] = FigurePlan(rows, query, reader, stop)
            refuse_dimension(key, figure, plans[key])
    if not plans or all(plan.reads.topped for plan in plans.values()):
        plans[LINES] = FigurePlan(rows, asked.whole, reader, stop)
    return plans


def inside_plans(
    figure: ExplainedFigure,
    plans: Mapping[str, FigurePlan],
    most_groups: int,
    admit: Callable[[ReportSize], None],
) -> dict[str, FigurePlan]:
    """Return the plans of the members inside those of a derived dimension or a tree that drivers explain.

    A tree that weighs has none, nor has a dimension of too many leaves.
    """
    inside: dict[str, FigurePlan] = {}
    for key, plan in plans.items() if figure.volume else ():
        leaf = plan.reader.dimensions.get(plan.axes[0].leaf) if plan.axes else None
        if leaf is None or leaf.key in (key, *plans) or plan.into_total(plan.axes[0]):
            continue
        if len(plan.reader.visible(leaf.key)) > MAX_INSIDE:
            continue
        inner = replace(plan, query=replace(plan.query, breakdown=(leaf,)))
        with suppress(BadArguments):  # it is too large, and what it says is left out
            admit(report_size(inner, None, most_groups, admit))
            inside[key] = inner
    return inside


def in_frames(plan: FigurePlan, figure: ExplainedFigure, ranking: Ranking) -> FigurePlan:
    """Return a plan whose sums stay in frames, where its members are many and those of a sum; else the plan."""
    is_sum = isinstance(figure.form, SumForm) and figure.volume is None and not plan.query.time
    stays = is_sum and stays_in_frames(plan, ranking) and not plan.into_total(plan.axes[0])
    return replace(plan, framed=True) if stays else plan


def one_level_below(query: Query, key: str, expression: Expression, reader: Reader) -> Query:
    """Return a breakdown of what lies below the nodes of its tree that a figure's own restriction names."""
    named = {tuple(cut for cut in base.where if cut.dimension == key)[-1:] for base in expression.bases}
    is_filtered = any(known.dimension.key == key for known in query.filters)
    if len(named) != 1 or is_filtered or reader.dimensions[key].kind is not DimensionKind.RAGGED:
        return query
    for cut in named.pop():
        if not cut.deny and all(reader.sees(key, node) for node in watched(cut.ids)):
            return replace(query, filters=(*query.filters, filter_of(reader.dimensions[key], cut.ids, reader)))
    return query


def refuse_dimension(key: str, figure: ExplainedFigure, plan: FigurePlan) -> None:
    """Raise an error for a dimension that cannot explain a figure.

    DimensionUnavailable if an operand lacks it, BadArguments for time where the figure is no sum over time, and where
    the figure is no sum for members that share leaves and for periods that are not those of the total.
    """
    for expression in (row.expression for row in plan.rows if row.expression is not None):
        if plan.availability.missing_dimensions(expression):
            short = dict.fromkeys(
                base.domain for base in expression.bases if not all(plan.availability.across_of(base))
            )
            raise DimensionUnavailable(
                f"{expression.name} uses {' and '.join(short)}, which has no {key}.",
                field="by",
                got=key,
                valid=[known for known in figure.asked.queries if known != key],
            )
    if plan.query.time and not all(base.over_time.is_flow for base in figure.expression.bases):
        raise BadArguments(
            f"{figure.asked.written} is no sum over time, so that its periods do not add up to it. Explain it by "
            "another dimension.",
            field="by",
            got=key,
        )
    reads = plan.distinct_reads if plan.query.time else ()
    if other := next((read.side.key for read in reads if not is_of_range(read, plan)), None):
        raise BadArguments(
            f"The window of {other} beside the last {key} is not that of the range, so that its periods explain "
            f"another variance. Ask for a range of whole {key} periods, or explain it by another dimension.",
            field="by",
            got=key,
        )
    if not isinstance(figure.form, RatioForm) and not figure.volume:
        return
    if overlapping := next((read.side.key for read in reads if not make_up_total(read.windows)), None):
        raise BadArguments(
            f"The periods of {overlapping} are not the days of its total, so that no ratio or price adds up. Explain "
            "it by another dimension, or name a side without a window such as @ytd.",
            field="by",
            got=key,
        )
    if sharing := members_sharing(plan.axes[0], plan.reader) if plan.axes else None:
        raise BadArguments(
            f"{quoted(sharing)} of {key} share members below them, so that no ratio of theirs adds up. Filter {key} by "
            "nodes that share none.",
            field="by",
            got=key,
        )


def is_of_range(read: ColumnRead, plan: FigurePlan) -> bool:
    """Tell whether the total of a breakdown by time reads the days of the figure without the breakdown."""
    whole = shifted_window(read.side, plan.query.selected, plan.reader.catalogue.calendar)
    return read.windows[-1].spans == whole.spans


def make_up_total(windows: Sequence[DateWindow]) -> bool:
    """Tell whether the days of all windows but the last are those of the last, the total, each once; or it has none."""
    *periods, total = windows
    spans = sorted((span for window in watched(periods) for span in window.spans), key=lambda span: span.first)
    apart = all(one.last < other.first for one, other in pairwise(watched(spans)))
    return not total.spans or (apart and joined(watched(spans)) == joined(total.spans))


# The lists, and what is said beside them.


def list_of(key: str, figure: ExplainedFigure, found: ReportFigures) -> ExplainedList:
    """Return one list of an explanation."""
    currencies = shown_currencies(found)
    return by_lines(key, figure, currencies) if key == LINES else by_members(key, figure, currencies, found.rank)


def notes_of(
    figure: ExplainedFigure,
    variance: Variance,
    found: Mapping[str, ReportFigures],
    whole: ReportFigures,
    lists: Sequence[ExplainedList],
) -> Iterator[Note]:
    """Yield the notes of an explanation: on the blanks of its totals first."""
    headings, in_digits = [side.key for side in variance.sides], figure.expression.type.written
    totals = SidePairs(whole.figures).totals(figure.expression)
    for known in found.values():
        yield from blank_totals(figure, known.figures)
    for known in found.values():
        yield from report_notes(known, WITHOUT)
    for known in found.values():
        yield from uneven_rows(known.figures)
    for made_list in lists:
        pairs = zip(headings, (made_list.a, made_list.b), totals, strict=True)
        differing = [
            f"{figure.row.key} of {heading}: {in_digits(of_list, 0)} against {in_digits(total, 0)}"
            for heading, of_list, total in pairs
            if isinstance(of_list, Exact) and isinstance(total, Exact) and of_list != total
        ]
        if differing:
            yield differing_total([made_list.by], differing)
        if not made_list.rows and made_list.a is not None and made_list.b is not None and figure.volume:
            volume = (figure.volume.key,)
            yield Note.of("no_divisor", lines=(figure.row.key,), scenarios=(variance.b.key,), operands=volume)


def inside_notes(
    figure: ExplainedFigure, found: Mapping[str, ReportFigures], below: Mapping[str, ReportFigures]
) -> Iterator[Note]:
    """Yield the note on the mix between members that lie inside one row of a list, which is in the price of the row."""
    volume = figure.volume.expression if figure.volume else None
    for key, report in found.items() if volume else ():
        leaf = report.plan.axes[0].leaf if report.plan.axes else key
        inner = below.get(key) or found.get(leaf)
        if inner is None or leaf == key or volume is None or report.plan.into_total(report.plan.axes[0]):
            continue
        pairs = (SidePairs(report.figures), SidePairs(inner.figures))
        rows, inside = (driver_effects(each.weighed(volume), each.weighed(figure.expression)) for each in pairs)
        hidden = hidden_mix(rows, inside) if rows and inside else None
        if hidden:
            amount = hidden.digits(quotient=True)
            yield Note.of("mix_inside", lines=(figure.row.key,), by=key, amount=amount, finer=leaf)


def blank_totals(figure: ExplainedFigure, figures: Figures) -> Iterator[Note]:
    """Yield the cause of each side that is blank in total."""
    (reads,) = figures.plan.columns
    for total, read in zip(SidePairs(figures).totals(figure.expression), reads, strict=True):
        if not isinstance(total, Exact):
            (cause,) = BlankCauses(figures).of_side(figure.expression, read, (len(figures.places) - 1,))
            about = (("lines", (figure.row.key,)), ("scenarios", (read.side.key,)))
            yield cause if cause == NO_ROWS else Note(cause.code, (*about, *cause.about))


def made(
    figure: ExplainedFigure,
    plan: FigurePlan,
    lists: tuple[ExplainedList, ...],
    totals: tuple[Exact | None, Exact | None],
    notes: tuple[Note, ...],
    loaded: Mapping[str, Mapping[str, Freshness]],
    currency: str,
) -> Explanation:
    """Return the explanation of its lists; without a variance it has no sides and no lists."""
    asked, row = figure.asked, figure.row
    report = made_of(MetricPlan((row.key,), row.label, plan), [row], FigureCube.of([]), (), notes, loaded, currency)
    (line,) = report.lines
    unit, points = report.unit(line, Comparison.FIGURE), report.unit(line, Comparison.VARIANCE)
    columns = [ScenarioColumn(side, side.key) for side in asked.variance.sides] if asked.variance else []
    reads = plan.columns[0] if columns else ()
    sides = tuple(column_of(column, (read,), plan) for column, read in zip(columns, reads, strict=True))
    a, b = totals
    return Explanation(
        label=row.label,
        line=line,
        written=asked.written,
        unit=unit,
        variance_unit=points,
        quotient=report.is_quotient(line, Comparison.FIGURE),
        period=report.period,
        filters=report.filters,
        currency=report.currency,
        sides=sides,
        time=tuple(key for key, query in asked.queries.items() if query.time),
        drill=report.columns[0].drill if sides else {},
        a=a,
        b=b,
        lists=lists,
        frame=frame_of(lists, tuple(side.scenario for side in sides), unit),
        notes=report.notes,
        freshness=report.freshness,
        catalogue_version=report.catalogue_version,
        data_version=report.data_version,
        permission=report.permission,
    )
