"""The columns of an extract that a feed reads: those that its files must have, those of days, and those of amounts."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from engine.model.calendar.periods import Grain
from engine.model.catalogue import Dimension, Domain
from server.feeds.extract_formats import DebitCredit, DebitCreditSide, ExtractFormat
from server.feeds.feeds import Binding
from server.files.reshape import NAME_PART

FINE = 12  # decimal places of numbers that are no measure: rates, and the factors of a product


class ExtractColumns(Struct, frozen=True, kw_only=True):
    """The columns of an extract that a feed reads, by their names in its files."""

    required: frozenset[str]  # that each file has; empty if a statement makes the columns
    days: Mapping[str, Grain] = {}  # days or periods that `dates` speaks of
    amounts: Mapping[str, int] = {}  # numbers, with the places that they may have


def extract_columns(binding: Binding, target: Domain | Dimension | None) -> ExtractColumns:
    """Return the columns that a feed reads; `target` is None for rates."""
    time, grain, amounts = None, Grain.DATE, dict[str, int]()
    if isinstance(target, Domain):
        time, grain, amounts = target.time_column, target.grain, amount_columns(binding, target)
        ids = [*target.dimensions.values(), *target.texts, *(() if binding.scenario else (target.scenario_column,))]
    elif target is None:
        time, ids, amounts = "date", ["currency"], dict.fromkeys(columns_for(binding, "rate"), FINE)
    else:
        ids = ["id" if target.members == binding.target else "node"]
    dates = binding.format.dates
    in_parts = dates.year is not None and time not in binding.fillings
    timed = columns_for(binding, time) if time is not None and not in_parts else ()
    filling = binding.fillings.get(time or "")
    has_own = filling is not None and (filling.values is not None or filling.format is not None)
    named = {*timed, *amounts, *(column for name in ids for column in columns_for(binding, name))}
    required = (named | set(format_columns(binding.format))) - set(made_columns(binding.format))
    return ExtractColumns(
        required=frozenset() if binding.format.sql else frozenset(required),
        days={} if has_own else dict.fromkeys(timed, grain),
        amounts=amounts,
    )


def columns_for(binding: Binding, live: str) -> Sequence[str]:
    """Return the columns of the extract that fill a column of a live table; none if a constant does."""
    filling = binding.fillings.get(live)
    if filling is None:
        return (live,)
    return () if filling.constant is not None else filling.product or (filling.column or live,)


def amount_columns(binding: Binding, domain: Domain) -> dict[str, int]:
    """Return the columns of amounts that fill the measures of a domain, with the places of each."""
    rule, converted = binding.format.amount, binding.conversion.into if binding.conversion else None
    found: dict[str, int] = {}
    for key, measure in domain.measures.items():
        if key == converted:
            continue
        columns, places = columns_for(binding, measure.column), measure.places
        if rule is not None and rule.column == measure.column:
            columns = (rule.debit, rule.credit) if isinstance(rule, DebitCredit) else (rule.amount,)
        elif len(columns) > 1:
            places = FINE
        for column in columns:
            found[column] = min(places, found.get(column, places))
    return found


def format_columns(format_: ExtractFormat) -> Iterator[str]:
    """Yield the columns of a file that the keys of a format name."""
    yield from filter(None, (format_.dates.year, format_.dates.month, format_.dates.day))
    if isinstance(format_.amount, DebitCreditSide):
        yield format_.amount.side
    yield from format_.skip.blank
    yield from format_.skip.equals
    if format_.fill_down is not None:
        yield from (format_.fill_down.column, *format_.fill_down.blank)
    controls = format_.controls
    yield from filter(None, (controls.per, controls.within, controls.parents, *controls.closing, *controls.opening))
    if (unpivot := format_.unpivot) is not None:
        yield from filter(None, (*unpivot.columns.names, unpivot.columns.first, unpivot.columns.last))


def made_columns(format_: ExtractFormat) -> Iterator[str]:
    """Yield the columns that no file has, because the keys of a format make them."""
    if format_.from_name is not None:
        yield from (part[1] for part in NAME_PART.finditer(format_.from_name) if part[1])
    if format_.fill_down is not None and format_.fill_down.into != format_.fill_down.column:
        yield format_.fill_down.into
    if format_.unpivot is not None:
        yield from (format_.unpivot.into, format_.unpivot.value)
