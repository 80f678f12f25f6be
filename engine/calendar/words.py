"""Days, months and runs of them in words."""

from datetime import date
from enum import Enum

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class Beside(Enum):
    """What is said beside the name of a period: nothing where the name says it, else its days or its months."""

    NOTHING = ""
    DAYS = "days"
    MONTHS = "months"


def day_words(day: date) -> str:
    """Return a day in words: "3 Jan 2021"."""
    return f"{day.day} {month_words(day)}"


def month_words(day: date) -> str:
    """Return the month of a day in words: "Jul 2011"."""
    return f"{MONTHS[day.month - 1]} {day.year}"


def days_words(first: date, last: date) -> str:
    """Return some days in words: "29 Jul–25 Aug 2012"."""
    if first.year != last.year:
        return f"{day_words(first)}–{day_words(last)}"
    begin = f"{first.day} {MONTHS[first.month - 1]}" if first.month != last.month else str(first.day)
    return day_words(last) if first == last else f"{begin}–{day_words(last)}"


def months_words(first: date, last: date) -> str:
    """Return some months in words: "Jul–Sep 2011", "Jul 2011–Jun 2012"."""
    begin = MONTHS[first.month - 1] if first.year == last.year else month_words(first)
    return f"{begin}–{month_words(last)}"


def named(name: str, beside: Beside, first: date, last: date) -> str:
    """Return a name with what is said beside it: "FY2012 Q1 (Jul–Sep 2011)"."""
    if beside is Beside.NOTHING:
        return name
    words = days_words if beside is Beside.DAYS else months_words
    return f"{name} ({words(first, last)})"
