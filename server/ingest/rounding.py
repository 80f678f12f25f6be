"""Rounding of converted amounts: amount × rate in integers of 128 bits, rounded once, and the difference it makes."""

from dataclasses import dataclass, field
from decimal import Context, Decimal

import polars as pl

from server.feeds.feeds import Rounding, RoundingRule
from server.files.columns import INT64

FIELD = 2**127 - 1  # the largest integer of 128 bits
DIGITS = 38  # that always fit into it
WIDE = Context(prec=80)  # more digits than any difference has


@dataclass(slots=True)
class RoundingDifference:
    """What rounding did to the amounts of one load: how many changed, and the sum of rounded less exact amounts."""

    rounding: Rounding | None = None
    changed: int = 0
    total: Decimal = field(default_factory=Decimal)

    def add(self, rounding: Rounding, differences: pl.Series, places: int) -> None:
        """Add the differences of a batch, integers of a decimal place."""
        self.rounding = rounding
        self.changed += int((differences != 0).sum())
        self.total = WIDE.add(self.total, Decimal(int(differences.sum())).scaleb(-places, WIDE))

    def __str__(self) -> str:
        """Return the difference in words; "" if nothing was rounded."""
        if self.rounding is None:
            return ""
        return (
            f"{self.changed:,} converted amounts were rounded to {self.rounding.places} places "
            f"({self.rounding.rule.value}), which adds {self.total.normalize(WIDE):f} in all"
        )


def rate_units(rates: pl.Series, places: int) -> pl.Series:
    """Return decimal rates as integers of a decimal place, in 128 bits; null for one of more than DIGITS digits."""
    whole = rates.str.strip_prefix("+").str.extract(r"^(\d*)", 1)
    decimals = rates.str.extract(r"\.(\d*)$", 1).fill_null("").str.strip_chars_end("0").str.pad_end(places, "0")
    digits = (whole + decimals).str.strip_chars_start("0")
    return digits.set(digits.str.len_chars() > DIGITS, None).cast(pl.Int128)


def round_products(units: pl.Series, factors: pl.Series, places: int, rounding: Rounding) -> pl.DataFrame:
    """Return amounts times rates, rounded.

    `places` are those of amount and rate together, and at least those of `rounding`. Columns: `value` (Int64, integers
    of the last place of `rounding`; null where a product does not fit), `difference` (Int128, rounded less exact, in
    `places`).
    """
    divisor = pl.lit(10 ** (places - rounding.places), dtype=pl.Int128)
    largest = pl.lit(FIELD, dtype=pl.Int128) // pl.col("factor")
    amount = pl.col("units").cast(pl.Int128)
    fits = amount.is_between(pl.lit(0, dtype=pl.Int128) - largest, largest)
    quotient, rest = pl.col("product") // divisor, pl.col("product") % divisor
    odd = pl.col("quotient") % 2 == 1
    up = {
        RoundingRule.HALF_EVEN: (pl.col("rest") * 2 > divisor) | ((pl.col("rest") * 2 == divisor) & odd),
        RoundingRule.HALF_UP: pl.when(pl.col("product") < 0)
        .then(pl.col("rest") * 2 > divisor)
        .otherwise(pl.col("rest") * 2 >= divisor),
    }[rounding.rule]
    return (
        pl.DataFrame({"units": units, "factor": factors})
        .with_columns(product=pl.when(fits).then(amount * pl.col("factor")))
        .with_columns(quotient=quotient, rest=rest)
        .with_columns(rounded=pl.col("quotient") + up.cast(pl.Int128))
        .select(
            value=pl.when(pl.col("rounded").is_between(1 - INT64, INT64 - 1)).then(pl.col("rounded")).cast(pl.Int64),
            difference=pl.col("rounded") * divisor - pl.col("product"),
        )
    )
