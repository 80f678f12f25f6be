"""Merging: the small partitions of one feed, scenario and month become one file, whose rows know their loads.

Partitions are of one size if their rows differ less than FANOUT times. When FANOUT of a size have gathered, they become
one of a greater size, as the runs of a log-structured merge tree do (O'Neil et al., 1996): a row is written again a few
times only, however many loads follow it. What each load brought stays exact, and a merged partition can be taken apart.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

import polars as pl

from engine.facts.manifest import LOAD, LoadedRows, Partition
from engine.facts.parts import lacking_members, magnitudes

FANOUT_BITS = 3
FANOUT = 2**FANOUT_BITS
SMALL_BITS = 12  # partitions with fewer than 2 ** SMALL_BITS rows are of one size
LARGE_ROWS = 2**18  # of a partition that is not merged any more
MAX_MERGED = 1_000  # partitions that are merged at once: each is a file that is mapped


Key = tuple[object, ...]  # partitions with equal keys may be merged
Merge = Callable[[Sequence[Partition]], Partition]


def size_of(part: Partition) -> int:
    """Return the size of a partition: the number of times that FANOUT smaller ones could have been merged into it."""
    return max(0, part.rows.bit_length() - SMALL_BITS + FANOUT_BITS - 1) // FANOUT_BITS


def is_small(part: Partition) -> bool:
    """Tell whether a partition may be merged: its rows are in a file, all is known of them, and they are few."""
    is_whole = part.file and part.token is None and part.columns and part.unassigned is not None
    return bool(is_whole) and part.rows < LARGE_ROWS and LOAD not in part.columns


def merge_small(
    parts: Sequence[Partition], feed_of: Callable[[Partition], str], merge: Merge, staged: Collection[str] | None
) -> tuple[Partition, ...]:
    """Return partitions after merging those that are small, of one feed, scenario and month, alike, and many.

    Only feeds and months that have rows of a `staged` load are looked at, or all.
    """
    groups: dict[Key, list[Partition]] = defaultdict(list)
    for part in parts:
        if is_small(part):
            key = (feed_of(part), part.scenario, part.bucket, part.columns, tuple(sorted(part.places.items())))
            groups[key].append(part)
    sources, results = set[int](), list[Partition]()
    for group in groups.values():
        if len(group) >= FANOUT and (staged is None or any(part.load in staged for part in group)):
            before, after = {id(part): part for part in group}, list(merged_group(group, merge))
            sources.update(before.keys() - {id(part) for part in after})
            results += (part for part in after if id(part) not in before)
    return (*(part for part in parts if id(part) not in sources), *results)


def merged_group(parts: Iterable[Partition], merge: Merge) -> Iterator[Partition]:
    """Yield the partitions of one feed, scenario and month, as few as their sizes allow."""
    sizes: dict[int, list[Partition]] = defaultdict(list)
    for part in parts:
        sizes[size_of(part)].append(part)
    while sizes:
        size = min(sizes)
        alike = sizes.pop(size)
        if len(alike) < FANOUT:
            yield from alike
            continue
        for lot in lots_of(alike):
            part = lot[0] if len(lot) == 1 else merge(lot)
            if size_of(part) > size and is_small(part):
                sizes[size_of(part)].append(part)
            else:
                yield part


def lots_of(parts: Iterable[Partition]) -> Iterator[list[Partition]]:
    """Yield partitions in lots that are merged at once."""
    lot, rows = list[Partition](), 0
    for part in parts:
        lot.append(part)
        rows += part.rows
        if rows >= LARGE_ROWS or len(lot) == MAX_MERGED:
            yield lot
            lot, rows = [], 0
    if lot:
        yield lot


def merged_rows(parts: Sequence[Partition], read: Callable[[Partition], pl.DataFrame]) -> pl.DataFrame:
    """Return the rows of some partitions, sorted as those of one, with the numbers of their loads in LOAD."""
    frames, before = list[pl.DataFrame](), 0
    for part in parts:
        number = pl.col(LOAD) if part.merged else pl.lit(0, pl.UInt32)
        frames.append(read(part).with_columns((number + before).cast(pl.UInt32).alias(LOAD)))
        before += len(part.loaded)
    order = [*parts[0].columns, LOAD]
    return pl.concat(frames, how="vertical_relaxed").select(order).sort(order)


def merged_partition(parts: Sequence[Partition], file: str) -> Partition:
    """Return the partition of the merged rows of some, which are in a file, without rollups."""
    measures = dict.fromkeys(measure for part in parts for measure in part.magnitudes)
    return Partition(
        id=file,
        scenario=parts[0].scenario,
        bucket=parts[0].bucket,
        file=file,
        rows=sum(part.rows for part in parts),
        days=tuple(sorted({day for part in parts for day in part.days})),
        magnitudes={measure: sum(part.magnitudes.get(measure, 0) for part in parts) for measure in measures},
        load="",
        columns=parts[0].columns,
        places=parts[0].places,
        unassigned=known_of(parts[0].columns, (part.unassigned or () for part in parts)),
        blanks=known_of(parts[0].columns, (part.blanks for part in parts)),
        merged=tuple(loaded for part in parts for loaded in part.loaded),
    )


def known_of(columns: Iterable[str], named: Iterable[Collection[str]]) -> tuple[str, ...]:
    """Return the columns that any of some lists names."""
    all_names = frozenset(name for names in named for name in names)
    return tuple(column for column in columns if column in all_names)


def rows_by_load(part: Partition, rows: pl.DataFrame) -> Iterator[tuple[LoadedRows, pl.DataFrame]]:
    """Yield what each load brought of a merged partition, with its rows in their order, as they were before."""
    by_number: Mapping[tuple[object, ...], pl.DataFrame] = rows.partition_by(
        LOAD, as_dict=True, include_key=False, maintain_order=True
    )
    for number, loaded in enumerate(part.merged):
        yield loaded, by_number[number,]


def partition_of_load(part: Partition, loaded: LoadedRows, rows: pl.DataFrame, file: str) -> Partition:
    """Return what one load brought of a merged partition as the partition that it was, without rollups."""
    measures = list(part.magnitudes)
    return Partition(
        id=loaded.id,
        scenario=part.scenario,
        bucket=part.bucket,
        file=file,
        rows=loaded.rows,
        days=loaded.days,
        magnitudes=magnitudes(rows, measures),
        load=loaded.load,
        columns=part.columns,
        places=part.places,
        unassigned=lacking_members(rows, part.unassigned or ()),
        blanks=tuple(key for key in part.blanks if rows[key].null_count()),
    )
