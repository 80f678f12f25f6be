"""Answers to a fixed set of books and requests: `python -m tests.laws.oracle.replay SEED BOOKS`."""

import json
import sys
from collections.abc import Callable

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.laws.oracle.asking import ask, told
from tests.laws.oracle.books import OracleBooks
from tests.laws.oracle.requests import requests
from tests.laws.oracle.strategies import random_books
from tests.laws.oracle.writing import opened


def from_seed(number: int, count: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the decorator of a test that takes so many examples from a seed, and shrinks none."""
    generated = settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    return lambda test: seed(number)(generated(test))


def replay(number: int, count: int) -> None:
    """Print what the engine answers to the requests of a seed, one JSON object a line."""

    @from_seed(number, count)
    @given(data=st.data(), books=random_books())
    def answered(data: st.DataObject, books: OracleBooks) -> None:
        with opened(books) as door:
            for request in data.draw(st.lists(requests(books), min_size=4, max_size=4)):
                sys.stdout.write(json.dumps(told(ask(door, books, request))) + "\n")

    answered()


if __name__ == "__main__":
    replay(int(sys.argv[1]), int(sys.argv[2]))
