"""Exchange rates, and amounts converted at them: exactly, at the rate of the very day or period."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
from msgspec import Struct

from engine.facts.manifest import Manifest, pin_current
from engine.facts.writer import ids_of
from engine.model.calendar.calendar import Calendar
from engine.model.calendar.periods import Grain, Span
from engine.model.catalogue import Catalogue, Domain
from engine.model.errors import BadPeriod
from server.feeds.feeds import Conversion, Rounding
from server.files.columns import (
    INT64,
    ISO_DAY,
    NUMBER,
    parse_amounts,
    parse_days,
    to_text,
)
from server.files.rejects import VALIDATE, LoadFailed
from server.ingest.mapper import ExtractMapper
from server.ingest.rounding import RoundingDifference, rate_units, round_products


class LiveTables:
    """The tables of members, nodes and rates as a load sees them: its own, else the published ones."""

    def __init__(self, root: Path, manifest: Manifest) -> None:
        self._root = root
        self._manifest = manifest
        self._tables: dict[str, pl.DataFrame] = {}  # brought by this load, or read

    def bring(self, name: str, rows: pl.DataFrame) -> None:
        """Let a table of this load stand in place of the published one."""
        self._tables[name] = rows

    def rows(self, name: str) -> pl.DataFrame | None:
        """Return a table, None where there is no such table."""
        stored = self._manifest.tables.get(name)
        if name not in self._tables and stored is not None:
            self._tables[name] = pl.read_ipc(self._root / stored.file)
        return self._tables.get(name)

    def known(self, name: str, column: str) -> pl.Series | None:
        """Return a column of a table, None where there is no such table."""
        rows = self.rows(name)
        return None if rows is None else rows[column]

    def ids(self, dimension: str, members: str | None) -> pl.Series:
        """Return the ids of a leaf dimension, the null member first, with those of its table of members."""
        coded = ids_of(self._root, self._manifest.codes.get(dimension))
        known = self.known(members, "id") if members else None
        return coded if known is None else pl.concat([coded, known.rename("id")]).unique(maintain_order=True)


@contextmanager
def open_tables(root: Path) -> Iterator[LiveTables]:
    """Hold the published tables open."""
    pin = pin_current(root)
    try:
        yield LiveTables(root, pin.manifest)
    finally:
        pin.drop()


# Exchange rates and exact conversion at the rate of the day or period.


CURRENCY, DATE, KIND, RATE = "currency", "date", "kind", "rate"  # columns of a live table of rates
FIRST, LAST = "first", "last"  # columns of a stored one instead of DATE
FACTOR, WRITTEN = "factor", "written"
MOST_PLACES = 12  # that a measure can be declared with
UNIT = r"^\+?0*1(\.0*)?$"  # a rate of 1


class DayRanges(Struct, frozen=True):
    """The first and last day of each day or period code in a column, and the reason if a row has none."""

    first: pl.Series
    last: pl.Series
    reasons: pl.Series


def parse_day_ranges(column: pl.Series, calendar: Calendar) -> DayRanges:
    """Return the first and last day of each day or period code."""
    parsed = parse_days(column, Grain.DATE, calendar)
    written = column.cast(pl.String) if column.dtype.is_temporal() else to_text(column)
    unread = written.filter(parsed.values.is_null()).drop_nulls().unique().to_list()
    spans = {code: span for code in unread if (span := days_of(code, calendar))}
    firsts, lasts = ({code: getattr(span, end) for code, span in spans.items()} for end in (FIRST, LAST))
    frame = pl.DataFrame({"written": written, "day": parsed.values, "reason": parsed.reasons}).with_columns(
        pl.coalesce("day", pl.col("written").replace_strict(firsts, default=None, return_dtype=pl.Date)).alias(FIRST),
        pl.coalesce("day", pl.col("written").replace_strict(lasts, default=None, return_dtype=pl.Date)).alias(LAST),
        (pl.col("written").str.contains(ISO_DAY) | pl.col("written").is_null()).alias("said"),
    )
    reason = pl.when("said").then("reason").otherwise(pl.lit("is no day (YYYY-MM-DD) and no period code"))
    reasons = frame.select(pl.when(pl.col(FIRST).is_null()).then(reason).alias("reasons"))["reasons"]
    return DayRanges(frame[FIRST], frame[LAST], reasons)


def days_of(code: str, calendar: Calendar) -> Span | None:
    """Return the days of a period code, None where it is none."""
    try:
        return calendar.parse(code).span
    except BadPeriod:
        return None


def shape_rates(shaping: ExtractMapper, catalogue: Catalogue) -> pl.DataFrame:
    """Return the rates of an extract: what one of a currency is worth, and the first and last day it holds for."""
    currency, kind = shaping.required(CURRENCY), shaping.ids(KIND, optional=True)
    dated, rate = shaping.days(DATE), shaping.numbers(RATE)
    held = parse_day_ranges(dated, catalogue.calendar)
    shaping.rejects.where(held.reasons.is_not_null(), DATE, dated, held.reasons)
    frame = pl.DataFrame({CURRENCY: currency, KIND: kind, FIRST: held.first, LAST: held.last, RATE: rate})
    own = pl.col(CURRENCY).eq(catalogue.currency).fill_null(value=False)
    no_rate = frame.select(
        pl.when(pl.col(RATE).is_null())
        .then(pl.lit("is missing"))
        .when(~pl.col(RATE).str.contains(NUMBER))
        .then(pl.lit("is no number"))
        .when(pl.col(RATE).str.starts_with("-") | ~pl.col(RATE).str.contains("[1-9]"))
        .then(pl.lit("is not above zero"))
        .when(own & ~pl.col(RATE).str.contains(UNIT))
        .then(pl.lit(f"is no rate of the books' own currency, which is 1 for 1 {catalogue.currency}"))
        .alias("reason")
    )["reason"]
    shaping.rejects.where(no_rate.is_not_null(), RATE, rate, no_rate)
    usable = no_rate.is_null() & held.reasons.is_null() & currency.is_not_null()
    overlaps = find_overlaps(frame, usable)
    shaping.rejects.where(overlaps.is_not_null(), DATE, dated, overlaps)
    return shaping.finish({name: frame[name] for name in frame.columns})


def find_overlaps(rates: pl.DataFrame, usable: pl.Series) -> pl.Series:
    """Return for each rate why it cannot stand beside those before it, null where it can.

    2021-01 and 2021-01-15 of one currency and kind would leave open which holds on that day.
    """
    same = (CURRENCY, KIND)
    judged = (
        rates.with_row_index("place")
        .filter(usable)
        .sort(FIRST, "place")
        .with_columns(
            twice=~pl.struct(FIRST, LAST).is_first_distinct().over(same),
            reached=pl.col(LAST).cum_max().shift(1).over(same),
        )
        .select(
            "place",
            pl.when("twice")
            .then(pl.lit("stands twice"))
            .when(pl.col(FIRST) <= pl.col("reached"))
            .then(pl.lit("covers days of another rate of the same currency and kind"))
            .alias("reason"),
        )
    )
    return rates.with_row_index("place").join(judged, on="place", how="left", maintain_order="left")["reason"]


def convert(
    shaping: ExtractMapper,
    conversion: Conversion,
    domain: Domain,
    catalogue: Catalogue,
    tables: LiveTables,
    units: pl.Series,
    difference: RoundingDifference,
) -> pl.Series:
    """Return amounts in the currency of the books, rejecting rows without a rate.

    `units` are integers of the last place of the measure that is converted; what comes back are integers of the last
    place of the other, rounded only where the conversion says so; `difference` learns what rounding does.
    """
    rates = conversion_rates(tables, conversion)
    asked = requested_rates(shaping, conversion, domain, catalogue)
    if conversion.rounding is None:
        rates = with_factors(rates, conversion, domain)
    else:
        places = most_places(rates)
        rates = rates.with_columns(rate_units(rates[RATE], places).alias(FACTOR))
    frame = match_rates(asked, rates).with_columns(units=units, own=pl.col(CURRENCY) == catalogue.currency)
    missing = frame.select(~pl.col("own") & pl.col(FIRST).is_not_null() & pl.col(RATE).is_null()).to_series()
    kind = f"{conversion.kind} " if conversion.kind else ""
    reasons = frame.select(pl.format(f"has no {kind}rate for {{}} in {conversion.rates}", WRITTEN)).to_series()
    shaping.rejects.where(missing, conversion.currency, frame[CURRENCY], reasons)
    measure, into = domain.measures[conversion.measure], domain.measures[conversion.into]
    if conversion.rounding is None:
        value = exact_products(frame, into.places - measure.places)
    else:
        value = rounded_products(frame, domain, conversion, conversion.rounding, places, difference)
    large = value.is_null() & frame["units"].is_not_null() & (frame["own"] | frame[RATE].is_not_null())
    reason = f"is too large for the {into.places} decimal places of {into.key}"
    shaping.rejects.where(large.fill_null(value=False), measure.column, shaping.column(measure.column), reason)
    return value


def exact_products(frame: pl.DataFrame, places: int) -> pl.Series:
    """Return amounts times factors; amounts of the own currency gain `places`. Null where a product does not fit."""
    frame = frame.with_columns(pl.when("own").then(pl.lit(10**places)).otherwise(FACTOR).alias(FACTOR))
    most = pl.lit(INT64 - 1) // pl.col(FACTOR)
    fits = pl.col(FACTOR).is_not_null() & pl.col("units").is_between(-most, most)
    return frame.select(value=pl.when(fits).then(pl.col("units") * pl.col(FACTOR)))["value"]


def rounded_products(
    frame: pl.DataFrame,
    domain: Domain,
    conversion: Conversion,
    rounding: Rounding,
    places: int,
    difference: RoundingDifference,
) -> pl.Series:
    """Return amounts times rates of some places, rounded; those of the own currency are rates of 1."""
    measure, into = domain.measures[conversion.measure], domain.measures[conversion.into]
    finest = max(places, rounding.places - measure.places)  # so that there is nothing to round up to
    one, scale = pl.lit(10**finest, dtype=pl.Int128), pl.lit(10 ** (finest - places), dtype=pl.Int128)
    factors = frame.select(pl.when("own").then(one).otherwise(pl.col(FACTOR) * scale).alias(FACTOR))[FACTOR]
    found = round_products(frame["units"], factors, measure.places + finest, rounding)
    difference.add(rounding, found["difference"].drop_nulls(), measure.places + finest)
    return exact_products(
        pl.DataFrame({"units": found["value"], "own": True, FACTOR: 1}), into.places - rounding.places
    )


def conversion_rates(tables: LiveTables, conversion: Conversion) -> pl.DataFrame:
    """Return the rates of a conversion; LoadFailed where there are none."""
    rates = tables.rows(conversion.rates)
    if rates is None:
        raise LoadFailed(VALIDATE, f"{conversion.rates} is not loaded yet: load the feed that fills it first")
    kinds = rates[KIND].unique().sort().to_list()
    rates = rates.filter(pl.col(KIND).eq_missing(pl.lit(conversion.kind, dtype=pl.String)))
    if kinds and rates.is_empty():
        asked = f"rates of kind '{conversion.kind}'" if conversion.kind else "rates without a kind"
        there = ", ".join(kind or "none" for kind in kinds)
        raise LoadFailed(VALIDATE, f"{conversion.rates} has no {asked}; its kinds are {there}")
    return rates


PLACES = pl.col(RATE).str.extract(r"\.(\d*)$", 1).fill_null("").str.strip_chars_end("0").str.len_chars()


def most_places(rates: pl.DataFrame) -> int:
    """Return the most decimal places of some rates."""
    return int(rates.select(PLACES.max().fill_null(0)).item())


def with_factors(rates: pl.DataFrame, conversion: Conversion, domain: Domain) -> pl.DataFrame:
    """Return rates with what a unit of the measure is in units of the other.

    LoadFailed where the other measure lacks the places to hold amount times rate.
    """
    measure, into = domain.measures[conversion.measure], domain.measures[conversion.into]
    places = most_places(rates)
    needed = measure.places + places
    if needed > into.places:
        mend = f"say places: {needed}, and load every feed of {domain.table} again"
        if needed > MOST_PLACES:
            most = min(into.places, 6) if into.places > measure.places else into.places
            mend = f"{MOST_PLACES} are the most; convert: {{round: {{places: {most}, rule: half_even}}}} rounds them"
        finest = rates.top_k(1, by=PLACES).rows(named=True)[0]
        finer = f"{measure.key} has {measure.places} and the rates of {conversion.rates} up to {places}"
        such = f"{finest[RATE]} for {finest[CURRENCY]}"
        raise LoadFailed(VALIDATE, f"{into.key} holds {into.places} decimal places; {finer} ({such}): {mend}")
    return rates.with_columns(parse_amounts(rates[RATE], into.places - measure.places).values.alias(FACTOR))


def requested_rates(
    shaping: ExtractMapper, conversion: Conversion, domain: Domain, catalogue: Catalogue
) -> pl.DataFrame:
    """Return the currency of each row and the days its rate must hold for, rejecting rows that lack one."""
    currency, written = shaping.required(conversion.currency), shaping.days(conversion.on)
    held = parse_day_ranges(written, catalogue.calendar)
    lacking = (currency != catalogue.currency) & held.reasons.is_not_null()
    if conversion.on == domain.time_column:  # read as such already; the days it lacks may be fine there, not here
        lacking &= to_text(written).is_null() & pl.Series([domain.keeps_undated])
    shaping.rejects.where(lacking, conversion.on, written, held.reasons)
    return pl.DataFrame({CURRENCY: currency, FIRST: held.first, LAST: held.last, WRITTEN: written.cast(pl.String)})


def match_rates(asked: pl.DataFrame, rates: pl.DataFrame) -> pl.DataFrame:
    """Return each row with the one rate that holds for all of its days, null where there is none."""
    keys = (CURRENCY, FIRST, LAST)
    began = rates.select(CURRENCY, FIRST, RATE, FACTOR, until=LAST).sort(FIRST)
    found = (
        asked.select(keys)
        .unique()
        .drop_nulls()
        .sort(FIRST)
        .join_asof(began, on=FIRST, by=CURRENCY, strategy="backward", check_sortedness=False)
        .filter(pl.col(LAST) <= pl.col("until"))
    )
    return asked.join(found, on=keys, how="left", maintain_order="left")
