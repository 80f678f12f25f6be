"""The mapper: the columns of an extract as those of a live table, by the keys of its binding."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from engine.model.calendar.periods import PeriodRange
from engine.model.catalogue import Measure
from engine.model.errors import first_of
from engine.model.scope import OWN, OWN_WORDS
from server.feeds.extract_formats import CreditSign, DateFormat, DebitCredit, DebitCreditSide
from server.feeds.feeds import Binding, ColumnMapping
from server.files.amounts import (
    WrittenAmounts,
    by_side,
    exact_by_side,
    exact_difference,
    exact_units,
    multiply,
    plain_numbers,
    read_amounts,
    subtract,
)
from server.files.columns import NO_RESIDUES, ParsedColumn, Residues, to_text
from server.files.dates import iso_texts, joined_parts
from server.files.doubts import undecided
from server.files.files import is_doubled, numbered
from server.files.findings import Ambiguity, Reading, located
from server.files.notation import FORMULA_FAULT
from server.files.rejects import EXACT_PLACES, FILE, ROW, VALIDATE, LoadFailed, Rejects
from server.files.reshape import columns_of_file

CREDITS = "amount.credits"
OTHER_SEPARATORS = ";\t|,"  # likely ones first


@dataclass
class ExtractMapper:
    """Maps the columns of an extract to those of a live table, by its binding."""

    binding: Binding
    extract: pl.DataFrame
    rejects: Rejects
    periods: PeriodRange | None = None  # requested; None for all
    columns: dict[str, pl.Series] = field(default_factory=dict)  # parsed so far, so that each rejects its rows once
    residues: Residues = NO_RESIDUES  # of the amounts
    amounts_read: dict[str, WrittenAmounts] = field(default_factory=dict)  # by measure

    def column(self, name: str) -> pl.Series:
        """Return the values of a column of the live table."""
        if name not in self.columns:
            self.columns[name] = self._column(name, self.binding.fillings.get(name))
        return self.columns[name]

    def _column(self, name: str, filling: ColumnMapping | None) -> pl.Series:
        if filling is not None and filling.constant is not None:
            return pl.Series(name, [filling.constant]).new_from_index(0, self.extract.height)
        return self._replaced(name, self.extracted((filling.column if filling else None) or name), filling)

    def extracted(self, name: str) -> pl.Series:
        """Return a column of the extract. Raises LoadFailed if it has none of this name."""
        if name not in self.extract.columns or name in (FILE, ROW):
            known = columns_of_file(self.extract)
            if is_doubled(name, known):
                first, second = numbered(name, 1), numbered(name, 2)
                raise LoadFailed(
                    VALIDATE,
                    f"'{name}' names two columns of {self.binding.key}, here {first} and {second}; choose one of them: "
                    f"map: {{{name}: {first}}}",
                )
            message = f"the extract of {self.binding.key} has no column '{name}'; it has {', '.join(known)}"
            marks = [mark for mark in OTHER_SEPARATORS if len(known) == 1 and mark in known[0]]
            if marks:
                mark = "tab" if marks[0] == "\t" else f"'{marks[0]}'"
                message += f"; its columns are separated otherwise: set csv: {{separator: {mark}}}"
            raise LoadFailed(VALIDATE, message)
        return self.extract[name]

    def _replaced(self, name: str, column: pl.Series, filling: ColumnMapping | None) -> pl.Series:
        if filling is None or filling.values is None:
            return column
        parsed = map_values(column, filling.values)
        self.rejects.where(parsed.reasons.is_not_null(), name, column, parsed.reasons)
        return parsed.values

    def dates_of(self, name: str) -> DateFormat:
        """Return how the days of a column are written."""
        filling = self.binding.fillings.get(name)
        dates = self.binding.format.dates
        own = filling.format if filling else None
        return dates.model_copy(update={"format": own, "year": None}) if own else dates

    def days(self, name: str) -> pl.Series:
        """Return the days of a column: typed, or as ISO days and period codes; unreadable texts are marked."""
        dates = self.dates_of(name)
        if dates.year is None or dates.month is None or name in self.binding.fillings:
            return iso_texts(self.column(name), dates)
        day = None if dates.day is None else self.extracted(dates.day)
        if name not in self.columns:
            parts = self.extracted(dates.year), self.extracted(dates.month), day
            self.columns[name] = joined_parts(*parts, dates.months)
        return self.columns[name]

    def amounts(self, measure: Measure) -> WrittenAmounts:
        """Return a measure as integers in units of its last decimal place, and as it is written; it is kept.

        Raises LoadFailed if it is filled from debits and credits, and most credits are negative.
        """
        rule, made = self._rule(measure), self.written_amounts(measure)
        if rule is not None and rule.credits is None and made.credits is not None:
            self._refuse_negative(rule.credit if isinstance(rule, DebitCredit) else rule.amount, made.credits)
        self.amounts_read[measure.key] = made
        return made

    def _rule(self, measure: Measure) -> DebitCredit | DebitCreditSide | None:
        """Return how a measure is filled from debits and credits; None if it is filled otherwise."""
        rule = self.binding.format.amount
        return rule if rule is not None and rule.column == measure.column else None

    def written_amounts(self, measure: Measure) -> WrittenAmounts:
        """Return a measure as integers in units of its last decimal place, and as it is written."""
        rule, numbers = self._rule(measure), self.binding.format.numbers
        if rule is None:
            filling = self.binding.fillings.get(measure.column)
            if filling is not None and filling.product:
                factors = [self.extracted(name) for name in filling.product]
                return multiply(factors, numbers, measure.places)
            written = self.column(measure.column)
            return WrittenAmounts(written, read_amounts(written, numbers, measure.places))
        if isinstance(rule, DebitCredit):
            return subtract(self.extracted(rule.debit), self.extracted(rule.credit), rule, numbers, measure.places)
        return by_side(self.extracted(rule.amount), self.extracted(rule.side), rule, numbers, measure.places)

    def exact(self, measure: Measure) -> pl.Series:
        """Return a measure in units of the twelfth decimal place: as it was read, else as it is written."""
        read = self.amounts_read[measure.key].read
        units = read.values.cast(pl.Int128) * pl.Series([10 ** (EXACT_PLACES - measure.places)], dtype=pl.Int128)
        faulty = read.reasons.is_not_null()
        return units.scatter(faulty.arg_true(), self._written_units(measure, faulty)) if faulty.any() else units

    def exact_column(self, names: Sequence[str], places: int) -> pl.Series:
        """Return a column of amounts, or a debit less a credit, in units of the twelfth place; null where it is none.

        Residues of computations are taken off as from a measure of so many `places`.
        """
        numbers, sides = self.binding.format.numbers, []
        for name in names:
            column = self.extracted(name)
            read = read_amounts(column, numbers, places)
            units = read.values.cast(pl.Int128) * pl.Series([10 ** (EXACT_PLACES - places)], dtype=pl.Int128)
            faulty = read.reasons.is_not_null()
            sides.append(units.scatter(faulty.arg_true(), exact_units(column.filter(faulty), numbers)))
        if len(sides) == 1:
            return sides[0]
        both = pl.DataFrame({"debit": sides[0], "credit": sides[1]})
        difference = pl.col("debit").fill_null(0) - pl.col("credit").fill_null(0)
        return both.select(pl.when(pl.any_horizontal(pl.all().is_not_null())).then(difference).alias("units"))["units"]

    def _written_units(self, measure: Measure, rows: pl.Series) -> pl.Series:
        """Return some amounts of a measure as they are written; null for products and what is no number."""
        rule, numbers = self._rule(measure), self.binding.format.numbers
        if isinstance(rule, DebitCredit):
            sides = self.extracted(rule.debit).filter(rows), self.extracted(rule.credit).filter(rows)
            return exact_difference(*sides, rule, numbers)
        if rule is not None:
            signed = self.extracted(rule.amount).filter(rows), self.extracted(rule.side).filter(rows)
            return exact_by_side(*signed, rule, numbers)
        filling = self.binding.fillings.get(measure.column)
        if filling is not None and filling.product:
            return pl.repeat(None, int(rows.sum()), dtype=pl.Int128, eager=True)
        return exact_units(self.column(measure.column).filter(rows), numbers)

    def _refuse_negative(self, name: str, credits_: pl.Series) -> None:
        """Raise LoadFailed if most credits are negative: the minus may mark credits, or reversals of them."""
        negative = (credits_ < 0).arg_true()
        if len(negative) <= (credits_ > 0).sum():
            return
        file, row, text = self.extract.select(FILE, ROW, name).row(negative[0])
        ways = (
            Reading({CREDITS: CreditSign.NEGATIVE.value}, "a credit"),
            Reading({CREDITS: CreditSign.POSITIVE.value}, "a reversal of a credit"),
        )
        raise undecided(file, Ambiguity(CREDITS, located(name, [(str(text), row)]), ways), self.binding.key)

    def numbers(self, name: str) -> pl.Series:
        """Return a column of numbers as plain decimals."""
        return plain_numbers(self.column(name), self.binding.format.numbers)

    def ids(self, name: str, *, optional: bool = False) -> pl.Series:
        """Return a column of ids or names as text; all null if it is optional and absent."""
        if optional and name not in self.binding.fillings and name not in self.extract.columns:
            return pl.Series(name, [None], dtype=pl.String).new_from_index(0, self.extract.height)
        return to_text(self.column(name))

    def required(self, name: str) -> pl.Series:
        """Return a column of ids. Rejects rows without one."""
        ids = self.ids(name)
        self.rejects.where(ids.is_null(), name, ids, "is missing")
        self.reject_faults(name, ids)
        return ids

    def reject_faults(self, name: str, ids: pl.Series) -> None:
        """Reject rows whose id is a word of the product, or the error of a formula: two of them are not one member."""
        closed = ids.str.ends_with(")")  # as all words of the product are: the others are not looked up
        if closed.any() and (own := closed & (ids.is_in(list(OWN_WORDS)) | ids.str.ends_with(OWN))).any():
            words = first_of(ids.filter(own).unique().sort().to_list(), 3)
            self.rejects.where(own, name, ids, f"is a word of Tieout, not an id ({words}): give the member another one")
        if ids.str.starts_with("#").any():
            self.rejects.where(ids.str.contains(FORMULA_FAULT), name, ids, "is a formula that failed")

    def once(self, name: str, ids: pl.Series) -> None:
        """Reject every row that repeats an id."""
        rejected = ids.is_not_null() & ~ids.is_first_distinct()
        self.rejects.where(rejected, name, ids, reasons_where(rejected, "stands twice").fill_null("stands twice"))

    def finish(self, columns: dict[str, pl.Series]) -> pl.DataFrame:
        """Return the rows that are not rejected. Raises LoadFailed if the binding does not allow so many rejections."""
        self.rejects.check(self.binding.rejects)
        return self.rejects.kept(pl.DataFrame(columns))


def map_values(column: pl.Series, values: Mapping[str, str]) -> ParsedColumn:
    """Return a column with its values replaced as a binding says; a value without a replacement is rejected."""
    written = to_text(column)
    replaced = written.replace_strict(dict(values), default=None, return_dtype=pl.String)
    lost = replaced.is_null() & written.is_not_null()
    return ParsedColumn(replaced, reasons_where(lost, f"is none of {', '.join(values)}"))


def reasons_where(bad: pl.Series, reason: str) -> pl.Series:
    """Return a reason for every row where `bad` is true, null for the others."""
    return pl.DataFrame({"bad": bad}).select(pl.when(pl.col("bad")).then(pl.lit(reason)).alias("reasons"))["reasons"]
