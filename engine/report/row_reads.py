"""Row reads: the rows that a query shows, or counts by columns, and what all rows that it keeps add up to."""

from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

import polars as pl
from msgspec import Struct

from engine.books.reader import FactRead
from engine.model.errors import BadArguments
from engine.model.exact import Exact
from engine.model.fact_store import SumTooLarge
from engine.model.stopping import Stop
from engine.plans.row_amounts import WIDE, RowAmounts, column_in_frame, columns_read
from engine.plans.row_plan import RowPart, RowPlan
from engine.queries.row_choices import RowOrder, count_column
from engine.queries.rows import shown_columns

MAX_ROWS = 2_000_000  # that one call searches, orders or counts
NO_ROWS = RowPart(None, ())
ROWS, KEPT, KEY, OF, POSITIVE = "= rows", "= kept", "= key", "= of {}", "= positive {}"  # columns of frames alone
KEYS = pl.col(KEY).drop_nulls()


class ColumnSums(Struct, frozen=True, kw_only=True):
    """The sum of a column over all rows that a query keeps, and the sums of what is positive and negative of it."""

    sum: Exact
    positive: Exact
    negative: Exact


class RowTotals(Struct, frozen=True):
    """How many rows a query keeps, and the sums of their amounts by column."""

    rows: int
    sums: Mapping[str, ColumnSums]


class RowsFound(Struct, frozen=True, eq=False):
    """The rows of a plan up to a limit, or groups of them; `totals` is None where nobody asked for them, or may."""

    frame: pl.DataFrame
    is_truncated: bool = False
    totals: RowTotals | None = None
    groups: int | None = None  # how many there are, shown or not
    denominators: Mapping[str, int] = {}  # of the sums of groups, by column


def find_rows(plan: RowPlan, stop: Stop) -> RowsFound:
    """Return the rows or groups that a plan shows, and the totals of all rows that it keeps if it shows not all.

    Raises BadArguments where more rows than one call reads would be searched, ordered or counted.
    """
    amounts, limit = RowAmounts(plan), plan.query.limit
    choices = amounts.choices
    parts = list(plan.parts(plan.last_leaves(plan.reader.collect(plan.last_reads, stop)))) or [NO_ROWS]
    if choices.order is None and not choices.count_by and not amounts.filters_frames:
        frame = first_rows(plan, parts, lambda part: plan.read(part, limit + 1), stop)
        is_truncated = frame.height > limit
        add_up = add_groups if amounts.adds_groups(parts) else read_totals
        return RowsFound(frame.head(limit), is_truncated, add_up(amounts, parts, stop) if is_truncated else None)
    totals = read_totals(amounts, parts, stop)
    if totals is None:
        refuse_too_many(plan)
    if choices.count_by:
        groups = read_groups(amounts, parts, stop)
        return RowsFound(groups.head(limit), groups.height > limit, totals, groups.height, amounts.denominators)
    order = choices.order
    frame = first_kept(amounts, parts, stop) if order is None else first_ordered(amounts, order, parts, stop)
    return RowsFound(frame.head(limit), frame.height > limit, totals)


def refuse_too_many(plan: RowPlan) -> NoReturn:
    """Raise BadArguments for rows that are too many, or whose weights are too long, to read them all."""
    raise BadArguments(
        f"More than {MAX_ROWS:,} rows would be read, or their weights have too many digits. Name a shorter range, "
        "filter a dimension, or leave order_by, amount, text and count_by out.",
        field="period_start",
        got=plan.query.period.label if plan.query.period else None,
    )


def first_rows(
    plan: RowPlan, parts: Sequence[RowPart], read_of: Callable[[RowPart], FactRead], stop: Stop
) -> pl.DataFrame:
    """Return the rows of parts, one part after the other until there are more than the limit."""
    frames: list[pl.DataFrame] = []
    count = 0
    for part in parts:
        frames += plan.reader.collect([read_of(part)], stop)  # one by one: the first often holds enough
        count += frames[-1].height
        if count > plan.query.limit:
            break
    return pl.concat(frames)


def first_kept(amounts: RowAmounts, parts: Sequence[RowPart], stop: Stop) -> pl.DataFrame:
    """Return the first rows that a query keeps, at least one more than the limit if there are more."""
    plan, most = amounts.plan, amounts.plan.query.limit + 1

    def read_of(part: RowPart) -> FactRead:
        is_kept = amounts.kept(part)
        return plan.read(part).pipe(lambda frame: frame.filter(is_kept).head(most))

    return first_rows(plan, parts, read_of, stop)


def first_ordered(amounts: RowAmounts, order: RowOrder, parts: Sequence[RowPart], stop: Stop) -> pl.DataFrame:
    """Return the first rows in an order, one more than the limit if there are more; equal ones stay as they are.

    The last key to show is found first, so that only rows up to it are put in order.
    """
    plan, most = amounts.plan, amounts.plan.query.limit + 1
    first = pl.Expr.bottom_k if order.ascending else pl.Expr.top_k

    def scan_of(part: RowPart) -> FactRead:
        key, is_kept = amounts.key(order.column, part), amounts.kept(part)
        read = plan.read(part, MAX_ROWS, columns_read([key, is_kept]))
        return read.pipe(lambda frame: frame.filter(is_kept).select(key.alias(KEY)).select(first(KEYS, most)))

    keys = pl.concat(plan.reader.collect([scan_of(part) for part in parts], stop)).get_column(KEY)
    first_keys = keys.sort(descending=not order.ascending).head(most)
    last = pl.lit(first_keys[-1], dtype=keys.dtype) if len(first_keys) == most else None

    def read_of(part: RowPart) -> FactRead:
        key = amounts.key(order.column, part)
        is_reached = pl.lit(value=True) if last is None else key <= last if order.ascending else key >= last
        is_shown = amounts.kept(part) & is_reached
        return plan.read(part).pipe(
            lambda frame: frame.filter(is_shown).with_columns(key.alias(KEY)).pipe(put_in_order)
        )

    def put_in_order(frame: pl.LazyFrame) -> pl.LazyFrame:
        return frame.sort(KEY, descending=not order.ascending, nulls_last=True, maintain_order=True).head(most)

    frames = plan.reader.collect([read_of(part) for part in parts], stop)
    return put_in_order(pl.concat(frames).lazy()).drop(KEY).collect()


def add_groups(amounts: RowAmounts, parts: Sequence[RowPart], stop: Stop) -> RowTotals | None:
    """Return the totals of all rows of parts from sums that the store makes; None if 128 bits do not hold them."""
    names = list(amounts.denominators)
    reads = [[amounts.count(part) for part in parts]]
    reads += [[read for part in parts for read in amounts.sums(name, part)] for name in names]
    try:
        counts, *each = amounts.plan.reader.collect_each(reads, stop)
    except SumTooLarge:
        return None
    rows = sum(int(frame.item()) for frame in counts)
    if not amounts.holds(rows):
        return None
    sums = {}
    for name, frames in zip(names, each, strict=True):
        unit = amounts.denominators[name]
        positive, negative = (
            Exact(sum(int(frame[sign].item()) for frame in frames), unit) for sign in ("positive", "negative")
        )
        sums[name] = ColumnSums(sum=positive + negative, positive=positive, negative=negative)
    return RowTotals(rows, sums)


def read_totals(amounts: RowAmounts, parts: Sequence[RowPart], stop: Stop) -> RowTotals | None:
    """Return the totals of the rows that a query keeps; None if they are too many, or their weights too long."""
    if not amounts.holds(MAX_ROWS):
        return None
    names = list(amounts.denominators)
    amount_columns = [pl.col(OF.format(name)).filter(pl.col(KEPT)) for name in names]
    sums = [
        (column.filter(column > 0) if is_positive else column).sum().alias(form.format(name))
        for name, column in zip(names, amount_columns, strict=True)
        for form, is_positive in ((OF, False), (POSITIVE, True))
    ]

    def read_of(part: RowPart) -> FactRead:
        is_kept, row_amounts = amounts.kept(part), amounts.of_rows(part)
        columns = [is_kept.alias(KEPT), *(amount.alias(OF.format(name)) for name, amount in row_amounts.items())]
        read = amounts.plan.read(part, MAX_ROWS + 1, columns_read(columns))
        return read.pipe(
            lambda rows: rows.with_columns(columns).select(pl.len().alias(ROWS), pl.col(KEPT).sum(), *sums)
        )

    frames = amounts.plan.reader.collect([read_of(part) for part in parts], stop)
    counts = [frame.row(0, named=True) for frame in frames]
    if sum(count[ROWS] for count in counts) > MAX_ROWS:
        return None

    def sums_of(name: str) -> ColumnSums:
        whole, positive = (sum(count[form.format(name)] for count in counts) for form in (OF, POSITIVE))
        unit = amounts.denominators[name]
        return ColumnSums(
            sum=Exact(whole, unit), positive=Exact(positive, unit), negative=Exact(whole - positive, unit)
        )

    return RowTotals(sum(count[KEPT] for count in counts), {name: sums_of(name) for name in names})


def read_groups(amounts: RowAmounts, parts: Sequence[RowPart], stop: Stop) -> pl.DataFrame:
    """Return the values of the columns that a query counts by, with their rows and sums, in its order.

    Without one, those of most rows come first; equal ones ascend.
    """
    plan, choices = amounts.plan, amounts.choices
    count = count_column(shown_columns(plan.query.domain))
    columns = list(dict.fromkeys(column_in_frame(name, plan) for name in choices.count_by))
    names = list(amounts.denominators)

    def read_of(part: RowPart) -> FactRead:
        is_kept, sum_columns = amounts.kept(part), amounts.of_rows(part)
        amount_columns = [amount.alias(OF.format(name)) for name, amount in sum_columns.items()]
        read = plan.read(part, MAX_ROWS, columns_read([is_kept, *amount_columns]) | {*columns})
        sums = [pl.col(OF.format(name)).sum() for name in names]
        return read.pipe(
            lambda rows: (
                rows.filter(is_kept)
                .with_columns(amount_columns)
                .group_by(columns)
                .agg(pl.len().cast(WIDE).alias(ROWS), *sums)
            )
        )

    frames = plan.reader.collect([read_of(part) for part in parts], stop)
    groups = pl.concat(frames).group_by(columns).agg(pl.all().sum())
    order = choices.order or RowOrder(count, ascending=False)
    sum_columns = {count: pl.col(ROWS), **{name: pl.col(OF.format(name)) for name in names}}
    keys = [sum_columns.get(order.column, amounts.rank(order.column)), *map(amounts.rank, choices.count_by)]
    descending = [not order.ascending, *(False for _ in choices.count_by)]
    return groups.sort(keys, descending=descending, nulls_last=True).select(
        *columns, *(column.alias(name) for name, column in sum_columns.items())
    )
