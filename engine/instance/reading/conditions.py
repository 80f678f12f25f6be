"""Builds the conditions on amounts of a metric's `where`: "< 0", "= 0", "100..500", "> 0 and <= 100"."""

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, floor

from engine.model.catalogue import Measure
from engine.model.scope import LEAST_AMOUNT, MOST_AMOUNT, AmountRange

NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
COMPARISON = re.compile(rf"(<=|>=|!=|<|>|=)\s*({NUMBER})")
RANGE = re.compile(rf"({NUMBER})\s*\.\.\s*({NUMBER})")
VALID = 'write "< 0", "<= 0", "> 0", ">= 0", "= 0", "!= 0", "100..500", or several joined by and'


class ConditionFault(ValueError):
    """A condition that cannot be read, or that no amount of the measure can meet."""


def parse_condition(texts: Sequence[str], measure: Measure) -> Iterator[AmountRange]:
    """Yield the ranges that a condition names, in units of the last place of the measure. Raises ConditionFault."""
    if len(texts) != 1:
        raise ConditionFault("has several values; a condition on amounts is one text")
    for part in texts[0].split(" and "):
        least, most, complement = bounds_of(part.strip(), 10**measure.places)
        if complement and (least > most or least > MOST_AMOUNT or most < LEAST_AMOUNT):  # all others are all amounts
            least, most, complement = LEAST_AMOUNT, MOST_AMOUNT, False
        if least > most or least > MOST_AMOUNT or most < LEAST_AMOUNT:
            raise ConditionFault(f"'{part}' holds for no amount of {measure.places} decimal places")
        yield AmountRange(measure.key, max(least, LEAST_AMOUNT), min(most, MOST_AMOUNT), complement, part.strip())


def bounds_of(text: str, units: int) -> tuple[int, int, bool]:
    """Return the least and the most units that meet a comparison or range, and whether all others meet it instead."""
    if match := RANGE.fullmatch(text):
        first, last = (Fraction(number) * units for number in match.groups())
        return ceil(first), floor(last), False
    match = COMPARISON.fullmatch(text)
    if match is None:
        raise ConditionFault(f"'{text}' is no condition on amounts")
    limit = Fraction(match[2]) * units
    return {
        "<": (LEAST_AMOUNT, ceil(limit) - 1, False),
        "<=": (LEAST_AMOUNT, floor(limit), False),
        ">": (floor(limit) + 1, MOST_AMOUNT, False),
        ">=": (ceil(limit), MOST_AMOUNT, False),
        "=": (ceil(limit), floor(limit), False),
        "!=": (ceil(limit), floor(limit), True),
    }[match[1]]
