"""Parts: the rows of partitions in an engine, put and compared before a version names them, dropped when none does.

A journal names the number of every part before it is put, and keeps it until the part is dropped. So whatever a killed
publish left is known: the next one takes over the parts of partitions that it has too, and sweeping drops the others.
A number is random and names one put, so what an engine finishes after its loader was killed is never read. Parts that
another store put, as those of a backup that was restored beside its origin, are in no journal here and never dropped.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from secrets import randbits, token_hex

import polars as pl
from msgspec.json import decode, encode
from msgspec.structs import replace

from engine.facts.expressions import code_type
from engine.facts.files import sync_folder, write_durably
from engine.facts.frozen import whole
from engine.facts.manifest import Codes, Manifest, Partition
from engine.model.errors import Unavailable
from engine.model.members.member_sets import NULL_CODE
from engine.model.warehouses import PartStore, PartTotals

Facts = Mapping[str, tuple[Partition, ...]]  # by domain
ReadRows = Callable[[str, Partition], pl.DataFrame]
Tell = Callable[[int, int], None]  # rows that are in the engine, and rows in all
JOURNALS = "sent"  # folder in the store: domain -> number of each part -> id of its partition
HOLDS = "held"  # folder in the store: parts that a backup names, and the paths of its file
NUMBER_BITS = 60
SUMMED_ROWS = 1_000_000  # at once


def untold(_done: int, _total: int) -> None:
    """Tell nobody about progress."""


def put_parts(
    root: Path, store: PartStore, facts: Facts, base: Facts, read: ReadRows, tell: Tell = untold
) -> dict[str, tuple[Partition, ...]]:
    """Return partitions that all have a number, with exactly their rows in the engine.

    Raises Unavailable if the engine fails, or if it holds other counts or sums than the partitions afterwards.
    """
    spare = spare_parts(root, store, facts, base)
    known = {*numbers_of(facts), *(number for numbers in spare.values() for number in numbers)}
    placed = {
        domain: tuple(numbered(domain, part, spare, read) if part.number is None else part for part in parts)
        for domain, parts in facts.items()
    }
    fresh = {domain: [part for part in parts if part.number not in known] for domain, parts in placed.items()}
    journal = {domain: {number_of(part): part.id for part in parts} for domain, parts in fresh.items() if parts}
    write_journal(root / JOURNALS / f"{token_hex(8)}.json", journal)
    total = sum(part.rows for parts in placed.values() for part in parts)
    done = total - sum(part.rows for parts in fresh.values() for part in parts)
    for domain, parts in fresh.items():
        for part in parts:
            tell(done, total)
            store.put(domain, number_of(part), read(domain, part))
            done += part.rows
    tell(done, total)
    for _, says in differences(store, fresh):
        raise Unavailable(f"{says}; nothing was published, so load again")
    return placed


def number_of(part: Partition) -> int:
    """Return the number of a partition that has one."""
    assert part.number is not None  # noqa: S101 - put_parts gives every partition a number
    return part.number


def numbers_of(facts: Mapping[str, Iterable[Partition]]) -> Iterator[int]:
    """Yield the numbers of the partitions that have one."""
    return (part.number for parts in facts.values() for part in parts if part.number is not None)


def numbered(domain: str, part: Partition, spare: Mapping[tuple[str, str], list[int]], read: ReadRows) -> Partition:
    """Return a partition with the number of a spare part of its rows, else with a new one.

    Release 0.3.0 wrote partitions whose columns only their files tell.
    """
    numbers = spare.get((domain, part.id))
    part = replace(part, number=numbers.pop() if numbers else randbits(NUMBER_BITS))
    if part.columns and part.unassigned is not None:
        return part
    rows = read(domain, part)
    codes = [key for key in rows.columns if rows.schema[key].is_unsigned_integer()]
    return replace(part, columns=tuple(rows.columns), unassigned=lacking_members(rows, codes))


def lacking_members(rows: pl.DataFrame, codes: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of codes with rows without a member."""
    return tuple(key for key in codes if rows[key].min() == NULL_CODE)


def spare_parts(root: Path, store: PartStore, facts: Facts, base: Facts) -> dict[tuple[str, str], list[int]]:
    """Return the whole parts that no partition has, by domain and by the id of the partition whose rows they hold.

    They are those of killed publishes, and of the version before: equal rows that a feed loads again are not sent.
    """
    taken = set(numbers_of(facts))
    lacking = {(domain, part.id): part for domain, parts in facts.items() for part in parts if part.number is None}
    found: dict[str, dict[int, Partition]] = defaultdict(dict)
    journals = (read_journal(path) for path in journals_in(root))
    before = {
        domain: {part.number: part.id for part in parts if part.number is not None} for domain, parts in base.items()
    }
    for journal in (before, *journals):
        for domain, entries in journal.items():
            for number, identity in entries.items():
                part = lacking.get((domain, identity))
                if part is not None and number not in taken:
                    found[domain][number] = part
    spare: dict[tuple[str, str], list[int]] = defaultdict(list)
    for domain, parts in found.items():
        with suppress(
            Unavailable
        ):  # a table without their columns has none of them, and an engine that is away fails below
            held = store.totals(domain, measures_of(parts.values()), parts)
            for number, part in parts.items():
                if difference(held.get(number), part) is None:
                    spare[domain, part.id].append(number)
    return spare


# What the engine holds, and what the books say.


def differences(store: PartStore, facts: Mapping[str, Iterable[Partition]]) -> Iterator[tuple[Partition, str]]:
    """Yield every partition whose part holds other counts or sums, with words that name the table."""
    for domain, every in facts.items():
        parts = {part.number: part for part in every if part.number is not None}
        held = store.totals(domain, measures_of(parts.values()), parts) if parts else {}
        for number, part in parts.items():
            if says := difference(held.get(number), part):
                yield part, f"{store.table(domain)} {says} of {part.scenario} {part.bucket} (part {number})"


def difference(held: PartTotals | None, part: Partition) -> str | None:
    """Return in words what a part holds other than its partition, None if they agree."""
    rows = held.rows if held else 0
    if held is None or rows != part.rows:
        return f"holds {rows:,} rows where the books have {part.rows:,}"
    wrong = [key for key, magnitude in part.magnitudes.items() if held.magnitudes.get(key, 0) != magnitude]
    return f"holds other amounts of {', '.join(wrong)} than the books" if wrong else None


def measures_of(parts: Iterable[Partition]) -> list[str]:
    """Return the measures of some partitions."""
    return list(dict.fromkeys(measure for part in parts for measure in part.magnitudes))


def fetch_rows(store: PartStore, domain: str, part: Partition, codes: Mapping[str, Codes]) -> pl.DataFrame:
    """Return the rows of a partition from the engine, as its file would hold them. Raises Unavailable."""
    rows = store.rows(domain, number_of(part), part.columns)
    coded = [pl.col(key).cast(code_type(codes[key].count)) for key in part.columns if key in codes]
    rows = rows.select(part.columns).with_columns(coded).sort(part.columns, maintain_order=True)
    found = PartTotals(rows.height, magnitudes(rows, list(part.magnitudes)))
    if says := difference(found, part):
        raise Unavailable(f"{store.table(domain)} {says} of {part.scenario} {part.bucket} (part {part.number})")
    return rows


def staged_magnitudes(parts: Iterable[Partition], load: str) -> Mapping[str, int]:
    """Return the sums of the absolute amounts of the partitions of a load, by measure."""
    of_load = [part.magnitudes for part in parts if part.load == load]
    measures = dict.fromkeys(measure for part in of_load for measure in part)
    return {measure: sum(part.get(measure, 0) for part in of_load) for measure in measures}


def magnitudes(rows: pl.DataFrame, measures: list[str]) -> Mapping[str, int]:
    """Return the sum of absolute amounts of each measure, an upper bound of any sum of these rows."""
    totals = dict.fromkeys(measures, 0)
    for some in rows.select(measures).iter_slices(SUMMED_ROWS) if measures else ():  # 128 bits take twice their memory
        sums = some.select(pl.all().cast(pl.Int128).abs().sum())
        for measure in measures:
            totals[measure] += int(sums[measure].item())
    return totals


# Journals.


def journals_in(root: Path) -> list[Path]:
    """Return the journals of a store."""
    return sorted((root / JOURNALS).glob("*.json"))


def read_journal(path: Path) -> dict[str, dict[int, str]]:
    """Return the parts of a journal: by domain, their numbers and the ids of their partitions."""
    return decode(path.read_bytes(), type=dict[str, dict[int, str]])


def write_journal(path: Path, journal: Mapping[str, Mapping[int, str]]) -> None:
    """Write a journal durably, in place of the one of its name; one without parts is deleted."""
    if any(journal.values()):
        write_whole(path, journal)
    else:
        path.unlink(missing_ok=True)


def write_whole(path: Path, content: Mapping[str, object]) -> None:
    """Write a JSON file durably; it gets its name when it is whole."""
    path.parent.mkdir(exist_ok=True)
    aside = path.with_suffix(".new")
    write_durably(aside, encode(content))
    aside.rename(path)
    sync_folder(path.parent)


def hold_parts(root: Path, manifest: Manifest, paths: Iterable[Path]) -> None:
    """Keep the parts of a version for as long as a file is at one of some paths. The caller holds the version open."""
    if numbers := list(numbers_of(manifest.facts)):
        held = {"paths": [str(path.absolute()) for path in paths], "numbers": numbers}
        write_whole(root / HOLDS / f"{token_hex(8)}.json", held)


def sweep_parts(root: Path, store: PartStore, versions: Iterable[Manifest]) -> None:
    """Drop the parts of journals that no version names, unless a partition of one still waits to be put.

    Only the holder of the publishing lock may call this. Raises Unavailable if the engine fails; the journals then keep
    what is left.
    """
    named: set[int] = set()
    waiting: set[tuple[str, str]] = set()
    for hold in (root / HOLDS).glob("*.json"):
        held = decode(hold.read_bytes())
        if any(Path(path).exists() for path in held["paths"]):
            named.update(held["numbers"])
        else:
            hold.unlink()
    for manifest in versions:
        named.update(numbers_of(manifest.facts))
        waiting |= {(key, part.id) for key, parts in manifest.facts.items() for part in parts if part.number is None}
    for path in journals_in(root):
        journal = read_journal(path)
        kept = {
            domain: {number: id_ for number, id_ in parts.items() if number in named or (domain, id_) in waiting}
            for domain, parts in journal.items()
        }
        for domain, parts in journal.items():
            if dropped := parts.keys() - kept[domain].keys():
                store.drop(domain, dropped)
        if kept != journal:
            write_journal(path, kept)


def unnamed_parts(root: Path, store: PartStore, domains: Iterable[str]) -> dict[str, frozenset[int]]:
    """Return the parts, by domain, that no version of this store names, no journal and no backup.

    Another store may name them. Raises Unavailable if the engine fails, or a freeze cannot be read.
    """
    manifests = (whole(root, Manifest.from_json(path.read_bytes())) for path in (root / "manifests").glob("*.json"))
    named = {number for manifest in manifests for number in numbers_of(manifest.facts)}
    for hold in (root / HOLDS).glob("*.json"):
        named.update(decode(hold.read_bytes())["numbers"])
    for path in journals_in(root):
        named.update(number for parts in read_journal(path).values() for number in parts)
    found = {domain: store.numbers(domain) - named for domain in domains}
    return {domain: numbers for domain, numbers in found.items() if numbers}
