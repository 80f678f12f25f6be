"""Control tables: the controls of a load in words, with the money for whoever runs the command, else in counts."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from server.files.rejects import exact_decimal
from server.ingest.controls import AmountControl, CellSum, FileControl

PRIVATE_FILE = 0o600
MAX_REPORTS = 100  # of a feed's loads that are kept


def control_line(file: FileControl, *, money: bool) -> str:
    """Return the control of a file as one line."""
    amounts = (amount_words(key, amount, money=money) for key, amount in file.amounts.items())
    said = [count(file.rows, "row"), *amounts, *remarks(file)]
    return f"{file.name}: {'; '.join(said)}"


def amount_words(key: str, amount: AmountControl, *, money: bool) -> str:
    """Return what became of the amounts of a measure: `amount 40 = 38 loaded + 2 blank; Σ 7.50 = 7.50 loaded`."""
    there = {name: fate for name, fate in amount.fates.items() if fate.cells}
    cells = " + ".join(f"{fate.cells:,} {name}" for name, fate in there.items())
    if list(there) == ["loaded"] and amount.balances:
        return f"{key} {amount.read.cells:,}, all loaded" + (f", Σ {figure(amount.read, amount)}" if money else "")
    equal = "=" if amount.balances else "≠"
    counted = f"{key} {amount.read.cells:,} {equal} {cells or '0'}"
    if not money:
        return counted
    held = {name: fate for name, fate in there.items() if name != "blank"}
    sums = " + ".join(f"{figure(fate, amount)} {name}" for name, fate in held.items())
    return f"{counted}; Σ {figure(amount.read, amount)} {equal} {sums or '0'}"


def remarks(file: FileControl) -> Iterator[str]:
    """Yield what else is controlled and counted of a file, without an amount."""
    yield from (result.counted for result in file.results)
    yield from repeats(file)


def repeats(file: FileControl) -> Iterator[str]:
    """Yield how many rows of a file repeat another, if any does."""
    if file.repeated is None:
        yield "too many rows to tell which repeat another"
    elif file.repeated:
        yield f"{count(file.repeated, 'row')} {'repeats' if file.repeated == 1 else 'repeat'} another"


def control_table(file: FileControl) -> Iterator[str]:
    """Yield the lines of the whole control of a file."""
    part = () if file.is_whole else ("read in part",)
    yield f"{file.name}: {'; '.join((count(file.rows, 'row'), *part, *repeats(file)))}"
    rows = [("", "", "cells", "sum")]
    for key, amount in file.amounts.items():
        rows.append((key, "as read", f"{amount.read.cells:,}", figure(amount.read, amount)))
        for name, fate in amount.fates.items():
            rows.append(("", name, f"{fate.cells:,}", "" if name == "blank" else figure(fate, amount)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for key, name, cells, total in rows if file.amounts else ():
        yield f"  {key:<{widths[0]}}  {name:<{widths[1]}}  {cells:>{widths[2]}}  {total:>{widths[3]}}".rstrip()
    for result in file.results:
        yield f"  {result.counted}"
        for one in result.mismatches:
            yield f"    {f'row {one.row:,} ' if one.row else ''}differs by {exact_decimal(one.units):,f}"


def figure(total: CellSum, amount: AmountControl) -> str:
    """Return a sum with all its digits, and at least the decimal places of its measure."""
    value = exact_decimal(total.units)
    return f"{value:,.{max(amount.places, -int(value.as_tuple().exponent))}f}"


def count(rows: int, noun: str) -> str:
    """Return a number of things in words."""
    return f"{rows:,} {noun}{'' if rows == 1 else 's'}"


def prune_controls(folder: Path, binding: str) -> None:
    """Delete the control tables of a feed's loads but for the last ones; a name begins with the time of its load."""
    for path in sorted(folder.glob(f"*Z-{binding}-*.txt"))[:-MAX_REPORTS]:
        path.unlink(missing_ok=True)


def controls_file(folder: Path, load_id: str) -> Path:
    """Return the path of the control tables of a load."""
    return folder / f"{load_id}.txt"


def write_controls(files: Sequence[FileControl], path: Path) -> Path | None:
    """Write whole control tables to a file that only this user reads; None if there are none or the disk fails."""
    if not files:
        return None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "w", encoding="utf-8", opener=private_file) as report:
            report.writelines(f"{line}\n" for file in files for line in (*control_table(file), ""))
    except OSError:
        return None
    return path


def private_file(path: str, flags: int) -> int:
    """Open a file that is made for its user alone."""
    return os.open(path, flags, PRIVATE_FILE)
