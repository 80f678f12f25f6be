"""Balances: amounts whose names say that they hold at a day, which add up over time only if somebody says so."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

import polars as pl

from server.files.dates import in_format
from server.files.findings import Findings
from server.files.notation import NumberColumn, words_of
from server.setup.answers import CLOSING, FileAnswers
from server.setup.column_profiles import ColumnRole
from server.setup.figures import PLACES, exact_figures, written_amount
from server.setup.nominations import STOCK_WORDS
from server.setup.questions import Choice, OpenQuestion
from server.setup.roles import TableProfile
from server.setup.words import named

SHEET_WORDS: Final = named(  # of files, sheets and titles whose amounts are balances
    "balance sheet|balance sheets|balances|bilanz|bilanzen|bestände|bilan|balans|balansrapport|tase|statement of "
    "financial position|stato patrimoniale|balance general|balance de situación|balanço"
)
MONTH: Final = len("2026-01")


def is_stock(found: TableProfile, column: str | None) -> bool:
    """Tell whether the name of a column of amounts, else that of its table or a title, speaks of balances."""
    if column is not None and STOCK_WORDS.search(words_of(column)):
        return True
    file, _, sheet = found.name.partition(" [")
    texts = [sheet, file, *(text for _, text in found.table.titles)]
    return any(SHEET_WORDS.search(text.replace("_", " ")) for text in texts)


def over_time(
    found: TableProfile, findings: Findings, amounts: Sequence[NumberColumn], said: FileAnswers
) -> Iterator[OpenQuestion]:
    """Yield the question whether amounts are closing balances or add up, where both differ."""
    if said.over_time is not None:
        return
    if found.across is not None:
        stocks = [one for one in amounts if is_stock(found, None)]
    elif found.first(ColumnRole.DEBIT):
        stocks = []  # debits less credits are movements
    else:
        stocks = [one for one in amounts if is_stock(found, one.name)]
    frame = closes(found, findings, stocks) if stocks else None
    if frame is None:
        return
    first, last = str(frame["period"].min()), str(frame["period"].max())
    if first == last:
        return
    ends = frame.group_by("member").agg(
        pl.col("units").sum().alias("sum"), pl.col("units").filter(pl.col("period") == last).sum().alias("end")
    )
    top = ends.sort((pl.col("sum") - pl.col("end")).abs(), "member").row(-1, named=True)
    where = f" of {name}" if (name := str(top["member"])) else ""
    columns = "the months" if found.across else ", ".join(one.name for one in stocks)
    yield OpenQuestion(
        found.name,
        f"does {columns} hold closing balances, or movements that add up from {first} to {last}?",
        (
            Choice({"over_time": CLOSING}, f"closing balances: that{where} is {written_amount(top['end'])} at the end"),
            Choice({"over_time": "sum"}, f"movements: those{where} add up to {written_amount(top['sum'])}"),
        ),
        Decimal(abs(top["sum"] - top["end"])).scaleb(-PLACES),
    )


def closes(found: TableProfile, findings: Findings, amounts: Sequence[NumberColumn]) -> pl.DataFrame | None:
    """Return the amounts of a table by member and period; None if its periods are in no column."""
    frame = found.table.sample.frame
    member = found.first(ColumnRole.ACCOUNT) or found.first(ColumnRole.DIMENSION)
    texts = frame[member].fill_null("") if member else pl.Series([""] * frame.height, dtype=pl.String)
    held = exact_figures(frame, amounts).cast(pl.Int128).fill_null(0)
    if found.across is not None:
        names = [one.name for one in amounts]
        order = {name: f"{at:02} {name}" for at, name in enumerate(names)}
        long = held.rename(order).with_columns(texts.alias("member")).unpivot(index="member", variable_name="period")
        return long.rename({"value": "units"}).with_columns(pl.col("period"))
    periods = row_periods(found, findings)
    if periods is None:
        return None
    return pl.DataFrame({"member": texts, "period": periods, "units": held.sum_horizontal()}).drop_nulls("period")


def row_periods(found: TableProfile, findings: Findings) -> pl.Series | None:
    """Return the month, quarter or year of each row; None if no column says it."""
    frame = found.table.sample.frame
    year, month = found.first(ColumnRole.YEAR), found.first(ColumnRole.MONTH)
    if (column := found.first(ColumnRole.TIME)) is not None:
        texts = frame[column].str.strip_chars()
        format_ = findings.value("dates.format")
        if not format_:
            return texts.str.head(MONTH)
        distinct = texts.drop_nulls().unique()
        read = in_format(distinct, format_, tuple(findings.value("dates.months") or ())).str.head(MONTH)
        return texts.replace_strict(distinct, read, default=None, return_dtype=pl.String)
    if year and month:
        return frame.select(pl.concat_str(pl.col(year), pl.col(month).str.zfill(2), separator="-").alias("p"))["p"]
    return frame[year] if year else None
