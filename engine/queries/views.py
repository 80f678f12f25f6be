"""Resolves the columns of a request: scenario references, and views of these, among those visible."""

from collections.abc import Sequence

from msgspec import Struct

from engine.books.reader import Reader
from engine.model.errors import BadArguments, guess, quoted
from engine.model.notes import Note
from engine.model.scenarios import Reference
from engine.model.views import (
    CHANGES,
    MAX_ARGUMENTS,
    SIDES,
    ShownColumn,
    View,
    call_of,
    is_share,
    operands_of,
    resolve_view,
)
from engine.queries.references import fault_of, nearest, reference_forms, resolve_reference
from engine.queries.values import ScenarioColumn

TAKES = {
    "share": "share( ) takes a scenario or a variance and perhaps a base: parent, or a line of the statement",
    "rank": "rank( ) takes a scenario or a variance",
    "running": "running( ) takes a scenario, a variance, or share( ) of one",
    "var": "var( ) takes two scenarios, or two shares of scenarios that divide alike: var(share(a),share(b))",
    "var_pct": "var_pct( ) takes two scenarios, or two shares of scenarios that divide alike",
}


class AskedColumns(Struct, frozen=True):
    """The columns of a request: those to read, those to show where some are views, and notes on unknown ones."""

    read: tuple[ScenarioColumn, ...]
    views: tuple[ShownColumn, ...]
    notes: Sequence[Note]

    @classmethod
    def of(cls, asked: Sequence[tuple[Reference | View, str]], notes: Sequence[Note]) -> "AskedColumns":
        """Return the columns of some references and views with their headings.

        What a view is computed from is read once: as the column that shows it if there is one.
        """
        read: list[ScenarioColumn] = []
        for meaning, heading in asked:
            if not isinstance(meaning, View):
                read.append(ScenarioColumn(meaning, heading))
        if len(read) == len(asked):
            return cls(tuple(read), (), notes)
        positions = {column.reference: at for at, column in reversed(list(enumerate(read)))}
        views, plain = [], iter(range(len(read)))
        for meaning, heading in asked:
            if not isinstance(meaning, View):
                views.append(ShownColumn(None, heading, next(plain)))
                continue
            for operand in operands_of(meaning):
                if operand not in positions:
                    positions[operand] = len(read)
                    read.append(ScenarioColumn(operand, operand.key))
            views.append(ShownColumn(meaning, heading, *(positions[operand] for operand in operands_of(meaning))))
        return cls(tuple(read), tuple(views), notes)


def resolve_column(text: str, field: str, reader: Reader) -> Reference | View | None:
    """Return what a column shows, or None if a name in it is unknown; BadArguments if it is none by its grammar."""
    if call_of(text) is None:
        return resolve_reference(text, field, reader)
    view = resolve_view(text, reader.scenarios)
    if view is None and (fault := fault_of_view(text, reader)):
        forms = view_forms(reader)
        close = [near for near in nearest(text, reader.scenarios) if near]
        raise BadArguments(
            f"{quoted([text])} is no column: {fault}.{guess(close)} These work: {quoted(forms)}.",
            field=field,
            got=text,
            valid=forms,
            did_you_mean=close,
            example={"scenarios": [{"scenario": form} for form in reference_forms(reader)[:1]]},
        )
    return view


def view_forms(reader: Reader) -> list[str]:
    """Return a working view of each form."""
    first = next(iter(reference_forms(reader)), None)
    if first is None:
        return []
    changes = [f"var(share({first}),share({first}@py))"]
    return [f"share({first})", f"rank({first})", f"running({first})", f"running(share({first}))", *changes]


def fault_of_view(text: str, reader: Reader) -> str | None:
    """Return what makes an unresolved text no view; None if it is one of names that are unknown."""
    name, arguments = call_of(text) or ("", ())
    if len(arguments) > MAX_ARGUMENTS[name] or not all(arguments):
        return TAKES[name]
    if name in CHANGES:
        return fault_of_change(name, arguments, reader)
    if inner := call_of(arguments[0]):
        return fault_of_view(arguments[0], reader) if (name, inner[0]) == ("running", "share") else TAKES[name]
    return fault_of(arguments[0], reader)


def fault_of_change(name: str, arguments: Sequence[str], reader: Reader) -> str | None:
    """Return what makes a text no change of two shares; None if it is one of names that are unknown."""
    if len(arguments) != SIDES or not all(map(is_share, arguments)):
        return TAKES[name]
    (of_a, *base_a), (of_b, *base_b) = ((call_of(argument) or ("", [""]))[1] for argument in arguments)
    if base_a != base_b or any("(" in of for of in (of_a, of_b)):
        return TAKES[name]
    return next((fault for argument in arguments if (fault := fault_of_view(argument, reader))), None)
