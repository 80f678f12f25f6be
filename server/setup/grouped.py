"""Grouped reports: tables whose account stands once above its postings, made long, with their totals as controls."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl
from msgspec import Struct
from msgspec.structs import replace

from server.files.days import FORMATS, in_english
from server.files.findings import Finding, Findings, SampleTable, at_row
from server.files.notation import AMOUNT_WORDS, NumberColumn, number_column, words_of
from server.files.number_looks import has_places
from server.files.sampling import SourceTable
from server.files.written_days import days_of
from server.setup.figures import exact_figures, largest, volume, written_amount
from server.setup.nominations import CLOSING_WORDS
from server.setup.questions import Choice, OpenQuestion
from server.setup.totals import TOTAL_OF, SampleSums

FEWEST: Final = 2  # headings that make a grouped report
INTO: Final = "account"  # the column of the headings, if no other is called so
OPENING: Final = re.compile(
    r"(opening|beginning|starting|previous|prior) balance|balance (b/?f|brought)|saldovortrag|anfangs(bestand|saldo)|"
    r"solde (initial|d'ouverture)|saldo (inicial|anterior|iniziale)",
    re.IGNORECASE,
)


class GroupedRows(Struct, frozen=True, kw_only=True):
    """The rows of a grouped report by what they are: true where a row is one."""

    heads: str  # the column of the headings
    time: str
    headings: pl.Series
    postings: pl.Series
    totals: pl.Series


class MadeLong(Struct, frozen=True):
    """A table of postings with their accounts, and the questions about totals that are none."""

    table: SourceTable
    doubts: tuple[OpenQuestion, ...] = ()


def without_groups(table: SourceTable, said: str | None = None) -> MadeLong:
    """Return a grouped report as a table of postings; another table as it is. `said` is what to do with totals."""
    if table.path is None or table.is_joined or not table.is_whole:
        return MadeLong(table)
    frame = table.sample.frame
    amounts = amounts_of(table)
    moved = [one for one in amounts if not CLOSING_WORDS.search(words_of(one.name))] or amounts
    found = next(grouped_rows(table, moved), None) if moved else None
    if found is None:
        return MadeLong(table)
    into = INTO if INTO not in map(str.lower, frame.columns) else found.heads
    texts = frame[found.heads].str.strip_chars()
    named = texts.set(~found.headings, None)
    others = texts.filter(~found.headings & ~found.postings & texts.is_not_null()).unique(maintain_order=True).to_list()
    evidence = f"{found.heads} is filled in rows without {found.time} alone, as '{named.drop_nulls()[0]}'"
    keys = [Finding("fill_down", {"column": found.heads, "into": into, "blank": [one.name for one in moved]}, evidence)]
    if found.heads != found.time:
        keys.append(Finding("skip.blank", [found.time], ""))
        held = set(texts.filter(amountless(frame, moved)))
        others = [text for text in others if text in held]
    if others:
        keys.append(Finding("skip.equals", {found.heads: others}, ""))
    wrong = list(unproven(table, found, moved))
    openings = begin_with(frame[found.heads], OPENING) & ~amountless(frame, moved)
    if found.totals.any() and not wrong and not openings.any():
        keys.append(Finding("control_totals.totals", True, ""))
    rows = frame.with_columns(named.forward_fill().alias(into)).filter(found.postings)
    sample = SampleTable(name=table.name, frame=rows, rows=table.sample.rows.filter(found.postings))
    findings = Findings((*table.findings.decided, *keys), table.findings.ambiguities)
    doubts = () if said or not wrong else (question(table, wrong, found, moved),)
    return MadeLong(replace(table, sample=sample, findings=findings, heading=into), doubts)


def amounts_of(table: SourceTable) -> list[NumberColumn]:
    """Return the columns of amounts: of numbers, those that have decimal places or a name of amounts, if some do."""
    found = [number for name in table.columns if (number := number_column(table.sample, name)) is not None]
    placed = [one for one in found if any(has_places(text) for text, _ in one.numbers)]
    return [one for one in found if one in placed or AMOUNT_WORDS.search(one.name)] or found


def grouped_rows(table: SourceTable, amounts: Sequence[NumberColumn]) -> Iterator[GroupedRows]:
    """Yield the ways in which a table is a grouped report: its column of headings, and that of its days."""
    frame = table.sample.frame
    nothing = amountless(frame, amounts)
    blank = frame.select(
        pl.all_horizontal(pl.col(one.name).fill_null("").str.strip_chars() == "" for one in amounts).alias("blank")
    )["blank"]
    names = {one.name for one in amounts}
    texts = [name for name in frame.columns if name not in names and frame[name].is_not_null().any()]
    for time in texts:
        dated = days_in(table, time)
        if dated is None:
            continue
        for heads in texts:
            filled = frame[heads].str.strip_chars().fill_null("") != ""
            if (heads == time and dated.sum() == filled.sum()) or (heads != time and bool((filled & dated).any())):
                continue
            headings = filled & ~dated & blank & ~begin_with(frame[heads], OPENING, TOTAL_OF)
            if headings.sum() < FEWEST or not headings.arg_true()[0] < dated.arg_true()[0]:
                continue
            openings = begin_with(frame[heads], OPENING)
            totals = ~dated & ~headings & ~openings & ~nothing
            yield GroupedRows(heads=heads, time=time, headings=headings, postings=dated, totals=totals)


def amountless(frame: pl.DataFrame, amounts: Sequence[NumberColumn]) -> pl.Series:
    """Tell for each row whether it has no amount but 0."""
    figures = exact_figures(frame, amounts)
    return figures.select((pl.sum_horizontal(pl.all().fill_null(0).abs()) == 0).alias("none"))["none"]


def days_in(table: SourceTable, column: str) -> pl.Series | None:
    """Tell for each row whether a column has a day; None if it has none, or days of several forms."""
    texts = table.sample.frame[column].str.strip_chars()
    distinct = texts.drop_nulls().unique()
    days = [text for text in distinct if any(one.days(in_english([text])[0]) for one in FORMATS)]
    if not days or len(days) < FEWEST:
        return None
    dated = texts.is_in(days).fill_null(value=False)
    sample = SampleTable(name=table.name, frame=table.sample.frame.filter(dated), rows=table.sample.rows.filter(dated))
    return dated if days_of(sample, column, is_time=False) is not None else None


def begin_with(texts: pl.Series, *words: re.Pattern[str]) -> pl.Series:
    """Tell for each text whether it begins with some words, such as those of an opening balance or a total."""
    stripped = texts.str.strip_chars()
    named = [text for text in stripped.drop_nulls().unique() if any(pattern.match(text) for pattern in words)]
    return stripped.is_in(named).fill_null(value=False)


def unproven(table: SourceTable, found: GroupedRows, amounts: Sequence[NumberColumn]) -> Iterator[tuple[int, int]]:
    """Yield each row of totals that is no sum of the postings above it, with what it differs by in one column."""
    figures = exact_figures(table.sample.frame, amounts)
    counted = figures.select(pl.when(found.postings | found.totals).then(pl.all()).otherwise(pl.lit(0)))
    proofs = SampleSums(counted)
    start = 0
    for at in found.totals.arg_true():
        if proofs.proof(int(at)) is None:
            block = counted[start : int(at)].select(pl.all().cast(pl.Int128).sum()).row(0)
            row = counted.row(int(at))
            yield int(at), next((one - other for one, other in zip(row, block, strict=True) if one != other), 0)
        proofs.close(int(at))
        start = int(at) + 1


def question(
    table: SourceTable, wrong: Sequence[tuple[int, int]], found: GroupedRows, amounts: Sequence[NumberColumn]
) -> OpenQuestion:
    """Return what to ask about rows of totals that are no sums of their postings."""
    at, differs = wrong[0]
    place = at_row(table.sample.rows[at])
    text = table.sample.frame[found.heads][at] or "a row without a text"
    count = f"{len(wrong):,} rows of totals differ" if len(wrong) > 1 else "1 row of totals differs"
    says = f"{count} from the sum of the rows above, as {place}, '{text}', by {written_amount(differs)}"
    held = exact_figures(table.sample.frame.filter(found.postings), amounts)
    sums = ", ".join(f"{name} {volume(held[name])}" for name in held.columns)
    choices = (Choice({"totals": "leave_out"}, f"the postings count as they stand: {sums}"),)
    return OpenQuestion(table.name, says, choices, max(map(largest, held)))
