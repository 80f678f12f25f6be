"""The books: everything put together and written, small tables as CSV, facts as a Parquet file for each month."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from generator.chart import BALANCE_SHEET, PNL, ChartNode, Section, read_chart, sections
from generator.closing import all_balances
from generator.company import Company, read_company
from generator.figures import all_figures
from generator.groups import claims, groups
from generator.ledger import Ledger, SectionAccounts, ledger_of
from generator.members import small_tables
from generator.months import SCENARIOS
from generator.sales import sales_book
from generator.split import spread

MONTHS = sum(len(scenario.months) for scenario in SCENARIOS)
LEDGER_ROWS = 5  # for each row of sales
TRADING, BALANCES = 70, 7  # percent of the ledger's rows: the forty accounts of sales and their cost, and balances
OF_SELLERS = {"INVENTORIES", "RECEIVABLES"}
GL, SALES = "gl", "sales"


class TooSmall(ValueError):
    """Fewer rows than there are amounts to post."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCounts:
    """How many rows of facts were written."""

    ledger: int
    sales: int


def write_books(rows: int, seed: int, into: Path) -> RowCounts:
    """Write the books of a seed with so many rows in the general ledger; TooSmall where that is too few."""
    company, chart = read_company(seed), read_chart()
    ledger = sized_ledger(company, chart, rows, seed)
    sales = sales_book(company, rows // LEDGER_ROWS // MONTHS, seed)
    figures = all_figures(company, tuple(sections(chart[PNL])), SCENARIOS, seed)
    closings = all_balances(company, figures)
    for folder in (GL, SALES):
        (into / folder).mkdir(parents=True, exist_ok=True)
    for name, table in small_tables(company, chart, figures).items():
        table.write_csv(into / f"{name}.csv")
    months = [pair for key in figures for pair in zip(figures[key], closings[key], strict=True)]
    posted = sold = 0
    for upto, (month, closing) in zip(whole_parts(rows, MONTHS), months, strict=True):
        file = f"{month.scenario.key}_{month.month.code}.parquet"
        postings = ledger.month(month, closing, posted, upto - posted)
        postings.write_parquet(into / GL / file)
        invoices = sales.month(month, sold)
        invoices.write_parquet(into / SALES / file)
        posted, sold = posted + postings.height, sold + invoices.height
    return RowCounts(ledger=posted, sales=sold)


def whole_parts(total: int, parts: int) -> list[int]:
    """Return how far each of some equal parts of a whole number reaches."""
    return [total * part // parts for part in range(1, parts + 1)]


def sized_ledger(company: Company, chart: Mapping[str, Sequence[ChartNode]], rows: int, seed: int) -> Ledger:
    """Return the ledger whose months have so many rows together."""
    posted, balanced = list(sections(chart[PNL])), list(sections(chart[BALANCE_SHEET]))
    accounts = sum(len(section.accounts) for section in balanced)
    wanted = rows * BALANCES // 100 // MONTHS // len(company.entities)
    held = list(held_of(company, balanced, min(accounts, max(len(balanced), wanted)), seed))
    closing = sum(len(part.accounts) for part in held)
    least = MONTHS * (closing + sum(1 for _ in claims(company, posted)))
    if rows < least:
        raise TooSmall(f"takes at least {least:,}: one for every amount of every month")
    found = groups(company, posted, rows // MONTHS - closing, rows // MONTHS * TRADING // 100, seed)
    return ledger_of(company, found, held, seed)


def held_of(company: Company, balanced: Sequence[Section], accounts: int, seed: int) -> Iterator[SectionAccounts]:
    """Yield the balance accounts of each entity: about so many, the heaviest of each section."""
    further = spread(accounts - len(balanced), [len(section.accounts) - 1 for section in balanced])
    for entity in company.entities:
        rng = Random(f"{seed} {entity.id} balances")
        for section, more in zip(balanced, further, strict=True):
            if entity.sales or section.node not in OF_SELLERS:
                held = section.accounts[: 1 + more]
                yield SectionAccounts(
                    entity=entity.id,
                    section=section,
                    accounts=tuple(account.id for account in held),
                    weights=tuple(rng.uniform(0.6, 1.4) / (place + 1) for place in range(len(held))),
                )
