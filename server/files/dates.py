"""Dates: days in the format of a feed as ISO days or period codes, and the key that would read a text that is none."""

import re
from collections.abc import Sequence
from typing import Final

import polars as pl

from engine.model.calendar.labels import MONTH_NAMES, MONTHS
from engine.model.calendar.periods import GRAINS, Grain
from server.feeds.extract_formats import DIRECTIVES, OF_DAYS, SERIAL_1900, SERIAL_1904, DateFormat
from server.files.columns import MIDNIGHT, to_text
from server.files.days import SERIALS, USUAL

ISO_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
DIGIT = "[0-9]"
UNREADABLE = "?"  # in front of a text that is no day in its format
EPOCHS: Final = {SERIAL_1900: "1899-12-30", SERIAL_1904: "1904-01-01"}
SERIAL = r"^([0-9]{1,6})(\.[0-9]+)?$"
DIRECTIVE = re.compile(r"%[-_0]?(\.f|.)", re.DOTALL)
TIMES = "HMSTIp"
ABBREVIATED: Final = tuple(name.casefold() for name in MONTHS)
ISO: Final = "%Y-%m-%d"
MONTH_DIGITS: Final = re.compile(
    r"(?:(?P<word>p|per|periode?|período|periodo|période|m|mon|months?|monat|mois|mes|mese|maand)[\s._-]*)?"
    r"(?P<month>\d{1,2})"
)
STAMP: Final = re.compile(
    r"(?P<day>.*\d)(?P<gap>[T ])\d{1,2}:\d{2}(?P<seconds>:\d{2}(?P<fraction>\.\d{1,9})?)?(?P<half> ?[AP]M)?"
    r"(?P<zone>Z|[+-]\d{2}:?\d{2})?",
    re.IGNORECASE,
)
COARSER: Final = (Grain.WEEK, Grain.MONTH, Grain.QUARTER, Grain.YEAR)  # that the time of a domain may have
WITH_TIME = ", for it has a time"
MOST_TRIED = 100  # texts of which the key is looked for


def iso_texts(column: pl.Series, dates: DateFormat) -> pl.Series:
    """Return days in a format as ISO days, or as codes such as 2026-01 if it has no day; unreadable ones marked."""
    if dates.format is None or column.dtype.is_temporal():
        return column
    texts = to_text(column)
    distinct = texts.drop_nulls().unique()
    read = in_format(distinct, dates.format, dates.months)
    return texts.replace_strict(distinct, read, default=None, return_dtype=pl.String)


def in_format(texts: pl.Series, format_: str, months: Sequence[str] | None = None) -> pl.Series:
    """Return distinct texts as ISO days or codes; UNREADABLE stands in front of those that are not in the format."""
    text = pl.col("text").str.strip_chars()
    frame = pl.DataFrame({"text": texts})
    if format_ in EPOCHS:
        days = pl.lit(EPOCHS[format_]).str.to_date() + pl.duration(days=text.str.extract(SERIAL, 1).cast(pl.Int64))
        made = days.dt.to_string("%Y-%m-%d")
    else:
        format_ = format_.replace(".%f", "%.f")  # Polars reads digits after %f as a whole number, and warns
        found = DIRECTIVE.findall(format_)
        if set(found).isdisjoint(TIMES):
            text = text.str.replace(f"{MIDNIGHT}$", "")
        if months:
            frame = frame.with_columns(text=pl.Series(english(frame["text"].to_list(), months), dtype=pl.String))
        fits = text.str.contains(shape_of(format_))
        if set(found).isdisjoint(OF_DAYS):
            days = (text + pl.lit("|01")).str.to_date(f"{format_}|%d", strict=False)
            made = pl.when(fits).then(days.dt.to_string("%Y-%m"))
        else:
            made = pl.when(fits).then(text.str.to_date(format_, strict=False).dt.to_string("%Y-%m-%d"))
    plain = pl.col("text").str.replace(f"{MIDNIGHT}$", "")
    made = pl.coalesce(made, pl.when(plain.str.contains(ISO_DAY)).then(plain), pl.lit(UNREADABLE) + pl.col("text"))
    return frame.select(made.alias("text"))["text"]


def shape_of(format_: str) -> str:
    """Return the pattern of texts in a format, which Polars would read more loosely: 24 is no year of four digits.

    Numbers without a mark between them have all their digits: 2025111 would be two days.
    """
    parts: list[str] = []
    done = 0
    for directive in DIRECTIVE.finditer(format_):
        shape, between = DIRECTIVES.get(directive[1], ".+"), format_[done : directive.start()]
        if parts and not between and parts[-1].startswith(DIGIT) and shape.startswith(DIGIT):
            parts[-1], shape = parts[-1].replace("{1,", "{"), shape.replace("{1,", "{")
        parts += (re.escape(between), shape)
        done = directive.end()
    return "^" + "".join((*parts, re.escape(format_[done:]))) + "$"


def english(texts: Sequence[str], months: Sequence[str]) -> list[str]:
    """Return texts with the names of months in English."""
    names = {name.casefold(): ABBREVIATED[number] for number, name in enumerate(months)}
    known = re.compile("|".join(sorted(map(re.escape, names), key=len, reverse=True)))
    return [known.sub(lambda found: names[found[0]], text.casefold()) for text in texts]


def joined_parts(year: pl.Series, month: pl.Series, day: pl.Series | None, months: Sequence[str] | None) -> pl.Series:
    """Return ISO days, or codes of months, from columns with their parts; null where all parts are missing."""
    parts = {"year": to_text(year), "month": month_numbers(to_text(month), months)}
    if day is not None:
        parts["day"] = to_text(day).str.strip_chars().str.pad_start(2, "0")
    frame = pl.DataFrame(parts).with_columns(pl.col("year").str.strip_chars())
    joined = pl.concat_str([pl.col(name).fill_null("") for name in parts], separator="-")
    return frame.select(pl.when(pl.any_horizontal(pl.all().is_not_null())).then(joined).alias("text"))["text"]


def month_numbers(column: pl.Series, months: Sequence[str] | None = None) -> pl.Series:
    """Return names and numbers of months (Jan, January, 1, 01, P01) as two digits; other texts as they are."""
    distinct = column.drop_nulls().unique().to_list()
    return column.replace_strict(
        distinct, [month_number(text, months) or text for text in distinct], default=None, return_dtype=pl.String
    )


def month_number(text: str, months: Sequence[str] | None = None) -> str | None:
    """Return the number of a month by its name or number, in two digits; None if the text means anything else.

    An English month may be cut after its third letter: Jan, Sept. A quarter, a week or a sum of months is no month.
    """
    word = text.strip().casefold().removesuffix(".")
    if months:
        named = [number for number, name in enumerate(months, 1) if name.casefold().removesuffix(".") == word]
    else:
        named = [
            number for number, name in enumerate(MONTH_NAMES, 1) if len(word) > 2 and name.casefold().startswith(word)
        ]
    digits = MONTH_DIGITS.fullmatch(word)
    if named:
        return f"{named[0]:02}"
    return f"{int(digits['month']):02}" if digits else None


def hint_days(column: pl.Series, reasons: pl.Series, dates: DateFormat, grain: Grain) -> pl.Series:
    """Return reasons that name the format of the feed, or the key that would read the text at the grain of a domain."""
    bad = reasons.str.starts_with("is no day (").fill_null(value=False)
    if not bad.any():
        return reasons
    if dates.format is not None:
        return reasons.set(bad, f"is no day ({dates.format})")
    distinct = to_text(column.filter(bad)).drop_nulls().unique().head(MOST_TRIED)
    parts = [stamp_parts(text) for text in distinct]
    days = pl.Series([day for day, _ in parts], dtype=pl.String)
    reads = {format_: in_format(days, format_).str.starts_with(UNREADABLE) for format_ in (ISO, *USUAL)}
    hints: dict[str, str] = {}
    for at, (text, (_, time)) in enumerate(zip(distinct, parts, strict=True)):
        fitting = [format_ for format_, unread in reads.items() if not unread[at]]
        formats = [ISO] if ISO in fitting else fitting  # an ISO day is read in every format
        if key := key_for(text, [f"{format_}{time}" for format_ in formats], grain):
            hints[text] = f"{WITH_TIME if time else ''}; set {key}"
    if not hints:
        return reasons
    said = to_text(column).replace_strict(hints, default="", return_dtype=pl.String)
    return pl.DataFrame({"reason": reasons, "hint": said}).select(pl.col("reason") + pl.col("hint").fill_null(""))[
        "reason"
    ]


def stamp_parts(text: str) -> tuple[str, str]:
    """Return the day of a text, and the format of the time behind it; the text as it is if there is none."""
    stamp = STAMP.fullmatch(text.strip())
    if stamp is None:
        return text, ""
    half, zone = stamp["half"] or "", stamp["zone"] or ""
    hours = ("%I:%M" if half else "%H:%M") + ":%S" * bool(stamp["seconds"]) + ".%f" * bool(stamp["fraction"])
    return stamp["day"], stamp["gap"] + hours + half[:-2] + "%p" * bool(half) + (zone if zone in "Zz" else "%z")


def key_for(text: str, formats: Sequence[str], grain: Grain) -> str | None:
    """Return the key that reads a text as a period of a grain; `formats` are the usual ones that read it."""
    serial = re.fullmatch(SERIAL, text.strip())
    if serial and int(serial[1]) in SERIALS:
        return "dates: {format: serial}"
    days = [one for one in formats if grain is not Grain.DATE or not set(DIRECTIVE.findall(one)).isdisjoint(OF_DAYS)]
    if days:
        return "dates: {format: '" + "'} or {format: '".join(days) + "'}"
    if grain is not Grain.DATE:
        return None
    periods = [one.value for one in COARSER if GRAINS[one].shape.fullmatch(text.strip())] or ["month"] * bool(formats)
    return f"grain: {periods[0]} under time of the domain, or give the day" if periods else None
