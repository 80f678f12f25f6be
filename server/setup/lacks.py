"""Lacks: why a table holds no facts, and numbers of a table that fills none."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from server.files.notation import AMOUNT_WORDS, MOST_NUMBERS, notations_of
from server.files.number_looks import has_places, has_two_places
from server.files.period_names import half_columns
from server.setup.column_profiles import AMOUNTS, ColumnRole
from server.setup.dimensions import Guess
from server.setup.figures import exact_figures, largest
from server.setup.open_facts import HOW_AMOUNTS, mixed_forms
from server.setup.periods import unread_time
from server.setup.questions import Choice, OpenQuestion
from server.setup.roles import TableProfile
from server.setup.trees import weight_column

MOST_NUMBERS_OF_MEMBERS: Final = 2  # columns of whole numbers, such as a level and an order, that are no amounts


def lack_of_facts(profiles: Sequence[TableProfile]) -> str:
    """Return why no table holds facts, and what to say or to write of each."""
    return "none of the tables holds facts: " + "; ".join(map(lack_of, profiles))


def lack_of(found: TableProfile) -> str:
    """Return why a table does not hold facts, and what to say or to write of it."""
    roles = ", ".join(f"{column}: {role.value}" for column, (role, _) in found.roles.items())
    answer = f"with --answers FILE, say files: {{{found.name}: {{is: facts, "
    if not found.has_amounts:
        says = f"{found.name} has no column of amounts ({roles})"
        if near := near_amount(found):
            return f"{says}: {near} is no number; {HOW_AMOUNTS}"
        return f"{says}; {answer}columns: {{COLUMN: amount}}}}}}"
    if mixed := next(mixed_forms(found), None):
        return mixed
    if unread := unread_time(found):
        return f"{found.name}: {unread}"
    if halves := half_columns(found.table.columns):
        return f"{found.name}: {', '.join(halves)} are half years, which no book holds: bring months, quarters or years"
    says = f"{found.name} has no column of days or months ({roles})"
    return f"{says}; {answer}columns: {{COLUMN: time}}}}}}, or {{is: facts, period: 2026-01}} for all its rows"


def unloaded_amounts(found: TableProfile, guesses: list[Guess], *, is_used: bool) -> Iterator[OpenQuestion]:
    """Yield the question about amounts of a table that fills no facts; list its other numbers as guesses."""
    weight = weight_column(found)
    amounts = [one for role in (*AMOUNTS, ColumnRole.ACROSS) for one in found.having(role) if one != weight]
    numbers = [one for name in amounts if (one := found.columns[name].number) is not None]
    telling = len(numbers) > MOST_NUMBERS_OF_MEMBERS or any(
        AMOUNT_WORDS.search(one.name) or any(has_places(text) for text, _ in one.numbers) for one in numbers
    )
    unnamed = unnamed_amounts(found)
    if unnamed or telling:
        names = ", ".join([*(one.name for one in numbers), *(f"{name} '{text}'" for name, text in unnamed.items())])
        ends = "would fill members alone" if is_used else "would not be used"
        period = "say {is: facts, period: 2026-01} for all rows, or bring a column of days, months or quarters"
        facts = HOW_AMOUNTS if near_amount(found) else f"{period}, as 2026-01-31, 2026-01 or 2026-Q1"
        says = f"it {ends}, and its numbers ({names}) would not be loaded; if they are facts: {facts}. Else:"
        held = exact_figures(found.table.sample.frame, numbers)
        most = max(map(largest, held), default=Decimal(0))
        choices = (
            Choice({"is": "members"}, "they are no facts: a table of members"),
            Choice({"is": "unused"}, "they are no facts: nothing is read of it"),
        )
        yield OpenQuestion(found.name, says, choices, most)
        return
    evidence = "a number in a table without days, which fills members"
    guesses += [Guess(table=found.name, what=f"{one.name}: not loaded", evidence=evidence) for one in numbers]


def near_amount(found: TableProfile) -> str | None:
    """Return the first text of an amount with marks around it, with its column; None if there is none."""
    marked = (f"{column} '{text}'" for column, text in unnamed_amounts(found).items() if not notations_of(text))
    return next(marked, None)


def unnamed_amounts(found: TableProfile) -> dict[str, str]:
    """Return columns of texts that mostly hold two decimal places, with one of them: the first that is no number."""
    amounts = {}
    for column, one in found.columns.items():
        hits = [text for text in one.values if has_two_places(text)]
        plain = one.number is None and one.day is None and hits
        if plain and len(hits) >= MOST_NUMBERS * len(one.values):
            amounts[column] = next((text for text in hits if not notations_of(text)), hits[0])
    return amounts
