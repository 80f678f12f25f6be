"""Nominations: which columns of numbers names make the amounts of a table, and the controls that prove it, or ask."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

import polars as pl
from msgspec import Struct

from server.files.notation import NumberColumn, words_of
from server.setup.figures import exact_figures, largest, volume
from server.setup.questions import Choice, OpenQuestion
from server.setup.words import CREDIT_WORDS, DEBIT_WORDS, named

OPENING_WORDS: Final = named(
    "opening|open|initial|beginning|brought forward|b/f|bf|eb|eröffnung|eröffnungsbilanz|anfang|anfangsbestand|"
    "anfangssaldo|eb-wert|vortrag|saldovortrag|ouverture|à nouveau|apertura|iniziale|inicial|anterior|begin|beginsaldo|"
    "ingående|bilans otwarcia|otwarcia"
)
CLOSING_WORDS: Final = named(
    "closing|close|ending|end|carried forward|c/f|final|schluss|schlussbestand|ende|endbestand|endsaldo|clôture|cierre|"
    "chiusura|finale|eind|eindsaldo|utgående|zamknięcia|balance|balances|saldo|saldi|saldos|solde|soldes|bestand|bestände"
)
STOCK_WORDS: Final = named(  # of figures that hold at a day, and do not add up over time
    "balance|balances|saldo|saldi|saldos|solde|soldes|bestand|bestände|endbestand|closing|stock|inventory|headcount|"
    "heads|fte|kopfzahl|köpfe|outstanding|holding|holdings|nav"
)
PRIOR_WORDS: Final = named(
    "prior|previous|last year|vorjahr|vj|py|n-1|précédent|précédente|anterior|precedente|vorig|vorig jaar|föregående"
)
MOST_FIGURES: Final = 12  # columns of which three are tried as opening, movement and closing


class NominatedFigure(Struct, frozen=True):
    """Amounts that a table may be about: a column, or a column of debits with one of credits."""

    columns: tuple[str, ...]
    label: str  # the name without the words of debit and credit

    def __str__(self) -> str:
        return " less ".join(self.columns)

    @property
    def is_opening(self) -> bool:
        """Whether its name speaks of what was there before."""
        return bool(OPENING_WORDS.search(words_of(self.label)))

    @property
    def is_closing(self) -> bool:
        """Whether its name speaks of what is there afterwards."""
        return bool(CLOSING_WORDS.search(words_of(self.label)))

    def choice(self, others: Sequence["NominatedFigure"], effect: str) -> Choice:
        """Return the answer that takes it, and none of some others."""
        roles = ("amount",) if len(self.columns) == 1 else ("debit", "credit")
        left = {column: "unused" for other in others for column in other.columns}
        return Choice({"columns": {**left, **dict(zip(self.columns, roles, strict=True))}}, effect)


class Nomination(Struct, frozen=True):
    """The debits and credits of a table, the columns of amounts that are not loaded, and what has to be asked."""

    pair: tuple[str, ...] = ()
    left: Mapping[str, str] = {}  # each with why
    why: str = "its name, beside that of the other side"
    questions: tuple[OpenQuestion, ...] = ()


def nominate(
    table: str,
    frame: pl.DataFrame,
    numbers: Mapping[str, NumberColumn],
    within: pl.Series | None = None,
    *,
    is_answered: bool,
) -> Nomination:
    """Return which columns of numbers are the amounts; beside an answered one, debits and credits are not loaded.

    Balances run on within the rows of one text of `within`.
    """
    pairs = debit_credit_pairs(list(numbers))
    if is_answered:
        why = "other columns are answered as the amount"
        return Nomination(left=dict.fromkeys(numbers if pairs else (), why))
    if len(pairs) == 1:
        return Nomination(pair=pairs[0].columns)
    figures = pairs or [NominatedFigure((name,), name) for name in numbers]
    if len(figures) < 2:
        return Nomination()
    nets = net_figures(frame, numbers, figures)
    if proven := proven_movement(figures, nets):
        opening, movement, closing = proven
        says = f"{opening} and {movement} are {closing} in every row"
        rest = [one for one in figures if one not in proven]
        left = {column: f"{says}, so that it is a control" for one in (opening, closing) for column in one.columns}
        if not (pairs and rest):
            return Nomination(movement.columns if pairs else (), left, says)
        figures = [movement, *rest]
    is_opened = any(one.is_opening for one in figures) and any(one.is_closing for one in figures)
    if pairs or is_opened:
        why = "debits and credits stand in several pairs" if pairs else "names say opening and closing"
        says = f"{why}, and no row-by-row control tells which moved"
        return Nomination(questions=(which_question(table, figures, nets, says),))
    return Nomination(left=running_balances(figures, nets, within), questions=tuple(other_years(table, figures, nets)))


def debit_credit_pairs(names: Sequence[str]) -> list[NominatedFigure]:
    """Return columns of debits with those of credits of the same name otherwise."""
    debits = {rest: name for name in names if (rest := without(name, debit=True)) is not None}
    credits_ = {rest: name for name in names if (rest := without(name, debit=False)) is not None}
    if len(debits) == len(credits_) == 1:
        return [NominatedFigure((*debits.values(), *credits_.values()), next(iter(debits)))]
    return [NominatedFigure((debits[rest], credits_[rest]), rest) for rest in debits if rest in credits_]


def without(name: str, *, debit: bool) -> str | None:
    """Return what the name of a column of debits, or credits, says otherwise; None if it is none."""
    words = words_of(name)
    own, other = (DEBIT_WORDS, CREDIT_WORDS) if debit else (CREDIT_WORDS, DEBIT_WORDS)
    if not own.search(words) or other.search(words):
        return None
    return own.sub(r"\1 \3", words).strip(" _-/.()").lower()


def net_figures(
    frame: pl.DataFrame, numbers: Mapping[str, NumberColumn], figures: Sequence[NominatedFigure]
) -> list[pl.Series]:
    """Return the amounts of each figure as integers: debits less credits."""
    exact = exact_figures(frame, list(numbers.values())).fill_null(0)
    sides = [[exact[column].cast(pl.Int128) for column in one.columns] for one in figures]
    return [side[0] if len(side) == 1 else side[0] - side[1] for side in sides]


def proven_movement(
    figures: Sequence[NominatedFigure], nets: Sequence[pl.Series]
) -> tuple[NominatedFigure, NominatedFigure, NominatedFigure] | None:
    """Return the opening, movement and closing whose names say so, and of which the third is the sum in every row."""
    named_figures = list(zip(figures, nets, strict=True))[:MOST_FIGURES]
    for (opening, before), (movement, moved), (closing, after) in combinations(named_figures, 3):
        is_named = opening.is_opening and closing.is_closing and not movement.is_opening
        if is_named and bool((after != 0).any()) and bool((before + moved == after).all()):
            return opening, movement, closing
    return None


def running_balances(
    figures: Sequence[NominatedFigure], nets: Sequence[pl.Series], within: pl.Series | None
) -> Mapping[str, str]:
    """Return the columns named balances that grow by another column from row to row: a control of it."""
    left: dict[str, str] = {}
    for (one, moved), (balance, after) in combinations(zip(figures, nets, strict=True), 2):
        grows = (after.diff() == moved).slice(1)
        if within is not None:
            grows = grows | (within != within.shift(1)).slice(1)  # the first row of another account begins anew
        if balance.is_closing and moved.len() > 2 and bool(grows.all()) and bool((moved != 0).any()):
            left[balance.columns[0]] = f"it grows by {one} from row to row, so that it is a control"
    return left


def other_years(table: str, figures: Sequence[NominatedFigure], nets: Sequence[pl.Series]) -> Iterator[OpenQuestion]:
    """Yield the question about amounts of which one is named as those of an earlier year."""
    prior = [one for one in figures if PRIOR_WORDS.search(words_of(one.label))]
    if not prior or len(prior) == len(figures):
        return
    asked = which_question(table, figures, nets, "some amounts are named as those of an earlier year")
    both = {"columns": {column: "amount" for one in figures for column in one.columns}}
    yield OpenQuestion(
        asked.table, asked.says, (*asked.choices, Choice(both, "load all, each as a measure of its own")), asked.money
    )


def which_question(
    table: str, figures: Sequence[NominatedFigure], nets: Sequence[pl.Series], evidence: str
) -> OpenQuestion:
    """Return the question which of some figures is the amount."""
    held = [f"{one}, {volume(net)}" for one, net in zip(figures, nets, strict=False)]
    choices = tuple(
        one.choice([other for other in figures if other is not one], says)
        for one, says in zip(figures, held, strict=True)
    )
    names = "; ".join(map(str, figures))
    return OpenQuestion(
        table, f"which pair or column is the amount: {names}? {evidence}", choices, max(map(largest, nets))
    )
