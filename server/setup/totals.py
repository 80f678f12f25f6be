"""Totals: the rows inside a table of facts that sum up others, by their figures where they prove it, else by words."""

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from server.files.findings import Finding, Findings, SampleTable, at_row
from server.files.id_levels import below, headings_among
from server.files.notation import NumberColumn
from server.files.number_looks import DIGIT, NUMBER_BEHIND
from server.files.sampling import SourceTable
from server.files.total_sums import TotalProof, TotalSums
from server.setup.figures import exact_figures, largest, written_amount
from server.setup.questions import Choice, OpenQuestion

TOTAL_WORDS = re.compile(  # in any column
    rf"(grand |sub-?)?totals?{NUMBER_BEHIND}:?|(gesamt|end|zwischen)?summe{NUMBER_BEHIND}:?|gesamt:?|"
    r"somme:?|sous-total:?|totale:?|suma:?|totaal:?",
    re.IGNORECASE,
)
TOTAL_OF = re.compile(  # in the column of the accounts, or beside an empty account
    r"[\W_]*((grand |sub-?|net )?totals?|sum|summen?|(end|zwischen|gesamt)summe|gesamt\w*|insgesamt|somme|sous-total|"
    r"totale|suma|totaal)\b.*",
    re.IGNORECASE,
)
RESULT_WORDS = re.compile(
    r"[\W_]*((jahres|betriebs|gesamt)?ergebnis|jahres(überschuss|fehlbetrag)|(end)?saldo|balance|(net |operating )?"
    r"(income|profit|loss|result)|gross profit|ebit(da)?|résultat( net)?|resultado|resultaat|risultato)\b[\W_]*",
    re.IGNORECASE,
)
SHOWN: Final = 3  # rows that the evidence names
FEWEST: Final = 2  # rows that a sum is made of at least


class TotalRow(Struct, frozen=True):
    """A row of totals, the text of a column that leaves it out, and the evidence; no text is an empty account."""

    at: int
    column: str
    text: str | None
    evidence: str
    is_proven: bool = False  # by the figures
    is_parent: bool = False  # of the rows below its id


class LeftOut(Struct, frozen=True):
    """A table without its rows of totals, the keys that leave them out of loads, and questions about other rows."""

    table: SourceTable
    findings: Findings = Findings()
    doubts: tuple[OpenQuestion, ...] = ()


def without_totals(
    table: SourceTable,
    account: str | None = None,
    amounts: Sequence[NumberColumn] = (),
    time: str | None = None,
    said: str | None = None,
) -> LeftOut:
    """Return a table without the rows of totals inside it.

    A text leaves rows out if the figures prove each row that holds it to be a sum. Others are asked about, or treated
    as somebody `said`: keep, or leave_out.
    """
    rows = list(total_rows(table.sample, account, amounts, time))
    proven = {row.at for row in rows if row.is_proven}
    doubtful = [row for row in rows if not holders(table.sample.frame, row) <= proven]
    doubts = () if said or not doubtful else (question(table, doubtful, amounts),)
    if said != "leave_out":
        rows = [row for row in rows if row not in doubtful]
    if not rows:
        return LeftOut(table, doubts=doubts)
    equals: dict[str, list[str]] = {}
    for row in rows:
        if row.text is not None and row.text not in equals.setdefault(row.column, []):
            equals[row.column].append(row.text)
    shown = "; ".join(dict.fromkeys(row.evidence for row in rows[:SHOWN]))
    found = [Finding("skip.equals", equals, shown)] if equals else []
    if any(row.text is None for row in rows):
        found.append(Finding("skip.blank", [account], shown))
    kept = ~left_out(table.sample.frame, equals, account if len(found) > bool(equals) else None)
    if all(row.is_proven for row in rows):
        found += [Finding("control_totals.totals", True, "")] if not all(row.is_parent for row in rows) else []
        found += [Finding("control_totals.parents", account, "")] if any(row.is_parent for row in rows) else []
    sample = SampleTable(name=table.name, frame=table.sample.frame.filter(kept), rows=table.sample.rows.filter(kept))
    return LeftOut(replace(table, sample=sample), Findings(tuple(found)), doubts)


def holders(frame: pl.DataFrame, row: TotalRow) -> set[int]:
    """Return the places of the rows that a key for one row leaves out."""
    texts = frame[row.column].str.strip_chars().fill_null("")
    return set((texts == (row.text or "")).arg_true().to_list())


def question(table: SourceTable, rows: Sequence[TotalRow], amounts: Sequence[NumberColumn]) -> OpenQuestion:
    """Return what to ask about rows that words call totals, with what they hold."""
    at = sorted(set().union(*(holders(table.sample.frame, row) for row in rows)))
    texts = ", ".join(
        dict.fromkeys(f"{row.column} is '{row.text}'" if row.text else f"{row.column} is empty" for row in rows)
    )
    held = exact_figures(table.sample.frame[at], amounts) if amounts else pl.DataFrame()
    sums = ", ".join(written_amount(int(held[name].fill_null(0).sum())) for name in held.columns) or "no amount"
    count = f"{len(at):,} row{'s' if len(at) > 1 else ''}"
    says = f"leave out {count} where {texts}? They hold {sums}; nothing shows that they are sums ({rows[0].evidence})"
    choices = (
        Choice({"totals": "keep"}, f"they are rows like others: {sums} is loaded"),
        Choice({"totals": "leave_out"}, f"they are totals: {sums} is not loaded"),
    )
    return OpenQuestion(table.name, says, choices, max(map(largest, held), default=Decimal(0)))


def left_out(frame: pl.DataFrame, equals: Mapping[str, Sequence[str]], blank: str | None) -> pl.Series:
    """Tell for each row whether the keys leave it out, as a load does."""
    texts = [pl.col(column).str.strip_chars().is_in(list(listed)) for column, listed in equals.items()]
    empty = [pl.col(blank).str.strip_chars().fill_null("") == ""] if blank else []
    return frame.select(pl.any_horizontal(*texts, *empty).fill_null(value=False).alias("out"))["out"]


def total_rows(
    sample: SampleTable, account: str | None, amounts: Sequence[NumberColumn], time: str | None
) -> Iterator[TotalRow]:
    """Yield the rows of totals of a table."""
    named: dict[int, TotalRow] = {}
    for column in sample.frame.columns:
        for at in rows_like(sample.frame[column], TOTAL_WORDS):
            text = sample.frame[column][at].strip()
            named.setdefault(at, TotalRow(at, column, text, f"{at_row(sample.rows[at])} has '{text}' in {column}"))
    if account is None or not amounts:
        yield from named.values()
        return
    figures = exact_figures(sample.frame, amounts)
    words = [name for name in sample.frame.columns if name != account and name not in figures.columns]
    rows = list(rows_by_words(sample, account, words, figures, named))
    yield from rows
    yield from group_rows(sample, account, figures, time, {row.at for row in rows})


def rows_like(column: pl.Series, *words: re.Pattern[str]) -> list[int]:
    """Return the places of the texts that some words are, each distinct text looked at once."""
    texts = column.str.strip_chars()
    fitting = [text for text in texts.unique().drop_nulls() if any(pattern.fullmatch(text) for pattern in words)]
    return texts.is_in(fitting).fill_null(value=False).arg_true().to_list() if fitting else []


def rows_by_words(
    sample: SampleTable, account: str, words: Sequence[str], figures: pl.DataFrame, known: Mapping[int, TotalRow]
) -> Iterator[TotalRow]:
    """Yield `known` rows, those that a total names in their account or beside an empty one, and sums.

    A sum whose account has other rows is told by a text beside it that names a total.
    """
    ids = sample.frame[account].str.strip_chars().fill_null("")
    filled = ids.filter(ids != "")
    are_codes = 2 * filled.str.contains(DIGIT).sum() > len(filled)
    blank = (ids == "").arg_true().to_list()
    maybe = {*known, *blank, *rows_like(ids, TOTAL_OF, RESULT_WORDS)}
    maybe.update(at for name in words for at in rows_like(sample.frame[name], TOTAL_OF))
    proofs = SampleSums(figures)
    nameless: list[TotalRow] = []
    blanks = len(set(blank) - known.keys())
    for at in sorted(maybe):
        if at in known:
            proof = proofs.proof(at)
            proofs.close(at)
            row = known[at]
            yield replace(row, evidence=f"{row.evidence} and is {proof}", is_proven=True) if proof else row
            continue
        one = ids[at]
        beside = [(name, text.strip()) for name in words if (text := sample.frame[name][at]) and text.strip()]
        where = [(account, one)] if one else beside
        several = bool(one) and (ids == one).sum() > 1  # the account has other rows
        total = next((pair for pair in (*where, *(beside if several else ())) if TOTAL_OF.fullmatch(pair[1])), None)
        result = next((pair for pair in where if RESULT_WORDS.fullmatch(pair[1])), None)
        proof = proofs.proof(at)
        if total is not None and total not in where and proof is None:
            total = None  # a text beside an account names a total only of a sum
        said = total or (result if not one or are_codes else None)
        if said is None and proof is None:
            continue
        proofs.close(at)
        place = at_row(sample.rows[at])
        column, text = said or result or (account, one)
        evidence = f"{place} has '{text}' in {column}" if text else f"{place} is without {account}"
        row = TotalRow(at, column, text or None, f"{evidence} and is {proof}" if proof else evidence, bool(proof))
        if text:
            yield row
        else:
            nameless.append(row)
    if nameless and len(nameless) == blanks:
        yield from nameless


class SampleSums:
    """The figures of a sample added up row by row, to prove that a row is the sum of rows above it."""

    def __init__(self, figures: pl.DataFrame) -> None:
        self._rows = figures.cast(pl.Int128)
        added = self._rows.fill_null(0).select(pl.all().cum_sum())
        self._added = [added[name] for name in added.columns]
        self._totals = [0] * added.width  # of the rows of totals above
        self._closed = 0  # rows of totals above
        self._sums = TotalSums(FEWEST)

    def proof(self, at: int) -> TotalProof | None:
        """Return of which rows above a row is the sum; None if of none, or if a figure of it is missing."""
        row = self._rows.row(at)
        if any(value is None for value in row) or not any(row):
            return None
        return self._sums.proof(row, self._above(at), at - self._closed)

    def close(self, at: int) -> None:
        """Count a row as one of totals: the next block begins behind it."""
        row = self._rows.row(at)
        self._sums.close(row, self._above(at), at - self._closed)
        self._totals = [total + (value or 0) for total, value in zip(self._totals, row, strict=True)]
        self._closed += 1

    def _above(self, at: int) -> list[int]:
        """Return the sums of the rows above a row that are no totals."""
        above = [series[at - 1] if at else 0 for series in self._added]
        return [one - total for one, total in zip(above, self._totals, strict=True)]


def group_rows(
    sample: SampleTable, account: str, figures: pl.DataFrame, time: str | None, known: set[int]
) -> Iterator[TotalRow]:
    """Yield the rows of each account that is the sum of those below it by their ids, and of those that nearly are.

    An account above one other alone is a sum only where others of the table are sums of several.
    """
    ids = sample.frame[account].str.strip_chars().fill_null("")
    groups = headings_among({one for at, one in enumerate(ids) if one and at not in known})
    if not groups:
        return
    times = sample.frame[time] if time else pl.Series([""] * len(ids), dtype=pl.String)
    rows = figures.with_columns(ids.alias("account id"), times.alias("time id"), pl.int_range(pl.len()).alias("at"))
    rows = rows.filter(~pl.col("at").is_in(list(known)))
    proven: list[str] = []
    for fewest in (FEWEST, 1):
        for group in (group for group in groups if group not in proven and (proven or fewest == FEWEST)):
            if is_sum_of_below(rows, figures.columns, group, proven, fewest):
                proven.append(group)
    for group in groups if 2 * len(proven) > len(groups) else proven:
        at = ids.eq(group).arg_true().to_list()
        says = f"has '{group}' in {account} and is "
        says += "the sum of the accounts below it" if group in proven else "no sum of those below it, as others are"
        for row in at:
            evidence = f"{at_row(sample.rows[row])} {says}"
            yield TotalRow(row, account, group, evidence, is_proven=group in proven, is_parent=True)


def is_sum_of_below(rows: pl.DataFrame, amounts: Sequence[str], group: str, proven: Sequence[str], fewest: int) -> bool:
    """Tell whether an account is the sum of those below it at each time, in every amount; sums among them aside."""
    one = pl.col("account id")
    children = rows.filter(below(one, group) & ~one.is_in(proven))
    own = rows.filter(one == group)
    measures = [pl.col(name).cast(pl.Int128).sum() for name in amounts]
    sums = [part.group_by("time id").agg(measures).sort("time id") for part in (own, children)]
    complete = not any(own[name].null_count() + children[name].null_count() for name in amounts)
    some = any(bool((own[name] != 0).any()) for name in amounts)
    return complete and some and children["account id"].n_unique() >= fewest and sums[0].equals(sums[1])
