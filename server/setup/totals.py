"""Totals: the rows inside a table of facts that sum up others, by their figures where they prove it, else by words."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from server.ingest.findings import Finding, Findings, SampleTable, at_row
from server.ingest.notation import NumberColumn
from server.ingest.sampling import SourceTable
from server.setup.figures import exact_figures

TOTAL_WORDS = re.compile(  # in any column
    r"(grand |sub-?)?totals?( \d+)?:?|(gesamt|end|zwischen)?summe( \d+)?:?|gesamt:?|"
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


def without_totals(
    table: SourceTable, account: str | None = None, amounts: Sequence[NumberColumn] = (), time: str | None = None
) -> tuple[SourceTable, Findings]:
    """Return a table without the rows of totals inside it, and the keys that leave them out of loads."""
    rows = list(total_rows(table.sample, account, amounts, time))
    if not rows:
        return table, Findings()
    equals: dict[str, list[str]] = {}
    for row in rows:
        if row.text is not None and row.text not in equals.setdefault(row.column, []):
            equals[row.column].append(row.text)
    shown = "; ".join(dict.fromkeys(row.evidence for row in rows[:SHOWN]))
    found = [Finding("skip.equals", equals, shown)] if equals else []
    if any(row.text is None for row in rows):
        found.append(Finding("skip.blank", [account], shown))
    kept = ~left_out(table.sample.frame, equals, account if len(found) > bool(equals) else None)
    sample = SampleTable(name=table.name, frame=table.sample.frame.filter(kept), rows=table.sample.rows.filter(kept))
    return replace(table, sample=sample), Findings(tuple(found))


def left_out(frame: pl.DataFrame, equals: Mapping[str, Sequence[str]], blank: str | None) -> pl.Series:
    """Tell for each row whether the keys leave it out, as a load does."""
    texts = [pl.col(column).str.strip_chars().is_in(list(listed)) for column, listed in equals.items()]
    empty = [pl.col(blank).str.strip_chars().fill_null("") == ""] if blank else []
    return frame.select(pl.any_horizontal(*texts, *empty).fill_null(value=False).alias("out"))["out"]


def total_rows(
    sample: SampleTable, account: str | None, amounts: Sequence[NumberColumn], time: str | None
) -> Iterator[TotalRow]:
    """Yield the rows of totals of a table."""
    known: set[int] = set()
    for column in sample.frame.columns:
        for at in rows_like(sample.frame[column], TOTAL_WORDS):
            if at not in known:
                known.add(at)
                text = sample.frame[column][at].strip()
                yield TotalRow(at, column, text, f"{at_row(sample.rows[at])} has '{text}' in {column}")
    if account is None or not amounts:
        return
    figures = exact_figures(sample.frame, amounts)
    words = [name for name in sample.frame.columns if name != account and name not in figures.columns]
    named = list(rows_by_words(sample, account, words, figures, known))
    yield from named
    yield from group_rows(sample, account, figures, time, known | {row.at for row in named})


def rows_like(column: pl.Series, *words: re.Pattern[str]) -> list[int]:
    """Return the places of the texts that some words are, each distinct text looked at once."""
    texts = column.str.strip_chars()
    fitting = [text for text in texts.unique().drop_nulls() if any(pattern.fullmatch(text) for pattern in words)]
    return texts.is_in(fitting).fill_null(value=False).arg_true().to_list() if fitting else []


def rows_by_words(
    sample: SampleTable, account: str, words: Sequence[str], figures: pl.DataFrame, known: set[int]
) -> Iterator[TotalRow]:
    """Yield rows that a total names in their account or beside an empty one, and sums with an empty account."""
    ids = sample.frame[account].str.strip_chars().fill_null("")
    filled = ids.filter(ids != "")
    are_codes = 2 * filled.str.contains(r"\d").sum() > len(filled)
    blank = (ids == "").arg_true().to_list()
    maybe = {*known, *blank, *rows_like(ids, TOTAL_OF, RESULT_WORDS)}
    maybe.update(at for name in words for at in rows_like(sample.frame[name], TOTAL_OF))
    proofs = Sums(figures)
    nameless: list[TotalRow] = []
    blanks = len(set(blank) - known)
    for at in sorted(maybe):
        if at in known:
            proofs.close(at)
            continue
        one = ids[at]
        beside = [(name, text.strip()) for name in words if (text := sample.frame[name][at]) and text.strip()]
        where = [(account, one)] if one else beside
        total = next((pair for pair in where if TOTAL_OF.fullmatch(pair[1])), None)
        result = next((pair for pair in where if RESULT_WORDS.fullmatch(pair[1])), None)
        proof = proofs.proof(at)
        said = total or (result if not one or are_codes else None)
        if said is None and proof is None:
            continue
        proofs.close(at)
        place = at_row(sample.rows[at])
        column, text = said or result or (account, one)
        evidence = f"{place} has '{text}' in {column}" if text else f"{place} is without {account}"
        row = TotalRow(at, column, text or None, f"{evidence} and is {proof}" if proof else evidence)
        if text:
            yield row
        else:
            nameless.append(row)
    if nameless and len(nameless) == blanks:
        yield from nameless


class Sums:
    """The figures of a table added up row by row, to prove that a row is the sum of rows above it."""

    def __init__(self, figures: pl.DataFrame) -> None:
        self._rows = figures.cast(pl.Int128)
        added = self._rows.fill_null(0).select(pl.all().cum_sum())
        self._added = [added[name] for name in added.columns]
        self._totals = [0] * added.width  # of the rows of totals above
        self._start = 0  # of the block below the last of them
        self._closed = 0  # rows of totals above

    def proof(self, at: int) -> str | None:
        """Return of which rows above a row is the sum, in words; None if of none."""
        row = self._rows.row(at)
        if any(value is None for value in row) or not any(row):
            return None
        above = [series[at - 1] if at else 0 for series in self._added]
        before = [series[self._start - 1] if self._start else 0 for series in self._added]
        block = [one - other for one, other in zip(above, before, strict=True)]
        if at - self._start >= FEWEST and list(row) == block:
            return f"the sum of the {at - self._start} rows above"
        rest = [one - total for one, total in zip(above, self._totals, strict=True)]
        if at - self._closed >= FEWEST and list(row) == rest:
            return f"the sum of the {at - self._closed} rows above"
        return None

    def close(self, at: int) -> None:
        """Count a row as one of totals: the next block begins behind it."""
        row = self._rows.row(at)
        self._totals = [total + (value or 0) for total, value in zip(self._totals, row, strict=True)]
        self._start, self._closed = at + 1, self._closed + 1


def group_rows(
    sample: SampleTable, account: str, figures: pl.DataFrame, time: str | None, known: set[int]
) -> Iterator[TotalRow]:
    """Yield the rows of each account that is the sum of the accounts whose ids begin with its id."""
    ids = sample.frame[account].str.strip_chars().fill_null("")
    accounts = sorted({one for at, one in enumerate(ids) if one and at not in known})
    groups = [one for one, later in pairwise(accounts) if later.startswith(one)]
    if not groups:
        return
    times = sample.frame[time] if time else pl.Series([""] * len(ids), dtype=pl.String)
    rows = figures.with_columns(ids.alias("account id"), times.alias("time id"), pl.int_range(pl.len()).alias("at"))
    rows = rows.filter(~pl.col("at").is_in(list(known)))
    measures = [pl.col(name).cast(pl.Int128).sum() for name in figures.columns]
    proven: list[str] = []
    for group in sorted(groups, key=len, reverse=True):
        below = rows.filter(
            pl.col("account id").str.starts_with(group)
            & (pl.col("account id") != group)
            & ~pl.col("account id").is_in(proven)
        )
        own = rows.filter(pl.col("account id") == group)
        sums = [part.group_by("time id").agg(measures).sort("time id") for part in (own, below)]
        complete = not any(own[name].null_count() + below[name].null_count() for name in figures.columns)
        many = below["account id"].n_unique() >= FEWEST
        some = any(bool((own[name] != 0).any()) for name in figures.columns)
        if complete and many and some and sums[0].equals(sums[1]):
            proven.append(group)
            says = f"has '{group}' in {account} and is the sum of the accounts that begin with it"
            yield from (TotalRow(at, account, group, f"{at_row(sample.rows[at])} {says}") for at in own["at"])
