"""Periods: the time of a table of facts, by its columns, else by what its name and its titles say."""

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Final

import polars as pl
from msgspec import Struct

from engine.model.calendar.periods import GRAINS, Grain
from server.files.dates import UNREADABLE, in_format
from server.files.days import typed_days
from server.files.findings import Ambiguity, Finding, Findings, Reading, located
from server.files.period_names import YEAR, codes_in, month_of
from server.files.written_days import HOW_DAYS, unread_period
from server.setup.answers import LAST_QUARTER, FileAnswers
from server.setup.column_profiles import ColumnRole
from server.setup.months import is_numbered, turns_the_year
from server.setup.questions import Choice, OpenQuestion
from server.setup.roles import TableProfile

INTO: Final = "month"  # the column that periods across become
PERIOD: Final = "period"  # the key of answers that says the time of every row of a file
OF_ONE_YEAR: Final = "or take all as months of one calendar year"
SAID: Final = (Grain.MONTH, Grain.QUARTER, Grain.YEAR)  # what the period of all rows may be


class FactsTime(Struct, frozen=True):
    """The grain of the time of a table, its first and last day in the sample, and constants that fill it."""

    grain: Grain
    first: date
    last: date
    constants: Mapping[str, str]


def time_findings(found: TableProfile, fiscal_start: int) -> Findings:
    """Return the keys by which the time of a table is read; `period` if its name or its titles say it."""
    column = found.first(ColumnRole.TIME)
    if column is not None:
        day = found.columns[column].day
        return day.findings if day and column not in found.table.temporal else Findings()
    if found.across is not None:
        return across_findings(found, fiscal_start)
    year, month = found.first(ColumnRole.YEAR), found.first(ColumnRole.MONTH)
    if year and month:
        evidence = found.roles[year][1]
        return Findings((Finding("dates.year", year, evidence), Finding("dates.month", month, found.roles[month][1])))
    return Findings() if year else said_once(PERIOD, dict(said_periods(found)))


def unread_time(found: TableProfile) -> str | None:
    """Return what is wrong with the first period that is not read, in a table without a time; None if there is none."""
    if any(found.first(role) for role in (ColumnRole.TIME, ColumnRole.YEAR)):
        return None
    for column, (role, _) in found.roles.items():
        if role in {ColumnRole.TEXT, ColumnRole.DIMENSION, ColumnRole.ACCOUNT} and column not in found.overrides:
            texts = found.table.sample.texts(column).select("text", "row").iter_rows()
            if unread := unread_period(list(texts)):
                return f"{located(column, [unread])} is a period in a form that is not read: {HOW_DAYS}"
    return None


def across_findings(found: TableProfile, fiscal_start: int) -> Findings:
    """Return the keys that make rows of months across, with their year."""
    across = found.across
    assert across is not None  # noqa: S101 - the caller asked
    names, kind = list(across.names), "half years" if across.are_halves else f"{across.grain.value}s"
    columns = [Finding("unpivot.columns", names, f"{len(names)} columns from {names[0]} to {names[-1]} are {kind}")]
    columns += [Finding("unpivot.into", INTO, "periods become rows"), Finding("unpivot.value", "amount", "")]
    made = Findings(tuple(columns)).and_(across.findings)
    if across.has_years:
        return made
    span = f"the columns {names[0]} to {names[-1]}"
    if turns_the_year(names):
        evidence = f"{span} run from one year into the next: name each with its year, as {names[0]} 2026, {OF_ONE_YEAR}"
        return made.and_(Findings(ambiguities=(Ambiguity("unpivot.year", evidence, ()),)))
    if fiscal_start != 1 and is_numbered(names):
        evidence = f"{span} may count from January or from month {fiscal_start}: name each, as Jan 2026, {OF_ONE_YEAR}"
        return made.and_(Findings(ambiguities=(Ambiguity("unpivot.year", evidence, ()),)))
    year = found.first(ColumnRole.YEAR)
    if year is not None:
        return made.and_(Findings((Finding("unpivot.year", year, found.roles[year][1]),)))
    years: dict[str, str] = {}
    for code, where in said_periods(found):
        years.setdefault(code[:4], where)
    if not years:
        evidence = f"{span} name no year, and nor does the file"
        return made.and_(Findings(ambiguities=(Ambiguity("unpivot.year", evidence, ()),)))
    return made.and_(said_once("unpivot.year", years))


def half_years(found: TableProfile, said: FileAnswers) -> Iterator[OpenQuestion]:
    """Yield the question about half years across, of which books hold quarters alone."""
    if found.across is not None and found.across.are_halves and said.half_years is None:
        says = f"{', '.join(found.across.names)} are half years, and books hold months, quarters or years"
        effect = "each is held in its last quarter: reports of halves and years are right, those of one quarter are not"
        yield OpenQuestion(found.name, says, (Choice({"half_years": LAST_QUARTER}, effect),))


def said_once(key: str, said: Mapping[str, str]) -> Findings:
    """Return what a name and titles say as the value of a key, each with its place; an ambiguity of several."""
    if len(said) < 2:
        return Findings(tuple(Finding(key, code, where) for code, where in said.items()))
    readings = tuple(Reading({key: code}, f"{code} ({where})") for code, where in said.items())
    return Findings(ambiguities=(Ambiguity(key, "the time of the rows", readings),))


def said_periods(found: TableProfile) -> Iterator[tuple[str, str]]:
    """Yield each period that the name of a file and its titles say, with the place that says it.

    A year is left out if one of its months is said too.
    """
    places = [("the name of the file", found.name), *((f"row {row}", text) for row, text in found.table.titles)]
    said: dict[str, str] = {}
    for where, text in places:
        for code in sorted(set(codes_in(text))):
            said.setdefault(code, f"{where}: '{text}'")
    months = {code[:4] for code in said if len(code) > len("2026")}
    yield from ((code, where) for code, where in said.items() if code not in months)


def time_of(found: TableProfile, findings: Findings) -> FactsTime | None:
    """Return the time of a table by its columns, else by its period; None if it has none."""
    column = found.first(ColumnRole.TIME)
    if column is not None and (day := found.columns[column].day):
        format_ = findings.value("dates.format")
        if format_ and day.findings.ambiguities:  # one of both readings was chosen
            read = found.table.sample.frame[column].str.to_date(format_, strict=False)
            return FactsTime(day.grain, read.min() or day.first, read.max() or day.last, {})  # type: ignore[arg-type]  # days
        return FactsTime(day.grain, day.first, day.last, {})
    if column is not None:
        format_, months = findings.value("dates.format"), tuple(findings.value("dates.months") or ())
        return time_in(found.table.sample.frame[column], str(format_), months) if format_ else None
    if found.across is not None:
        return time_across(found, findings.value("unpivot.year"))
    frame = found.table.sample.frame
    year, month = found.first(ColumnRole.YEAR), found.first(ColumnRole.MONTH)
    if year is None:
        return time_said(str(findings.value(PERIOD) or ""))
    years = sorted(frame[year].drop_nulls())
    if month is None:
        return FactsTime(Grain.YEAR, date(int(years[0]), 1, 1), date(int(years[-1]), 12, 31), {})
    pairs = sorted({(int(one), int(other)) for one, other in frame.select(year, month).drop_nulls().iter_rows()})
    return FactsTime(Grain.MONTH, date(*pairs[0], 1), date(*pairs[-1], 1), {})


def time_in(texts: pl.Series, format_: str, months: tuple[str, ...]) -> FactsTime | None:
    """Return the time of a column in a format that was answered; None if a text is no day in it."""
    read = in_format(texts.drop_nulls().unique(), format_, months)
    if read.is_empty() or read.str.starts_with(UNREADABLE).any():
        return None
    grain = Grain.MONTH if read.str.len_chars().max() == len("2026-01") else Grain.DATE
    days = sorted(date.fromisoformat(f"{text}-01"[: len("2026-01-31")]) for text in read)
    return FactsTime(grain, days[0], days[-1], {})


def time_across(found: TableProfile, said: str | None) -> FactsTime | None:
    """Return the time of months across; `said` is their year or the column with it. None if it is neither."""
    assert found.across is not None  # noqa: S101 - the caller asked
    if found.across.codes:
        return time_coded(found.across.codes, found.across.grain)
    if found.across.has_years:
        read = typed_days("columns", [(name.strip(), None) for name in found.across.names])
        bounds = (read.first, read.last) if read else (date.min, date.min)
        return FactsTime(Grain.MONTH, *bounds, {})
    frame = found.table.sample.frame
    years = sorted(frame[said].drop_nulls()) if said in frame.columns else [str(said)]
    months = [number for name in found.across.names if (number := month_of(name))]
    if not years or not all(map(YEAR.fullmatch, years)):
        return None
    return FactsTime(Grain.MONTH, date(int(years[0]), min(months), 1), date(int(years[-1]), max(months), 1), {})


def time_coded(codes: Mapping[str, str], grain: Grain) -> FactsTime | None:
    """Return the time of columns that name periods by their codes."""
    said = [time for code in sorted(codes.values()) if (time := time_said(code)) is not None]
    return FactsTime(grain, said[0].first, said[-1].last, {}) if said else None


def time_said(code: str) -> FactsTime | None:
    """Return the time of rows that are all of one period; None if its code is none of a month, quarter or year."""
    grain = next((grain for grain in SAID if GRAINS[grain].parse(code) is not None), None)
    if grain is None or not YEAR.fullmatch(code[:4]):
        return None
    year, part = int(code[:4]), code[5:]
    if grain is Grain.YEAR:
        return FactsTime(grain, date(year, 1, 1), date(year, 12, 31), {"year": code})
    first = date(year, int(part) if grain is Grain.MONTH else 3 * int(part[1]) - 2, 1)
    return FactsTime(grain, first, first, {grain.value: code})
