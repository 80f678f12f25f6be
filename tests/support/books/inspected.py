"""A ledger whose rows are inspected: an account tree that subtracts, an axis, texts, undated rows."""

from pathlib import Path
from typing import Any

from engine.door import Door, requested_filters
from engine.model.requests import RowsRequest
from engine.present.answers.rows import rows_answer
from engine.queries.rows import row_query
from engine.report.inspection import inspect
from tests.support.answers.reader import filled_in
from tests.support.books.small import small_books

CAP = 10_000
UNCUT = 10**9


def rows_of(books: Door, **asked: Any) -> dict[str, Any]:
    """Return the result of inspect_rows."""
    filters = requested_filters(asked.pop("filters", {}))
    request = RowsRequest(**{"source_key": "gl", "scenario_id": "actual", "filters": filters, **asked})
    return filled_in(rows_answer(inspect(row_query(request, books.reader, CAP), books.reader), UNCUT))


def ledger(folder: Path, facts: str, **parts: Any) -> Door:
    """A ledger by account and entity, with an account tree that subtracts, an axis and a text."""
    tree = "Net - 1\nSales Net 1\nReturns Net -1\nDiscounts Net -1\nHeads Net 0"
    parts.setdefault("tables", {"tree": f"node parent weight\n{tree}"})
    return small_books(
        folder,
        facts={
            "gl": f"date scenario account entity journal amount text\n{facts}",
            "people": "date scenario entity heads\n2021-01 actual E1 4\n2021-02 actual E1 5\n2021-02 actual E2 2",
        },
        domains={
            "gl": """
            time: {column: date, missing: keep}
            dimensions: {account: account, entity: entity}
            axes: {journal: journal}
            sort: [account]
            measures: {amount: {places: 2}}
            inspect_enabled: true
            inspect_columns: [date, account, entity, journal, amount, text]
            metrics:
              net_sales: {measure: amount, where: {tree: [Net]}}
              total: {measure: amount}
              negated: {measure: amount, where: {account: [Returns]}, sign: negate}
              half: {formula: net_sales / 2}
              adjusted: {formula: net_sales - negated * 0.5}
              share: {formula: negated / net_sales, format: percent}
              closing: {measure: amount, over_time: closing}
              opening: {measure: amount, over_time: opening}
              known: {measure: amount, over_time: {last_known: always}}
              to_date: {measure: amount, over_time: {to_date: books}}
              monthly: {measure: amount, over_time: {average: {of: month}}}
              postings: {over_members: count}
              accounts: {over_members: {count_distinct: account}}
              least: {measure: amount, over_members: min}
              mean: {measure: amount, over_members: average}
            """,
            "people": """
            time: {column: date, grain: month}
            dimensions: {entity: entity}
            measures: {heads: {type: number, places: 0}}
            inspect_enabled: true
            metrics:
              headcount: {measure: heads, over_time: closing}
              sales_per_head: {formula: gl.net_sales / headcount}
            """,
        },
        dimensions="""
            account: {kind: leaf}
            entity: {kind: leaf}
            month: {kind: leaf, grain: month}
            tree: {kind: ragged, leaf_dimension: account, nodes: live.tree}
        """,
        statements={
            "pnl": """
              - {header: Sales}
              - {rollup: {metric: total, dimension: tree, node: Net}}
              - {metric: adjusted}
              - {metric: share}
              - {formula: {key: twice, label: Twice, is: net_sales * 2}}
              - {metric: closing}
              - {metric: known}
              - {metric: headcount}
              - {metric: sales_per_head}
            """
        },
        scenarios="""
            actual: {alias: Actuals, kind: actual, closed_through: 2021-01}
            budget:
              alias: Budget
              kind: budget
              variants: {low: {label: Low, adjust: [{where: {account: [Sales]}, factor: 0.5}]}}
        """,
        **parts,
    )


FACTS = """
    2020-01-20 actual Sales     E1 J1 70 a
    2020-12-31 actual Sales     E1 J1 10.01 b
    2021-01-05 actual Sales     E1 J1 100 c
    2021-01-06 actual Returns   E1 J2 5 d
    2021-01-06 actual Discounts E2 J2 3 e
    2021-02-07 actual Heads     E2 J3 12 f
    2021-02-08 actual Sales     E2 -  40.5 g
    2021-02-09 actual -         E1 J4 7 h
    -          actual Sales     E1 J5 1000 i
    2021-01-05 budget Sales     E1 J1 90 j
    2021-02-05 budget Returns   E1 J1 4 k
    2020-02-05 budget Sales     E2 J1 8 l
"""
