"""Books for callers who take all they can with figures that do not add up: many customers by day, balances that last.

Sales of two years by customer and day are counted by customer; balances of 60,000 customers are the last known ones.
One profile denies 10,000 customers in each scenario.
"""

from collections.abc import Iterator
from datetime import date, timedelta
from random import Random

from benches.books import ROOT, BenchBooks
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance

SEED = 20261127
CUSTOMERS, SOLD, OWED = 100_000, 300_000, 60_000
DENIED = 10_000
FIRST, DAYS = date(2024, 10, 1), 730
SALES = """
time: {column: date}
dimensions: {customer: customer}
measures: {amount: {places: 2}}
metrics:
  revenue: {measure: amount}
  buyers: {over_members: {count_distinct: customer}}
  smallest: {measure: amount, over_members: min}
"""
BALANCES = """
time: {column: date}
dimensions: {customer: customer}
measures: {balance: {places: 2}}
metrics:
  owed: {measure: balance, over_time: {last_known: always}}
"""
DIMENSIONS = "customer: {kind: leaf}\ndate: {kind: leaf, grain: date}\nperiod: {kind: leaf, grain: month}\n"
PROFILES = """
all_of_it: {scenarios: {'*': {}}}
most_of_it: {scenarios: {'*': {dimensions: {customer: {deny: [DENIED]}}}}}
assign:
  - {claim: {groups: finance}, profile: all_of_it}
  - {claim: {groups: denied}, profile: most_of_it}
"""
SCENARIOS = "".join(f"s{number:02}: {{alias: S{number:02}, kind: forecast}}\n" for number in range(30))


def crowd_books() -> BenchBooks:
    """Return these books, written and loaded once."""
    home = ROOT / "out" / "benches" / "crowd"
    books = BenchBooks(home / "instance", home / "state")
    if not (books.state / "store" / "CURRENT").exists():
        print(f"writing and loading {CUSTOMERS:,} customers …")
        random = Random(SEED)
        denied = ", ".join(f"K{at:06d}" for at in range(0, CUSTOMERS, CUSTOMERS // DENIED))
        write_instance(
            books.instance,
            facts={
                "sales": table("date scenario customer amount", sales(random)),
                "balances": table("date scenario customer balance", balances(random)),
            },
            domains={"sales": SALES, "balances": BALANCES},
            dimensions=DIMENSIONS,
            scenarios=f"actual: {{alias: Actuals, kind: actual}}\n{SCENARIOS}",
            statements={"pnl": "  - {metric: revenue}\n"},
            profiles=PROFILES.replace("DENIED", denied),
        )
        load_instance(books.instance, books.state)
    return books


def table(header: str, rows: Iterator[str]) -> str:
    """Return rows as the text of a small table."""
    return "\n".join((header, *rows))


def day(random: Random) -> date:
    """Draw a day."""
    return FIRST + timedelta(random.randrange(DAYS))


def sales(random: Random) -> Iterator[str]:
    """Yield sales: one to each customer, and others."""
    for at in range(SOLD):
        customer = at if at < CUSTOMERS else random.randrange(CUSTOMERS)
        yield f"{day(random)} actual K{customer:06d} {random.randint(1, 99_999) / 100:.2f}"


def balances(random: Random) -> Iterator[str]:
    """Yield the balances of some customers, each a few times."""
    for customer in range(OWED):
        for _ in range(4):
            yield f"{day(random)} actual K{customer:06d} {random.randint(1, 99_999) / 100:.2f}"
