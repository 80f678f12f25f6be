"""The search for the longest answer within its budget."""

from math import log2
from random import Random
from string import ascii_letters, ascii_lowercase, digits

import pytest
from msgspec.json import encode

from benches.tokens import counted
from engine.present.answers.budget import Json, LeftOut, fitted, tokens, tokens_of


def answer_of(entries: list[str], few: int, left: LeftOut) -> Json:
    """Return an answer of two axes: a few long paragraphs, which go first, and entries."""
    return {
        "paragraphs": ["A paragraph of an answer. " * 20] * (few - left["paragraphs"]),
        "entries": entries[: len(entries) - left["entries"]],
    }


@pytest.mark.parametrize("seed", range(12))
def test_the_longest_answer_within_the_budget_is_found_in_few_attempts(seed: int) -> None:
    random = Random(seed)
    entries = ["x" * random.choice((1, 5, 50, 500)) for _ in range(random.randint(0, 150))]
    few, budget = random.randint(0, 9), random.randint(5, 6_000)
    axes = {"paragraphs": few, "entries": len(entries)}
    every = [{"paragraphs": at, "entries": 0} for at in range(few)]
    every += [{"paragraphs": few, "entries": at} for at in range(len(entries) + 1)]
    fitting = (found for left in every if tokens(found := answer_of(entries, few, left)) <= budget)
    attempts: list[LeftOut] = []
    stops: list[None] = []

    def build(left: LeftOut) -> Json:
        assert len(stops) == len(attempts) + 1  # `stop` is called before each attempt
        attempts.append(left)
        return answer_of(entries, few, left)

    assert fitted(build, axes, budget, lambda: stops.append(None)) == next(fitting, None)
    assert len(attempts) <= 6 + 3 * log2(len(entries) + few + 2)
    assert all(left["paragraphs"] == few for left in attempts if left["entries"])


def test_what_must_be_left_out_is_not_tried() -> None:
    tried: list[int] = []

    def build(left: LeftOut) -> Json:
        tried.append(left["entries"])
        return {"entries": ["x" * 100] * (1000 - left["entries"])}

    found = fitted(build, {"entries": 1000}, 1000, least=900)
    assert found is not None
    assert len(found["entries"]) == 32
    assert min(tried) == 900


@pytest.mark.parametrize(
    "characters",
    ["0123456789abcdef", "0123456789ABCDEF", ascii_lowercase + "234567", ascii_letters + digits],
    ids=["hex", "HEX", "base32", "base62"],
)
@pytest.mark.parametrize("length", [12, 24, 36])
def test_rows_of_random_ids_take_no_more_tokens_than_the_estimate(characters: str, length: int) -> None:
    """As UUIDs of journals are: a tokenizer has no words for them."""
    rng = Random(f"{characters}{length}")
    rows = [["".join(rng.choices(characters, k=length)), "2026-03-05", rng.randrange(10**6) / 100] for _ in range(300)]
    text = encode(rows)
    assert counted(text.decode()) <= tokens_of(text) <= 1.4 * counted(text.decode())
