"""Sales: who bought which product, with amounts that add up to the revenue of the general ledger."""

from dataclasses import dataclass
from itertools import groupby
from random import Random

import polars as pl

from generator.company import Company
from generator.figures import MonthFigures
from generator.ledger import EUR
from generator.noise import drawn, drawn_low, noise
from generator.split import cumulated, part_of, spread_rows

LIST_PRICES = {2024: 1000, 2025: 1030, 2026: 1056}  # permille of the price list of 2024
COLUMNS = ("date", "scenario", "product", "customer", "entity", "amount", "units")


@dataclass(frozen=True, slots=True)
class SalesBook:
    """What is the same every month: one cell for each line of each entity, its products and its customers."""

    cells: pl.DataFrame  # entity, line, first product, products, first customer, customers, rows
    products: pl.DataFrame  # id, price
    customers: pl.Series  # ids by entity, as the cells point at them
    seed: int

    def month(self, figures: MonthFigures, first_row: int) -> pl.DataFrame:
        """Return the sales of a month; its rows are numbered from `first_row`."""
        targets = [
            -figures.sections[entity, f"REV_{line}"] for entity, line in self.cells.select("entity", "line").rows()
        ]
        cells = self.cells.with_columns(
            target=pl.Series(targets, dtype=pl.Int64), first=pl.col("rows").cum_sum() - pl.col("rows")
        )
        cell = cells.select(pl.int_range(pl.len(), dtype=pl.UInt32).repeat_by("rows").explode()).to_series()
        days = pl.Series(figures.month.working_days)
        bits, weight, upto = pl.col("bits"), pl.col("weight"), pl.col("upto")
        product = pl.col("product") + drawn_low(bits, 1, pl.col("products"))
        price = pl.lit(self.products["price"]).gather(product) * LIST_PRICES[figures.month.year] // 1000
        price = price * (940 + drawn(bits, 0, 120)) // 1000  # a rebate or a surcharge, up to 6 %
        return (
            cells[cell]
            .lazy()
            .with_row_index("row")
            .with_columns(bits=noise(pl.col("row").cast(pl.UInt64) + first_row, self.seed))
            .with_columns(weight=100 + drawn_low(bits, 0, 3900))
            .with_columns(upto=cumulated(weight, pl.col("first")))
            .with_columns(whole=upto.gather(pl.col("first") + pl.col("rows") - 1))
            .with_columns(cents=part_of(pl.col("target"), weight, upto, pl.col("whole")))
            .with_columns(thousandths=pl.col("cents") * 1000 // price)
            .with_columns(sold=cumulated(pl.col("thousandths"), pl.col("first")))
            .with_columns(
                date=pl.lit(days).gather(drawn(bits, 2, len(days))),
                scenario=pl.lit(figures.scenario.key),
                product=pl.lit(self.products["id"]).gather(product),
                customer=pl.lit(self.customers).gather(pl.col("customer") + drawn_low(bits, 3, pl.col("customers"))),
                amount=EUR,
                units=pl.col("sold") // 1000 - (pl.col("sold") - pl.col("thousandths")) // 1000,
            )
            .select(COLUMNS)
            .collect(engine="in-memory")
        )


def sales_book(company: Company, rows: int, seed: int) -> SalesBook:
    """Return the sales book of a company with so many rows a month."""
    products = list(company.products)
    Random(f"{seed} bestsellers").shuffle(products)
    products.sort(key=lambda made: made.line)  # within a line, the first sell best
    places = {line: [i for i, _ in found] for line, found in groupby(enumerate(products), lambda pair: pair[1].line)}
    customers: list[str] = []
    cells: list[tuple[str, str, int, int, int, int, float]] = []
    for entity in company.entities:
        buyers = [
            customer.id
            for market in dict.fromkeys(entity.markets)
            for customer in company.customers
            if customer.region == market
            for _ in range(entity.markets.count(market))
        ]
        Random(f"{seed} {entity.id} customers").shuffle(buyers)
        for line in company.lines if buyers else ():
            own = places[line.name]
            weight = entity.sales * entity.mix[line.key]
            cells.append((entity.id, line.key, own[0], len(own), len(customers), len(buyers), weight))
        customers += buyers
    schema = {"entity": pl.String, "line": pl.String, "product": pl.Int64, "products": pl.Int64}
    schema |= {"customer": pl.Int64, "customers": pl.Int64, "weight": pl.Float64}
    frame = pl.DataFrame(cells, schema=schema, orient="row")
    return SalesBook(
        frame.with_columns(rows=pl.Series(spread_rows(rows, frame["weight"].to_list()), dtype=pl.Int64)),
        pl.DataFrame({"id": [made.id for made in products], "price": [made.price for made in products]}),
        pl.Series(customers),
        seed,
    )
