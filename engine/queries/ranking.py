"""Ranking: which column orders the members of a breakdown, which conditions they meet, and how many are shown."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from engine.books.reader import Reader
from engine.books.terms import meant
from engine.model.catalogue import Favourable, Metric
from engine.model.errors import BadArguments, closest, guess, quoted
from engine.model.exact import Exact
from engine.model.notes import Note
from engine.model.requests import Condition, MetricRequest
from engine.model.scenarios import Variance
from engine.model.views import Running, ShareChange
from engine.queries.values import FigureCondition, Query, Ranking

MOST_TOP = 200
MAX_CONDITIONS = 10
SIDES = ("favourable", "unfavourable")  # of variances


def resolve_ranking(
    asked: MetricRequest, metrics: Sequence[Metric], formulas: Sequence[str], query: Query, reader: Reader
) -> tuple[Query, Ranking | None]:
    """Return the ranking of a request, and the query with a note if it shows fewer members than requested.

    A share, a rank or a running sum orders by the figures that it is made of. Raises BadArguments for `asc` alone, a
    ranking without members to rank, a `top` below 1, an unknown or ambiguous `order_by` and a condition that no figure
    can meet.
    """
    if asked.order_by is None and asked.top is None:
        if asked.asc:
            raise BadArguments("asc orders nothing without order_by or top. Give one of them.", field="asc", got=True)
        if not asked.having:
            return query, None
    field = "order_by" if asked.order_by is not None else "top" if asked.top is not None else "having"
    refuse_nothing_to_rank(query, field, cuts=asked.top is not None or bool(asked.having))
    if asked.top is not None and asked.top < 1:
        raise BadArguments(f"top {asked.top} is below 1.", field="top", got=asked.top)
    if not query.columns:
        return query, None  # every scenario is unknown: there are no members to rank
    top = asked.top
    if top is not None and top > MOST_TOP:
        note = Note.of("top_reduced", got=str(top), maximum=str(MOST_TOP))
        query, top = replace(query, notes=(*query.notes, note)), MOST_TOP
    lines, aliases = [*(metric.key for metric in metrics), *formulas], columns_shown(query)
    line, at = (0, 0) if asked.order_by is None else ordering(asked.order_by, lines, aliases, reader)
    if field != "having":
        refuse_order_by_change(query, at, field)
    return query, Ranking(
        line=line,
        column=query.read_by(at),
        asc=asked.asc,
        top=top,
        is_ordered=field != "having",
        conditions=resolve_conditions(asked.having, metrics, lines, query, reader),
    )


def refuse_order_by_change(query: Query, column: int, field: str) -> None:
    """Raise BadArguments for an order by a change of shares, which is made of two figures; another column works."""
    aliases, views = columns_shown(query), query.views
    if views and isinstance(views[column].view, ShareChange):
        others = [alias for alias, shown in zip(aliases, views, strict=True) if not isinstance(shown.view, ShareChange)]
        raise BadArguments(
            f"{quoted([aliases[column]])} is a change of shares, which orders nothing. Name another column in "
            "order_by. Conditions of having may test it.",
            field=field,
            got=aliases[column],
            valid=others,
        )


def columns_shown(query: Query) -> Sequence[str]:
    """Return the headings of the columns that are shown."""
    return [column.heading for column in query.views or query.columns]


def resolve_conditions(
    asked: Sequence[Condition], metrics: Sequence[Metric], lines: Sequence[str], query: Query, reader: Reader
) -> tuple[FigureCondition, ...]:
    """Return the conditions of a request; BadArguments for one that tests nothing, or no column of the call."""
    if len(asked) > MAX_CONDITIONS:
        raise BadArguments(
            f"having has {len(asked)} conditions; {MAX_CONDITIONS} are the most.", field="having", got=len(asked)
        )
    aliases, found = columns_shown(query), []
    for at, condition in enumerate(asked):
        field = f"having.{at}"
        line, column = ordering(condition.column, lines, aliases, reader, f"{field}.column")
        bounds = [bound_of(number, field) for number in (condition.min, condition.max)]
        if condition.is_ in SIDES:
            refuse_without_sides(condition.is_, (line, column), metrics, query, f"{field}.is")
        if condition.is_ is None and bounds == [None, None]:
            raise BadArguments(
                "A condition needs min, max or is.",
                field=field,
                got={"column": condition.column},
                example={"having": [{"column": condition.column, "min": 0}]},
            )
        found.append(FigureCondition(line=line, column=column, least=bounds[0], most=bounds[1], state=condition.is_))
    return tuple(found)


def refuse_without_sides(state: str, at: tuple[int, int], metrics: Sequence[Metric], query: Query, field: str) -> None:
    """Raise BadArguments for a column of which no figure is favourable: one without variances, or a direction."""
    line, column = at
    aliases = columns_shown(query)
    if not is_variance(column, query):
        raise BadArguments(
            f"{quoted([aliases[column]])} is no variance, so it is neither {' nor '.join(SIDES)}. Name a column of "
            "var(a,b), or give min or max.",
            field=field,
            got=state,
            valid=[alias for place, alias in enumerate(aliases) if is_variance(place, query)],
        )
    if line >= len(metrics) or metrics[line].favourable is Favourable.NONE:
        named = metrics[line].key if line < len(metrics) else "a formula"
        raise BadArguments(
            f"These books do not say which direction of {named} is favourable. Give min or max.",
            field=field,
            got=state,
            valid=[metric.key for metric in metrics if metric.favourable is not Favourable.NONE],
        )


def bound_of(number: float | None, field: str) -> Exact | None:
    """Return the exact value of a bound as it is written; BadArguments for what is no number."""
    try:
        return None if number is None else Exact.of(repr(number))
    except ValueError as unreadable:
        raise BadArguments("min and max take a number.", field=field, got=str(number)) from unreadable


def is_variance(column: int, query: Query) -> bool:
    """Tell whether a column that is shown has variances."""
    view = query.views[column].view if query.views else None
    if view and not (isinstance(view, Running) and view.of == view.operand):
        return False
    return isinstance(query.columns[query.read_by(column)].reference, Variance)


def refuse_nothing_to_rank(query: Query, field: str, *, cuts: bool) -> None:
    """Raise BadArguments without a dimension, and for what cuts the periods of one of two dimensions of time."""
    if not query.breakdown:
        raise BadArguments(f"{field} ranks the members of a dimension. Name one in dimensions.", field="dimensions")
    keys = [dimension.key for dimension in query.breakdown]
    if query.breakdown[0].grain and cuts and len(query.time) > 1:
        raise BadArguments(
            f"top and having leave periods out, and dimensions names two of time, {keys[0]} and {keys[1]}, that share "
            "their days. Name one of them, or give order_by alone, which orders all periods.",
            field="dimensions",
            got=keys,
            example={"dimensions": [keys[0], *keys[2:]]},
        )


def ordering(
    name: str, lines: Sequence[str], aliases: Sequence[str], reader: Reader, field: str = "order_by"
) -> tuple[int, int]:
    """Return the positions of the line and the column that a name or a term means.

    Raises BadArguments if it means none or several.
    """
    columns = columns_called(name, lines, aliases)
    if not columns:
        term, at, alias = name.partition("@")
        metric = meant(term, "metric", field, reader)
        columns = columns_called(f"{metric}{at}{alias}", lines, aliases) if metric else []
    if len(columns) == 1:
        return columns[0]
    every = [(line, column) for line in range(len(lines)) for column in range(len(aliases))]
    valid = [spelling(lines[line], aliases[column]) for line, column in columns or every]
    close = [] if columns else closest(name, [*lines, *aliases, *valid])
    what = "stands for several columns" if columns else "is no column of this call"
    argument = field.rpartition(".")[2]
    raise BadArguments(
        f"{argument} {quoted([name])} {what}.{guess(close)} Name a metric, an alias, or metric@alias.",
        field=field,
        got=name,
        valid=valid if columns else working(lines, aliases, valid),
        did_you_mean=close,
    )


def columns_called(name: str, lines: Sequence[str], aliases: Sequence[str]) -> list[tuple[int, int]]:
    """Return the columns that are spelled as a name, else those whose line or alias it is."""
    every = [(line, column) for line in range(len(lines)) for column in range(len(aliases))]
    spelled = [(line, column) for line, column in every if spelling(lines[line], aliases[column]) == name]
    return spelled[-1:] or [(line, column) for line, column in every if name in (lines[line], aliases[column])]


def spelling(line: str, alias: str) -> str:
    """Return the spelling that always means one column."""
    return f"{line}@{alias}"


def working(lines: Sequence[str], aliases: Sequence[str], spelled: Sequence[str]) -> Iterable[str]:
    """Return the spellings that work: metrics alone in one scenario, aliases alone of one metric, else both."""
    if len(aliases) == 1:
        return lines
    return aliases if len(lines) == 1 else spelled
