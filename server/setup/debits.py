"""Debits and credits: the keys that make one amount of them, and which sign credits have where most are negative."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from server.files.findings import Finding, Findings, located
from server.files.notation import NumberColumn
from server.setup.answers import FileAnswers
from server.setup.column_profiles import ColumnRole
from server.setup.figures import exact_figures, largest, written_amount
from server.setup.questions import Choice, OpenQuestion
from server.setup.roles import TableProfile

DEBITS: Final = ("s", "d", "dr", "debit", "soll", "db")
SIGNS: Final = {"negative": 1, "positive": -1}  # what a credit as it is written counts as


def amount_findings(found: TableProfile, amounts: Sequence[NumberColumn], said: FileAnswers) -> Findings:
    """Return the keys that make one amount of debits and credits."""
    debit, credit, side = (found.first(role) for role in (ColumnRole.DEBIT, ColumnRole.CREDIT, ColumnRole.SIDE))
    amount = found.first(ColumnRole.AMOUNT)
    if debit and credit:
        keys = {"debit": debit, "credit": credit}
        blank: tuple[Finding, ...] = (Finding("numbers.blank", "none", "a row has a debit or a credit"),)
        evidence = found.roles[debit][1]
    elif side and amount:
        texts = found.columns[side].values
        debits = next(text for text in texts if text.lower() in DEBITS)
        rest = [text for text in texts if text != debits]
        keys, blank = {"column": amount, "side": side, "debit": debits, "credit": rest[0]}, ()
        evidence = found.roles[side][1]
    else:
        return Findings()
    sides = signed_sides(found, keys, amounts)
    if sides is not None and are_negative(sides[1]) and (sign := said.credits or proven_sign(sides)):
        keys |= {"credits": sign}
        evidence += "; answered" if said.credits else "; most credits have a minus, and so debits and credits are equal"
    return Findings((Finding("amount", keys, evidence), *blank))


def credit_signs(
    found: TableProfile, findings: Findings, amounts: Sequence[NumberColumn], said: FileAnswers
) -> Iterator[OpenQuestion]:
    """Yield the question what a minus of credits means, where most have one and no sum tells it."""
    keys = findings.value("amount")
    sides = signed_sides(found, keys, amounts) if keys else None
    if sides is None or said.credits or "credits" in keys or not are_negative(sides[1]):
        return
    column = keys["credit"] if "side" not in keys else keys["column"]
    at = int((sides[1] < 0).arg_true()[0])
    place = located(column, [(found.table.sample.frame[column][at], found.table.sample.rows[at])])
    sums = {sign: written_amount(sum_of(sides, sign)) for sign in SIGNS}
    choices = (
        Choice({"credits": "negative"}, f"the minus marks a credit: debits and credits are {sums['negative']} apart"),
        Choice({"credits": "positive"}, f"it is a reversal: debits and credits are {sums['positive']} apart"),
    )
    says = f"most credits are negative, as {place}: what does the minus mean?"
    yield OpenQuestion(found.name, says, choices, largest(sides[1]))


def signed_sides(
    found: TableProfile,
    keys: Mapping[str, str],
    amounts: Sequence[NumberColumn],
) -> tuple[pl.Series, pl.Series] | None:
    """Return the debits and the credits as they are written; None if a column of them has no number."""
    figures = exact_figures(found.table.sample.frame, amounts)
    if "side" not in keys:
        names = (keys["debit"], keys["credit"])
        return (figures[names[0]], figures[names[1]]) if set(names) <= set(figures.columns) else None
    if keys["column"] not in figures.columns:
        return None
    is_debit = found.table.sample.frame[keys["side"]].str.strip_chars() == keys["debit"]
    units = figures[keys["column"]]
    return units.filter(is_debit), units.set(is_debit, None)


def are_negative(credits_: pl.Series) -> bool:
    """Tell whether most credits have a minus."""
    return int((credits_ < 0).sum()) > int((credits_ > 0).sum())


def sum_of(sides: tuple[pl.Series, pl.Series], sign: str) -> int:
    """Return debits less credits, as one of both signs has them."""
    debits, credits_ = (int(side.cast(pl.Int128).sum()) for side in sides)
    return debits + SIGNS[sign] * credits_


def proven_sign(sides: tuple[pl.Series, pl.Series]) -> str | None:
    """Return the sign of credits by which debits and credits are equal; None if neither does."""
    return next((sign for sign in SIGNS if sum_of(sides, sign) == 0), None)
