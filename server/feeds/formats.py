"""Builds the format of an extract from the keys of a feed and the defaults of its source."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import PurePath
from typing import TypeVar

from pydantic import ValidationError

from engine.instance.documents import Document, Location, known
from engine.instance.schema.common import SchemaPart
from engine.model.calendar.periods import Grain
from engine.model.catalogue import Domain, Measure
from server.feeds.extract_formats import (
    DIRECTIVES,
    OF_DAYS,
    SERIAL_1900,
    SERIAL_1904,
    BlankRule,
    ColumnChoice,
    ControlTotals,
    CreditSign,
    CsvFormat,
    DateFormat,
    DebitCredit,
    DebitCreditSide,
    ExtractFormat,
    NegativeStyle,
    NumberFormat,
    RowSkip,
    SqlQuery,
    TableLayout,
    Unpivot,
)
from server.feeds.file_kinds import kind_of
from server.feeds.format_parts import (
    NO_MARK,
    SEPARATORS,
    CsvPart,
    FormatPart,
    NumbersPart,
    UnpivotPart,
)
from server.feeds.integrations import BindingPart

Part = TypeVar("Part", bound=SchemaPart)
OF_FILES = ("csv", "header_row", "from_name", "sql")  # keys of a feed that only files have a use for
DIRECTIVE = re.compile(r"%[-_0]?(.)", re.DOTALL)
FORMATS = "such as '%d.%m.%Y', '%d/%m/%y', '%Y%m' or '%b-%y'; serial for the numbers that a spreadsheet stores"
FACTOR = re.compile(r"\d{1,13}(\.\d{1,4})?|0\.\d{1,12}")


def build_format(
    document: Document, at: Location, part: BindingPart, defaults: FormatPart, domain: Domain | None
) -> ExtractFormat:
    """Return the format of a feed's extract. `domain` is None for members, nodes and rates."""
    csv = merged(document, [*at, "csv"], CsvPart, defaults.csv, part.csv)
    numbers = merged(document, [*at, "numbers"], NumbersPart, defaults.numbers, part.numbers)
    dates = merged(document, [*at, "dates"], DateFormat, defaults.dates, part.dates)
    refuse_other_files(document, at, part)
    figures = build_numbers(document, [*at, "numbers"], numbers)
    check_dates(document, [*at, "dates"], dates, domain)
    return ExtractFormat(
        csv=CsvFormat(
            separator=SEPARATORS[csv.separator] if csv.separator else None,
            quote="" if csv.quote == NO_MARK else csv.quote,
            encoding=csv.encoding,
            layout=TableLayout(header_rows=rows(csv.header_row), skip_rows=csv.skip_rows, skip_footer=csv.skip_footer),
        ),
        sheet=TableLayout(header_rows=rows(part.header_row)),
        numbers=figures,
        dates=dates,
        amount=build_amount(document, at, part, domain),
        skip=part.skip or RowSkip(),
        fill_down=part.fill_down,
        controls=build_controls(document, at, part, domain),
        unpivot=build_unpivot(document, [*at, "unpivot"], part.unpivot) if part.unpivot else None,
        from_name=part.from_name.pattern if part.from_name else None,
        sql=SqlQuery(text=part.sql, tables=part.files) if part.sql is not None else None,
    )


def merged(document: Document, at: Location, model: type[Part], default: Part | None, own: Part | None) -> Part:
    """Return the keys of a feed over those of its source. Records keys that do not go together."""
    said = {**written(default), **written(own)}
    try:
        return model.model_validate(said)
    except ValidationError as misfit:
        reason = misfit.errors()[0]["msg"].removeprefix("Value error, ")
        document.fault(at, f"{at[-1]}, with what the source says, {reason}", "say the key of the feed otherwise")
        return own or model()


def written(part: SchemaPart | None) -> Mapping[str, object]:
    """Return the keys that a part says, with their values."""
    return {name: getattr(part, name) for name in part.model_fields_set} if part else {}


def rows(numbers: Sequence[int] | None) -> tuple[int, ...] | None:
    """Return row numbers; None if they were left out."""
    return None if numbers is None else tuple(numbers)


def refuse_other_files(document: Document, at: Location, part: BindingPart) -> None:
    """Record keys that none of a feed's files has a use for, by the endings of their names."""
    endings, named = {kind_of(PurePath(file)) for file in part.files.values()}, ", ".join(part.files.values())
    if part.header_row is not None and endings and endings <= {".csv", ".parquet", ".arrow"}:
        valid = "csv: {header_row: …} is that of CSV files" if ".csv" in endings else "leave header_row out"
        document.fault([*at, "header_row"], f"{named} is no workbook", valid)
    if part.csv is not None and endings and endings <= {".xlsx", ".parquet", ".arrow"}:
        valid = "header_row stands beside sheet" if ".xlsx" in endings else "leave csv out"
        document.fault([*at, "csv"], f"{named} is no CSV file, so csv says nothing", valid)


def database_format_faults(part: BindingPart) -> Iterator[tuple[Location, str, str]]:
    """Yield keys of files in a feed of a database: location within the feed, fault, and what would be valid."""
    for key in OF_FILES:
        if key in part.model_fields_set:
            yield [key], f"a database has no files, so {key} says nothing", f"leave {key} out"


# Numbers and days.


def build_numbers(document: Document, at: Location, part: NumbersPart) -> NumberFormat:
    """Return the format of amounts."""
    thousands = "" if part.thousands == NO_MARK else part.thousands
    return NumberFormat(
        decimal=part.decimal,
        thousands=thousands,
        negative=NegativeStyle(part.negative) if part.negative else None,
        factor=build_factor(document, [*at, "factor"], part.factor),
        blank=BlankRule(part.blank) if part.blank else None,
        none=tuple(part.none),
    )


def build_factor(document: Document, at: Location, text: str | None) -> Decimal | None:
    """Return a factor; None if it is left out or no positive decimal number."""
    if text is None:
        return None
    if not FACTOR.fullmatch(text) or not Decimal(text):
        document.fault(at, f"'{text}' is no factor", "a decimal number above zero, such as 1000000 or 0.01")
        return None
    return Decimal(text)


def check_dates(document: Document, at: Location, part: DateFormat, domain: Domain | None) -> None:
    """Record a format of days that cannot be read, or lacks the day that the domain needs."""
    if part.format is not None:
        wrong = format_fault(part.format)
        if wrong:
            document.fault([*at, "format"], f"'{part.format}' is no format of days: {wrong}", FORMATS)
    lacks_day = (part.year is not None and part.day is None) or (part.format is not None and not has_day(part.format))
    if lacks_day and domain is not None and domain.grain is Grain.DATE:
        fault = f"these dates have no day, and the time of {domain.key} has grain: day"
        document.fault(at, fault, f"say grain: month under time in domains/{domain.key}.yaml, or give the day")


def has_day(format_: str) -> bool:
    """Tell whether texts in a format name a day, not only its month."""
    return format_ in (SERIAL_1900, SERIAL_1904) or not set(DIRECTIVE.findall(format_)).isdisjoint(OF_DAYS)


def format_fault(format_: str) -> str | None:
    """Return what is wrong with a format of days; None if it can be read."""
    if format_ in (SERIAL_1900, SERIAL_1904):
        return None
    found = DIRECTIVE.findall(format_)
    strange = [directive for directive in found if directive not in DIRECTIVES]
    if strange:
        return f"there is no %{strange[0]}"
    if not found:
        guess = strptime_format(format_)
        return f"did you mean '{guess}'?" if guess else "it has no %Y"
    if set(found).isdisjoint("YyF"):
        return "it has no year (%Y, or %y for two digits)"
    if set(found).isdisjoint("mbBjF"):
        return "it has no month (%m, or %b for its name)"
    return None


def strptime_format(text: str) -> str | None:
    """Return the format that a pattern such as dd.mm.yyyy means; None if it means none."""
    marks = {"yyyy": "%Y", "yy": "%y", "mmmm": "%B", "mmm": "%b", "mm": "%m", "m": "%m", "dd": "%d", "d": "%d"}
    found = re.sub(r"[a-z]+", lambda run: marks.get(run[0], "?"), text.lower())
    return found if "%" in found and "?" not in found else None


# Amounts and columns.


def build_amount(
    document: Document, at: Location, part: BindingPart, domain: Domain | None
) -> DebitCredit | DebitCreditSide | None:
    """Return how a measure is filled from debits and credits; None if the feed does not say so."""
    amount, where = part.amount, [*at, "amount"]
    if amount is None:
        return None
    if domain is None:
        document.fault(where, f"{part.target} holds no facts, so amount says nothing", "leave amount out")
        return None
    measure = filling_measure(document, where, part, domain, amount.measure)
    if measure is None:
        return None
    for key in ("map", "constant"):
        if measure.column in getattr(part, key):
            fault = f"'{measure.column}' is filled by amount and by {key}"
            document.fault([*at, key, measure.column], fault, "fill it once")
    credits_ = None if amount.credits is None else CreditSign(amount.credits)
    if amount.side is None or amount.column is None:
        return DebitCredit(column=measure.column, debit=amount.debit[0], credit=amount.credit[0], credits=credits_)
    for text in sorted(set(amount.debit).intersection(amount.credit)):
        document.fault([*where, "credit"], f"'{text}' marks a debit and a credit", "give each side texts of its own")
    return DebitCreditSide(
        column=measure.column,
        amount=amount.column,
        side=amount.side,
        debit=tuple(amount.debit),
        credit=tuple(amount.credit),
        credits=credits_,
    )


def filling_measure(
    document: Document, at: Location, part: BindingPart, domain: Domain, said: str | None
) -> Measure | None:
    """Return the measure that a key names, else the only one that a feed fills; else record a fault, return None."""
    converted = part.convert.into if part.convert else None
    choice = [key for key in domain.measures if key != converted]
    if said is not None:
        if said not in choice:
            fault = f"{domain.key} has no measure '{said}' that a feed fills"
            document.fault([*at, "measure"], fault, known(said, choice))
            return None
        return domain.measures[said]
    if len(choice) != 1:
        listed = ", ".join(choice) or "none"
        document.fault(at, f"{domain.key} has not one measure", f"say measure: one of {listed}")
        return None
    return domain.measures[choice[0]]


def build_controls(document: Document, at: Location, part: BindingPart, domain: Domain | None) -> ControlTotals:
    """Return the controls of a feed's files, with their measure. Records those that cannot be."""
    said, where = part.control_totals, [*at, "control_totals"]
    if said is None:
        return ControlTotals()
    if domain is None:
        document.fault(where, f"{part.target} holds no facts, so control_totals says nothing", "leave it out")
        return said
    for key in ("totals", "parents"):
        if getattr(said, key) and part.skip is None:
            fault = f"{key} is about the rows that skip leaves out, and it leaves out none"
            document.fault([*where, key], fault, "skip: {equals: {…}} names the rows of totals")
    if said.closing and part.unpivot is not None:
        document.fault([*where, "closing"], "columns become rows, so no balance is that behind a row", "leave it out")
    if not said.balanced and not said.closing:
        return said
    filled = part.amount.measure if part.amount else None
    measure = filling_measure(document, where, part, domain, said.measure or filled)
    return said if measure is None else said.model_copy(update={"measure": measure.key})


def build_unpivot(document: Document, at: Location, part: UnpivotPart) -> Unpivot:
    """Return how columns become rows."""
    if part.into == part.value:
        document.fault([*at, "value"], f"'{part.value}' is the column of the names too", "give the values another one")
    return Unpivot(
        columns=choose_columns(document, [*at, "columns"], part.columns),
        into=part.into,
        value=part.value,
        year=part.year,
    )


def choose_columns(document: Document, at: Location, said: Sequence[str]) -> ColumnChoice:
    """Return the columns that a list, a range or a pattern means."""
    if len(said) != 1:
        return ColumnChoice(names=tuple(said))
    first, dots, last = (piece.strip() for piece in said[0].partition(".."))
    if dots and first and last:
        return ColumnChoice(first=first, last=last)
    if dots:
        document.fault(at, f"'{said[0]}' is no range of columns", "name the first and the last, as Jan..Dec")
    if re.search(r"[*?]", said[0]):
        return ColumnChoice(pattern=said[0])
    return ColumnChoice(names=(said[0],))


def refuse_products(document: Document, at: Location, part: BindingPart, domain: Domain | None) -> None:
    """Record products of columns that are no measures."""
    measures = [measure.column for measure in domain.measures.values()] if domain else []
    for column, mapped in part.map.items():
        if not isinstance(mapped, str) and mapped.product is not None and column not in measures:
            document.fault(
                [*at, "map", column], f"'{column}' is no measure, and a product is an amount", known(column, measures)
            )


def refuse_constants(
    document: Document,
    at: Location,
    part: BindingPart,
    fillable: Collection[str],
    scenarios: Collection[str],
    domain: Domain | None,
) -> None:
    """Record constants of columns that do not exist or are filled otherwise, and of unknown scenarios."""
    for column, text in part.constant.items():
        here = [*at, "constant", column]
        if column not in fillable:
            document.fault(here, f"{part.target} has no '{column}'", known(column, fillable))
        elif column in part.map:
            document.fault(here, f"'{column}' is filled by constant and by map", "fill it once")
        elif domain is not None and column == domain.scenario_column:
            if part.scenario is not None:
                document.fault(here, "the scenario is said by scenario and by constant", "say it once")
            elif text not in scenarios:
                document.fault(here, f"there is no scenario '{text}'", known(text, scenarios))
