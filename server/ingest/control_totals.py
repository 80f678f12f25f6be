"""Control totals: the sums that a file holds of itself, such as balances and totals, held against its rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import polars as pl
from msgspec import Struct

from engine.model.catalogue import Measure
from server.feeds.extract_formats import ControlTotals
from server.feeds.feeds import Binding
from server.files.columns import to_text
from server.files.extract_columns import columns_for
from server.files.id_levels import below
from server.files.rejects import EXACT_PLACES, ROW, Rejects
from server.files.reshape import chosen_columns, columns_of_file, skipped, with_name_parts
from server.files.total_sums import Amounts, TotalSums
from server.ingest.mapper import ExtractMapper

MAX_PLACES: Final = 1_000  # places that a control names
SHOWN: Final = 3  # of them in one line
MAX_PARENTS: Final = 10_000  # rows of parents that are held against their children
UNIT: Final = 10**EXACT_PLACES


class Mismatch(Struct, frozen=True):
    """One place where a control fails: a row of the file, and by how much."""

    row: int  # 0: of the whole file
    units: int  # of the twelfth decimal place


class ControlResult(Struct, frozen=True):
    """How often a control of a file holds, and where it does not."""

    held: int
    checked: int
    words: str  # what holds, such as `totals agree`
    mismatches: Sequence[Mismatch] = ()
    otherwise: str = ""  # what to say where it fails, if it is one of the whole file

    @property
    def fails(self) -> bool:
        """Whether it fails somewhere."""
        return self.held < self.checked

    @property
    def counted(self) -> str:
        """The result in words, with the rows where it fails and without an amount."""
        if self.otherwise:
            return self.otherwise if self.fails else self.words
        rows = [f"{one.row:,}" for one in self.mismatches[:SHOWN]]
        more = self.checked - self.held - len(rows)
        where = f"row{'s' if len(rows) > 1 else ''} {', '.join(rows)}{f' and {more:,} more' if more else ''}"
        return f"{self.held:,} of {self.checked:,} {self.words}{f' (not {where})' if self.fails else ''}"


@dataclass(slots=True)
class Tally:
    """How often a control held so far."""

    held: int = 0
    checked: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)

    def add(self, rows: pl.Series, differences: pl.Series) -> None:
        """Add rows of the file with what they differ by, which is null where nothing is checked."""
        self.checked += len(differences) - differences.null_count()
        self.held += int((differences == 0).sum())
        wrong = pl.DataFrame({"row": rows, "units": differences}).filter(pl.col("units") != 0)
        room = MAX_PLACES - len(self.mismatches)
        self.mismatches.extend(Mismatch(row, units) for row, units in wrong.head(max(room, 0)).iter_rows())

    def result(self, words: str) -> ControlResult:
        """Return the result of the control."""
        return ControlResult(self.held, self.checked, words, sorted(self.mismatches, key=lambda one: one.row))


class FileChecks:
    """The control totals of one file, kept while its rows are read."""

    def __init__(self, binding: Binding, measures: Mapping[str, Measure], keys: Sequence[str], name: str) -> None:
        """Begin a file; `keys` are its columns of days and scenarios, within which parents add up."""
        self._name = name
        self._controls: ControlTotals = binding.format.controls
        self._measures = measures
        measure = measures.get(self._controls.measure or "")
        self._balance = Balance(self._controls, measure) if self._controls.balanced and measure else None
        self._closings = Closings(self._controls, measure) if self._controls.closing and measure else None
        self._totals = TotalRows() if self._controls.totals else None
        self._parents = ParentRows(self._controls.parents, keys) if self._controls.parents else None
        self._whole: pl.DataFrame | None = None  # the last piece as the file has it

    def begin(self, piece: pl.DataFrame) -> None:
        """Keep a piece as the file has it until its notation is known."""
        self._whole = piece if self._totals or self._parents else None

    def judged(self, shaping: ExtractMapper) -> None:
        """Add judged rows, and the piece that they are of."""
        if self._balance is not None:
            self._balance.add(shaping)
        if self._closings is not None:
            self._closings.add(shaping)
        if self._whole is None:
            return
        whole, self._whole = with_name_parts(self._whole, shaping.binding.format, self._name), None
        out = skipped(whole, shaping.binding.format.skip, self._name)
        amounts = amount_columns(whole, shaping.binding, self._measures)
        parents = self._parents.add(whole, amounts, out) if self._parents else None
        if self._totals is not None:
            self._totals.add(whole[ROW], amounts, out, parents)

    def results(self) -> Iterator[ControlResult]:
        """Yield the results of the file."""
        if self._balance is not None:
            yield from self._balance.results()
        if self._closings is not None:
            yield self._closings.result()
        headings = self._parents.headings() if self._parents else frozenset()
        if self._totals is not None:
            yield self._totals.result(headings)
        if self._parents is not None:
            yield self._parents.result(headings)


def amount_columns(whole: pl.DataFrame, binding: Binding, measures: Mapping[str, Measure]) -> pl.DataFrame:
    """Return every amount of the rows of a file, in units of the twelfth decimal place; null where there is none."""
    unpivot = binding.format.unpivot
    shaping = ExtractMapper(binding, whole, Rejects())
    if unpivot is None:
        for key, measure in measures.items():
            shaping.amounts_read[key] = shaping.written_amounts(measure)
        return pl.DataFrame([shaping.exact(measure).alias(key) for key, measure in measures.items()])
    filled = [one for one in measures.values() if unpivot.value in columns_for(binding, one.column)]
    places = max((one.places for one in filled or measures.values()), default=0)
    columns = chosen_columns(unpivot.columns, columns_of_file(whole), "the file")
    return pl.DataFrame([shaping.exact_column([name], places).alias(name) for name in columns])


class Balance:
    """Debits and credits: the amounts of a file add up to zero, and those of each value of a column."""

    def __init__(self, controls: ControlTotals, measure: Measure) -> None:
        self._per = controls.per
        self._measure = measure
        self._sum = 0
        self._groups: list[pl.DataFrame] = []

    def add(self, shaping: ExtractMapper) -> None:
        """Add judged rows."""
        amounts, rows = shaping.exact(self._measure), shaping.extract[ROW]
        self._sum += int(amounts.sum())
        if self._per is None:
            return
        keys = to_text(shaping.extracted(self._per)).str.strip_chars()
        frame = pl.DataFrame({"key": keys, "row": rows.cast(pl.Int64), "units": amounts})
        self._groups.append(frame.group_by("key").agg(pl.col("row").min(), pl.col("units").sum()))

    def results(self) -> Iterator[ControlResult]:
        """Yield the result of the file, and of the values of the column."""
        wrong = [Mismatch(0, self._sum)] if self._sum else []
        yield ControlResult(int(not wrong), 1, "debits = credits", wrong, "debits ≠ credits")
        if self._groups:
            merged = pl.concat(self._groups).group_by("key").agg(pl.col("row").min(), pl.col("units").sum())
            tally = Tally()
            merged = merged.sort("row")
            tally.add(merged["row"], merged["units"])
            yield tally.result(f"values of {self._per} balance")


class Closings:
    """Balances behind rows: each is the one before it and the amount."""

    def __init__(self, controls: ControlTotals, measure: Measure) -> None:
        self._opening, self._closing = controls.opening, controls.closing
        self._within = controls.within
        self._measure = measure
        self._tally = Tally()
        self._before = pl.DataFrame(schema={"within": pl.String, "sum": pl.Int128, "start": pl.Int128})

    def add(self, shaping: ExtractMapper) -> None:
        """Add judged rows."""
        rows, places = shaping.extract[ROW].cast(pl.Int64), self._measure.places
        frame = pl.DataFrame(
            {
                "row": rows,
                "amount": shaping.exact(self._measure).fill_null(0),
                "closing": shaping.exact_column(self._closing, places),
            }
        )
        if self._opening:
            opening = shaping.exact_column(self._opening, places)
            self._tally.add(rows, frame["closing"] - opening - frame["amount"])
            return
        key = pl.lit("") if self._within is None else to_text(shaping.extracted(self._within)).fill_null("")
        # a balance less all amounts so far is the balance at the start, the same for all rows of an account
        frame = frame.with_columns(key.alias("within")).join(
            self._before, on="within", how="left", maintain_order="left"
        )
        sums = pl.col("sum").fill_null(0) + pl.col("amount").cum_sum().over("within")
        frame = frame.with_columns(sums.alias("sum")).with_columns(start_here=pl.col("closing") - pl.col("sum"))
        known = pl.col("start_here").forward_fill().over("within")
        earlier = pl.coalesce(known.shift(1).over("within"), "start")
        frame = frame.with_columns(difference=pl.col("start_here") - earlier, start=pl.coalesce(known, "start"))
        self._tally.add(rows, frame["difference"])
        last = frame.group_by("within").agg(pl.col("sum").last(), pl.col("start").last())
        self._before = pl.concat([last, self._before.join(last, on="within", how="anti")])

    def result(self) -> ControlResult:
        """Return the result."""
        said = "rows have opening + amount = closing" if self._opening else "closings continue the one before"
        return self._tally.result(said)


class TotalRows:
    """Rows of totals: each is the sum of the rows since the total before it, of all rows, or of the last totals."""

    def __init__(self) -> None:
        self._differences: list[tuple[int, int]] = []  # row, and what it differs by
        self._above: list[int] = []  # sums of all rows that are loaded
        self._rows = 0  # that they are of
        self._sums = TotalSums()

    def add(self, rows: pl.Series, amounts: pl.DataFrame, out: pl.Series, parents: pl.Series | None) -> None:
        """Add the rows of a piece; `out` are those that are left out, and `parents` those that may be parents."""
        base = self._above or [0] * amounts.width
        loaded = amounts.with_columns(pl.when(~out).then(pl.all()).otherwise(pl.lit(0, pl.Int128)).fill_null(0))
        added, counts = loaded.select(pl.all().cum_sum()), (~out).cast(pl.Int64).cum_sum()
        at = out.arg_true()
        sums = zip(amounts[at].iter_rows(), added[at].iter_rows(), counts.gather(at), strict=True)
        for row, place, (total, before, count) in zip(rows.gather(at), at, sums, strict=True):
            if any(total):
                above = [one + more for one, more in zip(base, before, strict=True)]
                is_id = parents is not None and bool(parents[place])
                self._judge(int(row), total, above, self._rows + count, may_be_parent=is_id)
        if amounts.height:
            self._above = [one + more for one, more in zip(base, added.row(-1), strict=True)]
            self._rows += int(counts[-1])

    def _judge(self, row: int, total: Amounts, above: Amounts, rows: int, *, may_be_parent: bool) -> None:
        agrees = self._sums.proof(total, above, rows) is not None
        self._differences.append((row, 0 if agrees else self._sums.difference(total, above)))
        if agrees or not may_be_parent:
            self._sums.close(total, above, rows)

    def result(self, headings: frozenset[int]) -> ControlResult:
        """Return the result of the rows that are no parents."""
        tally = Tally()
        kept = [(row, units) for row, units in self._differences if row not in headings]
        tally.add(pl.Series([row for row, _ in kept], dtype=pl.Int64), pl.Series([u for _, u in kept], dtype=pl.Int128))
        return tally.result("totals agree")


class ParentRows:
    """Rows of parents: each is the sum of the rows below its id, on its day and in its scenario."""

    def __init__(self, column: str, keys: Sequence[str]) -> None:
        self._column = column
        self._keys = keys
        self._children: list[pl.DataFrame] = []
        self._rows: list[pl.DataFrame] = []
        self._found: pl.DataFrame | None = None

    def add(self, whole: pl.DataFrame, amounts: pl.DataFrame, out: pl.Series) -> pl.Series:
        """Add the rows of a piece; tell which of them have an id."""
        ids = to_text(whole[self._column]).str.strip_chars()
        keys = [to_text(whole[key]) for key in self._keys if key in whole.columns]
        key = pl.DataFrame(keys).select(pl.concat_str(pl.all(), separator="\0", ignore_nulls=True)) if keys else None
        frame = amounts.rename({name: f"amount {at}" for at, name in enumerate(amounts.columns)}).with_columns(
            ids.alias("id"),
            (pl.repeat("", whole.height, eager=True) if key is None else key.to_series()).alias("key"),
            whole[ROW].cast(pl.Int64).alias("row"),
        )
        self._rows.append(frame.filter(out & ids.is_not_null()))
        children = frame.filter(~out & ids.is_not_null()).group_by("id", "key").agg(pl.col("^amount .*$").sum())
        self._children.append(children)
        return ids.is_not_null()

    def headings(self) -> frozenset[int]:
        """Return the rows whose ids stand above those of others."""
        rows = pl.concat(self._rows).head(MAX_PARENTS) if self._rows else pl.DataFrame(schema={"id": pl.String})
        if rows.is_empty():
            return frozenset()
        children = pl.concat(self._children).group_by("id", "key").agg(pl.col("^amount .*$").sum())
        found = []
        for (id_,), parents in rows.group_by("id", maintain_order=True):
            under = children.filter(below(pl.col("id"), str(id_)))
            if under.height:
                sums = under.group_by("key").agg(pl.col("^amount .*$").sum().name.prefix("below "))
                found.append(parents.join(sums, on="key", how="left", maintain_order="left"))
        self._found = pl.concat(found) if found else None
        return frozenset(self._found["row"]) if self._found is not None else frozenset()

    def result(self, _: frozenset[int]) -> ControlResult:
        """Return the result of the rows that `headings` found."""
        tally = Tally()
        if self._found is not None:
            names = [name for name in self._found.columns if name.startswith("amount ")]
            gaps = [pl.col(name) - pl.col(f"below {name}").fill_null(0) for name in names]
            wrong = [pl.when(gap != 0).then(gap) for gap in gaps]
            checked = pl.any_horizontal(pl.col(names).is_not_null())
            differences = self._found.select(
                pl.when(checked).then(pl.coalesce(*wrong, pl.lit(0, pl.Int128))).alias("units")
            )
            tally.add(self._found["row"], differences["units"])
        return tally.result("parents are the sum of their children")
