"""Labels of days, months and periods."""

from datetime import date
from enum import Enum

MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
MONTHS = tuple(name[:3] for name in MONTH_NAMES)


class LabelDetail(Enum):
    """The detail in a period's label after its name: none, its days or its months."""

    NOTHING = ""
    DAYS = "days"
    MONTHS = "months"


def day_words(day: date) -> str:
    """Return the label of a day: "3 Jan 2021"."""
    return f"{day.day} {month_words(day)}"


def month_words(day: date) -> str:
    """Return the label of the month of a day: "Jul 2011"."""
    return f"{MONTHS[day.month - 1]} {day.year}"


def days_words(first: date, last: date) -> str:
    """Return the label of consecutive days: "29 Jul–25 Aug 2012"."""
    if first.year != last.year:
        return f"{day_words(first)}–{day_words(last)}"
    begin = f"{first.day} {MONTHS[first.month - 1]}" if first.month != last.month else str(first.day)
    return day_words(last) if first == last else f"{begin}–{day_words(last)}"


def months_words(first: date, last: date) -> str:
    """Return the label of consecutive months: "Jul–Sep 2011", "Jul 2011–Jun 2012"."""
    begin = MONTHS[first.month - 1] if first.year == last.year else month_words(first)
    return f"{begin}–{month_words(last)}"


def label_with_detail(name: str, beside: LabelDetail, first: date, last: date) -> str:
    """Return a name with its detail: "FY2012 Q1 (Jul–Sep 2011)"."""
    if beside is LabelDetail.NOTHING:
        return name
    words = days_words if beside is LabelDetail.DAYS else months_words
    return f"{name} ({words(first, last)})"
