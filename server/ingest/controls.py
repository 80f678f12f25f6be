"""Controls: what became of every amount of a file, counted and added up, and the law that none is lost on the way."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from engine.model.catalogue import Domain, Measure
from engine.model.errors import quoted
from server.feeds.feeds import Binding
from server.files.columns import INT64
from server.files.rejects import EXACT_PLACES, FILE, ROW, VALIDATE, LoadFailed, Rejects
from server.ingest.control_totals import ControlResult, FileChecks
from server.ingest.mapper import ExtractMapper

MAX_COMPARED: Final = 10_000_000  # rows of a file that are held against each other
COMPARED_AT_ONCE: Final = 500_000  # hashes of rows
OURS: Final = "; nothing was published, and this is a fault of Tieout: report it with the control table"


@dataclass(slots=True)
class CellSum:
    """Some cells of amounts: how many, and their sum in units of the twelfth decimal place."""

    cells: int = 0
    units: int = 0

    def add(self, cells: int, units: int = 0) -> None:
        """Add more cells."""
        self.cells += cells
        self.units += units


@dataclass(slots=True)
class AmountControl:
    """The cells of one measure in one file by what became of them."""

    places: int  # of the measure
    read: CellSum = field(default_factory=CellSum)
    loaded: CellSum = field(default_factory=CellSum)
    blank: CellSum = field(default_factory=CellSum)
    rejected: CellSum = field(default_factory=CellSum)
    left_out: CellSum = field(default_factory=CellSum)

    @property
    def fates(self) -> Mapping[str, CellSum]:
        """What became of the cells, in words."""
        return {
            "loaded": self.loaded, "blank": self.blank, "rejected": self.rejected, "left out": self.left_out
        }  # fmt: skip

    @property
    def balances(self) -> bool:
        """Whether every cell has one fate, and every unit of the sum with it."""
        fates = self.fates.values()
        return self.read == CellSum(sum(fate.cells for fate in fates), sum(fate.units for fate in fates))


@dataclass(slots=True)
class FileControl:
    """The control of one file, one statement over files, or one query."""

    name: str
    amounts: dict[str, AmountControl]  # by measure
    rows: int = 0
    repeated: int | None = 0  # rows that are equal to another in every column; None: there are too many rows to know
    hashes: list[pl.Series] = field(default_factory=list)  # of rows, until the file ends
    is_whole: bool = False  # whether the file was read to its end
    results: Sequence[ControlResult] = ()  # of the controls of the feed

    @property
    def fails(self) -> bool:
        """Whether a control does not hold."""
        lost = self.is_whole and not all(amount.balances for amount in self.amounts.values())
        return lost or any(result.fails for result in self.results)

    def begin(self, piece: pl.DataFrame, width: int) -> None:
        """Add the rows of a piece as the file has them; each has `width` amounts of every measure."""
        self.rows += piece.height
        for amount in self.amounts.values():
            amount.read.cells += piece.height * width
        if self.rows > MAX_COMPARED:
            self.repeated, self.hashes = None, []
        elif piece.height:
            self.hashes.append(piece.select(pl.exclude(FILE, ROW)).hash_rows())

    def end(self) -> None:
        """Count the rows that repeat another. Raises LoadFailed if a cell has no fate, or two."""
        self.is_whole = True
        if self.hashes:
            self.repeated = sum(len(lot) - lot.n_unique() for lot in hash_lots(self.hashes))
            self.hashes = []
        lost = [key for key, amount in self.amounts.items() if not amount.balances]
        if lost:
            says = f"{self.name}: the amounts of {quoted(lost)} that were read are not those that are loaded, blank"
            raise LoadFailed(VALIDATE, f"{says}, rejected or left out{OURS}")


class LoadControl:
    """The controls of one load of facts: one for each file, and what shall stand in the store of all of them."""

    def __init__(self, binding: Binding, measures: Mapping[str, Measure], keys: Sequence[str]) -> None:
        """Begin a load; `keys` are the columns of days and scenarios of its files."""
        self.files: list[FileControl] = []
        self._binding, self._measures, self._keys = binding, measures, keys
        self._checks = FileChecks(binding, measures, keys, "")
        self._landed: dict[str, int] = {}  # measure -> sum of absolute amounts

    def begin(self, name: str) -> None:
        """Start on the next file."""
        amounts = {key: AmountControl(measure.places) for key, measure in self._measures.items()}
        self.files.append(FileControl(name, amounts))
        self._checks = FileChecks(self._binding, self._measures, self._keys, name)

    def rows(self, piece: pl.DataFrame, width: int) -> None:
        """Add the rows of a piece of the file as it has them."""
        self.files[-1].begin(piece, width)
        self._checks.begin(piece)

    def judged(self, shaping: ExtractMapper, rejects: Rejects) -> None:
        """Add the amounts of the rows of a piece as they are read, and those of them that are blank or rejected."""
        bad, weighed = rejects.rows, rejects.weighed
        for key, amount in self.files[-1].amounts.items():
            read = shaping.amounts_read[key].read
            scale = 10 ** (EXACT_PLACES - amount.places)
            faulty = read.reasons.null_count() < len(read.reasons)
            units = int(shaping.exact(self._measures[key]).sum()) if faulty else exact_sum(read.values) * scale
            amount.read.units += units
            blank = read.values.is_null()
            if bad is not None:
                blank &= ~bad
                amount.rejected.add(int(bad.sum()), int(weighed[key].sum()))
            amount.blank.add(int(blank.sum()))
        self._checks.judged(shaping)

    def left_out(self, shaping: ExtractMapper) -> None:
        """Add the amounts of rows that a key leaves out."""
        for key, amount in self.files[-1].amounts.items():
            shaping.amounts_read[key] = shaping.written_amounts(self._measures[key])
            units = int(shaping.exact(self._measures[key]).sum())
            amount.read.units += units
            amount.left_out.add(shaping.extract.height, units)

    def loaded(self, facts: pl.DataFrame, domain: Domain) -> None:
        """Add the facts of a piece on their way into the store."""
        for key in domain.measures:
            amounts = facts[key]
            self._landed[key] = self._landed.get(key, 0) + exact_sum(amounts, absolute=True)
            if (control := self.files[-1].amounts.get(key)) is not None:
                cells = len(amounts) - amounts.null_count()
                control.loaded.add(cells, exact_sum(amounts) * 10 ** (EXACT_PLACES - control.places))

    def end(self) -> None:
        """End a file. Raises LoadFailed if its amounts are not all accounted for, or if a control of the feed fails."""
        file = self.files[-1]
        file.results = tuple(self._checks.results())
        file.end()
        wrong = [result for result in file.results if result.fails]
        if wrong and self._binding.format.controls.on_fail == "refuse":
            says = "; ".join(result.counted for result in wrong)
            raise LoadFailed(VALIDATE, f"{file.name}: {says}; mend the file, or set control_totals: {{on_fail: warn}}")

    def refuse_stored(self, stored: Mapping[str, int]) -> None:
        """Raise LoadFailed if the absolute amounts of the stored rows are not those of the rows of the files."""
        if lost := [key for key, total in self._landed.items() if stored.get(key, 0) != total]:
            says = f"the amounts of {quoted(lost)} in the store are not those of the rows that were loaded"
            raise LoadFailed(VALIDATE, says + OURS)


def hash_lots(pieces: Sequence[pl.Series]) -> Iterator[pl.Series]:
    """Yield hashes in lots of about COMPARED_AT_ONCE; equal hashes are in one lot, as its remainder is theirs.

    A table of all hashes of a large file would take several times their size.
    """
    lots = -(-sum(map(len, pieces)) // COMPARED_AT_ONCE)
    for lot in range(lots):
        yield pl.concat([piece.filter(piece % lots == lot) for piece in pieces])


def exact_sum(units: pl.Series, *, absolute: bool = False) -> int:
    """Return the sum of integers of 64 bits, or of their absolute values, made in 128 bits where 64 may not hold it."""
    least, most = units.min(), units.max()
    if least is None or most is None:
        return 0
    largest = max(abs(int(least)), abs(int(most)))  # type: ignore[arg-type]  # those of a column of integers
    wide = units if largest * len(units) < INT64 else units.cast(pl.Int128)
    return int((wide.abs() if absolute else wide).sum())
