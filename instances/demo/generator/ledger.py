"""The general ledger: the postings of a month, row by row, and the balances at its end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

import polars as pl

from generator.chart import Section
from generator.closing import Balances
from generator.company import Company
from generator.figures import MonthFigures
from generator.groups import AmountAccounts
from generator.noise import drawn, drawn_low, noise
from generator.split import cumulated, part_of, spread

VOUCHERS = {  # class of account -> journal, text, and whether it comes at the end of the month
    "Revenue": ("SALES", "Customer invoice", False),
    "Cost of sales": ("GOODS", "Goods issue", False),
    "Personnel": ("PAYROLL", "Payroll run", True),
    "Other operating expenses": ("PURCHASES", "Vendor invoice", False),
    "Depreciation": ("ASSETS", "Depreciation run", True),
    "Financial result": ("BANK", "Bank statement", True),
    "Income taxes": ("CLOSING", "Tax accrual", True),
    "Statistical": ("ORDERS", "Order confirmed", False),
}
PLANNING, CLOSING, CREDIT = "PLANNING", ("CLOSING", "Balance at month end"), "Credit note"
TRADING, CREDITED = {"Revenue", "Cost of sales"}, "Revenue"  # classes of new postings each month, of credit notes
CELLS = {
    "account": pl.String,
    "entity": pl.String,
    "journal": pl.String,
    "text": pl.String,
    "late": pl.Boolean,
    "pool": pl.Int64,
    "pool_size": pl.Int64,
    "trading": pl.Boolean,
    "credited": pl.Boolean,
    "rows": pl.Int64,
}
COLUMNS = ("date", "scenario", "journal", "account", "cost_centre", "entity", "amount", "text")
EUR = pl.col("cents").cast(pl.Decimal(18, 2)) * pl.lit(Decimal("0.01"))  # exact: whole hundredths of a whole number


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionAccounts:
    """The accounts that hold one section of an entity's balance sheet, with their weights."""

    entity: str
    section: Section
    accounts: tuple[str, ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Ledger:
    """What is the same every month: one cell for each account of each group, and who it is posted on."""

    cells: pl.DataFrame
    groups: Sequence[AmountAccounts]
    centres: pl.Series  # ids by (entity, function), as the cells point at them
    held: Sequence[SectionAccounts]
    seed: int

    def month(self, figures: MonthFigures, closing: Mapping[str, Balances], first_row: int, rows: int) -> pl.DataFrame:
        """Return the ledger of a month; its rows are numbered from `first_row`."""
        balances = self.closing(figures, closing)
        return pl.concat([self.postings(figures, first_row, rows - balances.height), balances])

    def postings(self, figures: MonthFigures, first_row: int, rows: int) -> pl.DataFrame:
        """Return the postings of a month: every cell's amount in as many rows as it has; the last has what is over.

        What a cost centre regularly spends it spends every month, in every scenario: that follows from the row's place
        in the month. Invoices follow from the row's number in the books.
        """
        over = rows - self.cells["rows"].sum()
        cells = self.cells.with_columns(
            target=pl.Series(self.targets(figures), dtype=pl.Int64),
            rows=pl.col("rows") + pl.Series([0] * (self.cells.height - 1) + [over]),
        ).with_columns(first=pl.col("rows").cum_sum() - pl.col("rows"))
        cell = cells.select(pl.int_range(pl.len(), dtype=pl.UInt32).repeat_by("rows").explode()).to_series()
        days = pl.Series(figures.month.working_days)
        new, regular, row, weight = pl.col("new"), pl.col("regular"), pl.col("row"), pl.col("weight")
        day = pl.when("late").then(len(days) - 1 - drawn(new, 1, 3)).otherwise(drawn(new, 1, len(days)))
        is_sixth = (row.cast(pl.Int64) - pl.col("first")) % 6 == 5  # the others outweigh it
        as_ever = (100 + drawn_low(regular, 0, 3900)) * (90 + drawn(new, 0, 20)) // 100
        return (
            cells[cell]
            .lazy()
            .with_row_index("row")
            .with_columns(
                regular=noise(row.cast(pl.UInt64), self.seed), new=noise(row.cast(pl.UInt64) + first_row, self.seed + 1)
            )
            .with_columns(credited=pl.col("credited") & is_sixth & (drawn(new, 3, 4) == 0))
            .with_columns(
                weight=pl.when("credited")
                .then(-60)
                .when("trading")
                .then(100 + drawn_low(new, 0, 3900))
                .otherwise(as_ever)
            )
            .with_columns(upto=cumulated(weight, pl.col("first")))
            .with_columns(whole=pl.col("upto").gather(pl.col("first") + pl.col("rows") - 1))
            .with_columns(
                cents=part_of(pl.col("target"), weight, pl.col("upto"), pl.col("whole")),
                date=pl.lit(days).gather(day),
                scenario=pl.lit(figures.scenario.key),
                cost_centre=pl.lit(self.centres).gather(pl.col("pool") + drawn(regular, 2, pl.col("pool_size"))),
                text=pl.when("credited").then(pl.lit(CREDIT)).otherwise("text"),
            )
            .with_columns(**planned(figures), amount=EUR)
            .select(COLUMNS)
            .collect(engine="in-memory")
        )

    def targets(self, figures: MonthFigures) -> list[int]:
        """Return the amount of every cell, in cents."""
        return [
            cents
            for group in self.groups
            for cents in spread(
                figures.personnel[group.centre, group.section.node]
                if group.centre
                else figures.sections[group.entity, group.section.node],
                group.weights,
            )
        ]

    def closing(self, figures: MonthFigures, closing: Mapping[str, Balances]) -> pl.DataFrame:
        """Return the balances at a month's end, of accounts without a cost centre."""
        rows = [
            (account, held.entity, cents)
            for held in self.held
            for account, cents in zip(
                held.accounts, spread(closing[held.entity][held.section.node], held.weights), strict=True
            )
        ]
        schema = {"account": pl.String, "entity": pl.String, "cents": pl.Int64}
        journal, text = CLOSING
        return (
            pl.DataFrame(rows, schema=schema, orient="row")
            .with_columns(
                date=pl.lit(figures.month.last_day),
                scenario=pl.lit(figures.scenario.key),
                cost_centre=pl.lit(None, pl.String),
                journal=pl.lit(journal),
                text=pl.lit(text),
            )
            .with_columns(**planned(figures), amount=EUR)
            .select(COLUMNS)
        )


def planned(figures: MonthFigures) -> dict[str, pl.Expr]:
    """Return the journal and text of postings that are planned and no vouchers."""
    text = figures.scenario.text
    return {"journal": pl.lit(PLANNING), "text": pl.lit(f"{text} {figures.month.year}")} if text else {}


def ledger_of(company: Company, groups: Sequence[AmountAccounts], held: Sequence[SectionAccounts], seed: int) -> Ledger:
    """Return the ledger of a company whose groups and balances are known."""
    pools: dict[tuple[str, str | None], tuple[int, int]] = {}
    centres: list[str] = []
    cells = []
    for group in groups:
        wanted = (group.entity, group.centre or group.section.posts_on)
        if wanted not in pools:
            own = [centre for centre in company.centres if centre.entity == group.entity]
            fitting = [centre.id for centre in own if wanted[1] in (centre.id, centre.function)]
            members = fitting or [centre.id for centre in own]
            pools[wanted] = (len(centres), len(members))
            centres += members
        kind = (group.section.class_ in TRADING, group.section.class_ == CREDITED)
        same = (*VOUCHERS[group.section.class_], *pools[wanted], *kind)
        cells += [
            (account, group.entity, *same, rows) for account, rows in zip(group.accounts, group.rows, strict=True)
        ]
    return Ledger(pl.DataFrame(cells, schema=CELLS, orient="row"), groups, pl.Series(centres), held, seed)
