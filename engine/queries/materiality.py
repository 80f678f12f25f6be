"""Materiality: what a line of a statement must reach in a column to be shown, and by which members it is followed."""

from collections.abc import Sequence
from dataclasses import asdict

from engine.books.reader import Reader
from engine.model.catalogue import Dimension
from engine.model.errors import BadArguments, closest, guess, quoted
from engine.model.exact import Exact
from engine.model.notes import Note
from engine.model.requests import LineMateriality, StatementRequest
from engine.model.scenarios import Variance
from engine.queries.filters import keys_of, usable_dimension
from engine.queries.ranking import MOST_TOP, columns_shown
from engine.queries.values import MaterialityTest, Query

FIELD = "materiality"
DEFAULT_TOP = 3


def resolve_materiality(
    asked: StatementRequest, query: Query, reader: Reader
) -> tuple[MaterialityTest | None, Sequence[Note]]:
    """Return what the lines of a statement must reach, and a note if fewer members follow than the request asks for.

    Raises BadArguments for a test that no line can meet, a column that is none of amounts, members without a dimension
    or beside a breakdown, and UnknownName for a dimension that is none.
    """
    wanted = asked.materiality
    if wanted is None:
        return None, ()
    amount, percent = (bound_of(getattr(wanted, name), name) for name in ("absolute", "percent"))
    if amount is percent is None:
        raise BadArguments(
            "materiality needs absolute, percent, or both.",
            field=FIELD,
            got=said(wanted),
            example={"materiality": {"of": wanted.of, "percent": 5}},
        )
    if wanted.rule == "all" and None in (amount, percent):
        raise BadArguments(
            "rule all asks for absolute and percent together. Give both, or leave rule out.",
            field=f"{FIELD}.rule",
            got=wanted.rule,
        )
    by = None if wanted.by is None else dimension_of_members(wanted.by, query, reader)
    top, notes = members_shown(wanted, query, reader)
    if not query.columns:
        return None, notes  # every scenario is unknown: there are no lines to test
    at = column_tested(wanted, query, needs_variance=percent is not None)
    test = MaterialityTest(
        column=at,
        amount=amount,
        percent=percent,
        needs_both=wanted.rule == "all",
        by=by,
        top=top,
    )
    return test, notes


def said(wanted: LineMateriality) -> dict[str, object]:
    """Return what a request says of materiality."""
    return {key: part for key, part in asdict(wanted).items() if part is not None}


def bound_of(number: float | None, name: str) -> Exact | None:
    """Return the exact value of a bound as it is written; BadArguments for one below 0 or that is no number."""
    try:
        bound = None if number is None else Exact.of(repr(number))
    except ValueError:
        bound = Exact(-1)
    if bound is not None and bound.numerator < 0:
        raise BadArguments(f"{name} takes a number, 0 or more.", field=f"{FIELD}.{name}", got=str(number))
    return bound


def column_tested(wanted: LineMateriality, query: Query, *, needs_variance: bool) -> int:
    """Return the position of the column whose figures are tested; BadArguments if it is no column of amounts."""
    headings = columns_shown(query)
    works = [heading for at, heading in enumerate(headings) if has_amounts(at, query, needs_variance=needs_variance)]
    if wanted.of in works:
        return headings.index(wanted.of)
    if wanted.of not in headings:
        close = closest(wanted.of, headings)
        told = f"is no column of this call.{guess(close)} Name the alias of one"
    elif needs_variance and has_amounts(headings.index(wanted.of), query, needs_variance=False):
        close, told = [], "has no comparative for percent. Name a column of var(a,b), or give absolute alone"
    else:
        close, told = [], "has no amounts. Name a column of a scenario or of var(a,b)"
    raise BadArguments(
        f"of {quoted([wanted.of])} {told}.",
        field=f"{FIELD}.of",
        got=wanted.of,
        valid=works,
        did_you_mean=[name for name in close if name in works],
        example={"materiality": {**said(wanted), "of": works[0]}} if works else with_variance(query),
    )


def has_amounts(column: int, query: Query, *, needs_variance: bool) -> bool:
    """Tell whether a column that is shown has figures in the unit of the lines, and those of a variance if need be."""
    if query.views and query.views[column].view:
        return False
    reference = query.columns[query.read_by(column)].reference
    if isinstance(reference, Variance):
        return not reference.relative
    return not needs_variance


def with_variance(query: Query) -> dict[str, object] | None:
    """Return an example of a variance to test, None without two scenarios in the call."""
    sides = list(dict.fromkeys(side.key for column in query.columns for side in column.reference.sides))
    if len(sides) == 1:
        sides.append(f"{sides[0]}@py")
    column = {"scenario": f"var({sides[0]},{sides[1]})", "alias": "Variance"}
    return {"scenarios": [column], "materiality": {"of": "Variance", "percent": 5}}


def dimension_of_members(key: str, query: Query, reader: Reader) -> Dimension:
    """Return the dimension whose members follow each line.

    Raises BadArguments for time, or beside a breakdown, UnknownName and DimensionUnavailable as a breakdown does.
    """
    field = f"{FIELD}.by"
    dimension = usable_dimension(key, reader, query.domains, field=field, breaking_down=True)
    if dimension.grain:
        others = [name for name in keys_of(reader, query.domains, breaking_down=True) if not grain_of(name, reader)]
        raise BadArguments(
            f"{key} is time, and by takes the members of another dimension. Name periods in dimensions.",
            field=field,
            got=key,
            valid=others,
        )
    if query.breakdown:
        named = [known.key for known in query.breakdown]
        raise BadArguments(
            f"by lists members below the lines, and dimensions has {quoted(named)} across. Give one of the two.",
            field=field,
            got=key,
            example={"dimensions": []},
        )
    return dimension


def grain_of(key: str, reader: Reader) -> object:
    """Return the grain of a dimension of time, None for another."""
    return reader.dimensions[key].grain if key in reader.dimensions else None


def members_shown(wanted: LineMateriality, query: Query, reader: Reader) -> tuple[int, Sequence[Note]]:
    """Return how many members follow a line, with a note if these are fewer than the request asks for."""
    if wanted.top is None:
        return DEFAULT_TOP, ()
    field = f"{FIELD}.top"
    if wanted.by is None:
        usable = [key for key in keys_of(reader, query.domains, breaking_down=True) if not grain_of(key, reader)]
        raise BadArguments(
            "top counts the members of by. Name a dimension in by, or leave top out.",
            field=field,
            got=wanted.top,
            example={"materiality": {**said(wanted), "by": usable[0]}} if usable else None,
        )
    if wanted.top < 1:
        raise BadArguments(f"top {wanted.top} is below 1.", field=field, got=wanted.top)
    if wanted.top > MOST_TOP:
        return MOST_TOP, (Note.of("top_reduced", got=str(wanted.top), maximum=str(MOST_TOP)),)
    return wanted.top, ()
