"""Ranking: which column orders the members of a breakdown, and how many of them are shown."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from engine.model.errors import BadArguments, closest, guess, quoted
from engine.model.notes import Note
from engine.model.requests import MetricRequest
from engine.queries.values import Query, Ranking

MOST_TOP = 200


def resolve_ranking(asked: MetricRequest, lines: Sequence[str], query: Query) -> tuple[Query, Ranking | None]:
    """Return the ranking of a request, and the query with a note if it shows fewer members than requested.

    `lines` holds the keys of the lines. Raises BadArguments for `asc` alone, a ranking without members to rank, a `top`
    below 1, and an unknown or ambiguous `order_by`.
    """
    if asked.order_by is None and asked.top is None:
        if asked.asc:
            raise BadArguments("asc orders nothing without order_by or top. Give one of them.", field="asc", got=True)
        return query, None
    field = "top" if asked.order_by is None else "order_by"
    refuse_nothing_to_rank(query, field)
    if asked.top is not None and asked.top < 1:
        raise BadArguments(f"top {asked.top} is below 1.", field="top", got=asked.top)
    if not query.columns:
        return query, None  # every scenario is unknown: there are no members to rank
    top = asked.top
    if top is not None and top > MOST_TOP:
        note = Note.of("top_reduced", got=str(top), maximum=str(MOST_TOP))
        query, top = replace(query, notes=(*query.notes, note)), MOST_TOP
    aliases = [column.heading for column in query.columns]
    line, column = (0, 0) if asked.order_by is None else ordering(asked.order_by, lines, aliases)
    return query, Ranking(line=line, column=column, asc=asked.asc, top=top)


def refuse_nothing_to_rank(query: Query, field: str) -> None:
    """Raise BadArguments without a dimension, or if the first dimension is time, whose periods stay in order."""
    if not query.breakdown:
        raise BadArguments(f"{field} ranks the members of a dimension. Name one in dimensions.", field="dimensions")
    first = query.breakdown[0]
    if first.grain:
        raise BadArguments(
            f"{field} ranks the members of the first dimension, and {first.key} is time. Name another dimension first.",
            field="dimensions",
            got=[dimension.key for dimension in query.breakdown],
        )


def ordering(name: str, lines: Sequence[str], aliases: Sequence[str]) -> tuple[int, int]:
    """Return the positions of the line and the column that a name means; BadArguments if it means none or several."""
    every = [(line, column) for line in range(len(lines)) for column in range(len(aliases))]
    spelled = {spelling(lines[line], aliases[column]): (line, column) for line, column in every}
    if name in spelled:
        return spelled[name]
    found = [(line, column) for line, column in every if name in (lines[line], aliases[column])]
    if len(found) == 1:
        return found[0]
    valid = [spelling(lines[line], aliases[column]) for line, column in found or every]
    close = [] if found else closest(name, [*lines, *aliases, *valid])
    what = "stands for several columns" if found else "is no column of this call"
    raise BadArguments(
        f"order_by {quoted([name])} {what}.{guess(close)} Name a metric, an alias, or metric@alias.",
        field="order_by",
        got=name,
        valid=valid if found else working(lines, aliases, valid),
        did_you_mean=close,
    )


def spelling(line: str, alias: str) -> str:
    """Return the spelling that always means one column."""
    return f"{line}@{alias}"


def working(lines: Sequence[str], aliases: Sequence[str], spelled: Sequence[str]) -> Iterable[str]:
    """Return the spellings that work: metrics alone in one scenario, aliases alone of one metric, else both."""
    if len(aliases) == 1:
        return lines
    return aliases if len(lines) == 1 else spelled
