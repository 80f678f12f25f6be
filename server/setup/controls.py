"""Controls: the sums that a table holds of itself, as far as they hold in its rows, for loads to keep it to."""

from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl

from server.files.findings import Finding, Findings
from server.files.notation import NumberColumn
from server.setup.column_profiles import ColumnRole
from server.setup.figures import exact_figures
from server.setup.roles import TableProfile

BALANCED, PER = "control_totals.balanced", "control_totals.per"
FEWEST: Final = 4  # rows of which a sum of zero says something


def balance_findings(found: TableProfile, findings: Findings, amounts: Sequence[NumberColumn]) -> Findings:
    """Return that debits and credits of a table are equal, and for each value of which column, if they are."""
    frame, units = found.table.sample.frame, signed_units(found, findings, amounts)
    if units is None or not found.table.is_whole or frame.height < FEWEST or units.null_count():
        return Findings()
    if units.sum() or not (units > 0).any():
        return Findings()
    equal = Finding(BALANCED, True, "they are equal in its rows")
    return Findings((equal, *journals(found, units)))


def signed_units(found: TableProfile, findings: Findings, amounts: Sequence[NumberColumn]) -> pl.Series | None:
    """Return the amounts of a table, debits less credits; None if it has several amounts in a row, or none."""
    rule, figures = findings.value("amount"), exact_figures(found.table.sample.frame, amounts)
    if rule is None:
        return figures.to_series() if figures.width == 1 else None
    if "side" not in rule:
        return figures.select(pl.col(rule["debit"]) - pl.col(rule["credit"])).to_series()
    debits = found.table.sample.frame[rule["side"]].str.strip_chars() == rule["debit"]
    return figures.select(pl.col(rule["column"]) * (debits.cast(pl.Int64) * 2 - 1)).to_series()


def journals(found: TableProfile, units: pl.Series) -> Iterator[Finding]:
    """Yield the column of most values, several of which have more than a row, each of them with a sum of zero."""
    frame, best = found.table.sample.frame.with_columns(units.alias("units of a row")), ("", 1)
    taken = {*found.having(ColumnRole.AMOUNT), *found.having(ColumnRole.DEBIT), *found.having(ColumnRole.CREDIT)}
    for column in (name for name in found.columns if name not in taken):
        sums = frame.group_by(column).agg(pl.col("units of a row").sum(), pl.len().alias("rows"))
        equal = not sums[column].null_count() and not (sums["units of a row"] != 0).any()
        if equal and sums.height > best[1] and (sums["rows"] > 1).all():
            best = column, sums.height
    if best[0]:
        yield Finding(PER, best[0], "")
