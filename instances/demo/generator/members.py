"""The small tables: members of every dimension, nodes of every tree, and the people."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

import polars as pl

from generator.chart import BALANCE_SHEET, PNL, ChartNode, sections
from generator.company import Company
from generator.figures import WAGES, MonthFigures

NODE_COLUMNS = ("node", "parent", "name", "weight", "leaf")
Row = tuple[str | None, ...]


def table(columns: Sequence[str], rows: Iterable[Row]) -> pl.DataFrame:
    """Return rows of text as a table."""
    return pl.DataFrame(list(rows), schema=dict.fromkeys(columns, pl.String), orient="row")


def small_tables(
    company: Company, chart: Mapping[str, tuple[ChartNode, ...]], figures: Mapping[str, list[MonthFigures]]
) -> Mapping[str, pl.DataFrame]:
    """Return every small table by name."""
    posted = [account for tree in chart.values() for section in sections(tree) for account in section.accounts]
    accounts = [(account.id, account.name, account.class_) for account in sorted(posted, key=lambda found: found.id)]
    return {
        "account": table(("id", "name", "class"), accounts),
        "pnl_nodes": table(NODE_COLUMNS, account_nodes(chart[PNL])),
        "balance_nodes": table(NODE_COLUMNS, account_nodes(chart[BALANCE_SHEET])),
        "entity": table(("id", "name"), ((entity.id, entity.name) for entity in company.entities)),
        "organisation_nodes": table(NODE_COLUMNS, written_nodes(company.trees["organisation"])),
        "share_nodes": table(NODE_COLUMNS, written_nodes(company.trees["group_share"])),
        "cost_centre": table(
            ("id", "name", "function"), ((centre.id, centre.name, centre.function) for centre in company.centres)
        ),
        "product": table(("id", "name", "line"), ((made.id, made.name, made.line) for made in company.products)),
        "customer": table(
            ("id", "name", "region"), ((buyer.id, buyer.name, buyer.region) for buyer in company.customers)
        ),
        "people": people(company, figures),
    }


def account_nodes(nodes: Sequence[ChartNode]) -> Iterable[Row]:
    """Yield the nodes of a tree of accounts; accounts are named by the account table."""
    for node in nodes:
        yield node.node, node.under, node.name, str(node.weight), None
        for account in node.section.accounts if node.section else ():
            yield account.id, node.node, None, None, None


def written_nodes(nodes: Sequence[Mapping[str, str]]) -> Iterable[Row]:
    """Yield nodes as the company's file has them."""
    return (tuple(node.get(column) for column in NODE_COLUMNS) for node in nodes)


def people(company: Company, figures: Mapping[str, list[MonthFigures]]) -> pl.DataFrame:
    """Return posts and wages of every cost centre and month."""
    rows = (
        (
            month.month.code,
            scenario,
            centre.id,
            centre.entity,
            hundredths(month.staff[centre.id]),
            hundredths(month.personnel[centre.id, WAGES]),
        )
        for scenario, months in figures.items()
        for month in months
        for centre in company.centres
    )
    return table(("month", "scenario", "cost_centre", "entity", "fte", "payroll"), rows)


def hundredths(number: int) -> str:
    """Return a number of hundredths as decimal text."""
    return str(Decimal(number) / 100)
