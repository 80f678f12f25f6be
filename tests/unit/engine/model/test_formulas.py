"""Formulas as the terms that they add up, against the fractions that the same text gives."""

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.model.formula_parser import parse
from engine.model.formulas import UndefinedFigure, linear_terms

NAMES = ("a", "b", "c")
TEXTS = st.recursive(
    st.sampled_from((*NAMES, "2", "3", "0")),
    lambda part: st.tuples(part, st.sampled_from("+-*/"), part).map(lambda made: f"({made[0]} {made[1]} {made[2]})"),
    max_leaves=6,
)


def value_of(text: str, **known: Fraction) -> Fraction:
    """Return what Python makes of a formula in fractions."""
    found = eval(re.sub(r"\d+", r"Fraction(\g<0>)", text), {"Fraction": Fraction}, known)  # noqa: S307 - a text of TEXTS
    return Fraction(found)


@given(text=TEXTS, values=st.tuples(*[st.fractions(-9, 9)] * 3))
def test_a_formula_that_adds_names_up_is_the_sum_of_its_terms(text: str, values: tuple[Fraction, ...]) -> None:
    known = dict(zip(NAMES, values, strict=True))
    try:
        terms, expected = linear_terms(parse(text)), value_of(text, **known)
    except (ArithmeticError, UndefinedFigure):  # it divides by 0
        return
    if terms is not None:
        found = (Fraction(times.numerator, times.denominator) * known[name] for name, times in terms)
        assert sum(found, Fraction()) == expected


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("a", [("a", 1)]),
        ("-a", [("a", -1)]),
        ("a - (b - 2 * c)", [("a", 1), ("b", -1), ("c", 2)]),
        ("(a + b) / 4 * 2", [("a", Fraction(1, 2)), ("b", Fraction(1, 2))]),
        ("a - a", [("a", 1), ("a", -1)]),
        ("a + 0", [("a", 1)]),
        ("a + (1 - 1)", [("a", 1)]),
        ("a + 1", None),
        ("a * b", None),
        ("a / b", None),
        ("2 / a", None),
        ("a + b / c", None),
        ("7", None),
    ],
)
def test_a_formula_does_no_more_than_add_its_names_up_or_has_no_terms(
    text: str, terms: list[tuple[str, Fraction]] | None
) -> None:
    found = linear_terms(parse(text))
    made = [(name, Fraction(times.numerator, times.denominator)) for name, times in found or ()]
    assert (made or None) == terms
