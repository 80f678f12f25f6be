"""One proof that a row is the sum of those above it, for init and for loads."""

import pytest

from server.files.total_sums import TotalProof, TotalSums


def test_a_total_is_the_sum_of_a_block_of_all_rows_or_of_the_last_totals() -> None:
    sums = TotalSums()
    assert sums.proof((5,), (5,), 2) == TotalProof(2)
    sums.close((5,), (5,), 2)
    assert sums.proof((7,), (12,), 5) == TotalProof(3)  # 12 - 5: the block below the first
    assert sums.proof((12,), (12,), 5) == TotalProof(5)
    sums.close((7,), (12,), 5)
    assert sums.proof((12,), (13,), 6) == TotalProof(2, of_totals=True)  # 5 + 7, beside a row of 1
    sums.close((12,), (13,), 6)
    assert sums.proof((7,), (13,), 6) is None, "what a total added up is open no more"
    assert sums.difference((14,), (15,)) == 12  # from the block below the last total, 15 - 13
    assert str(TotalProof(1200, of_totals=True)) == "the sum of the 1,200 sums above"


@pytest.mark.parametrize(("fewest", "proof"), [(1, TotalProof(1)), (2, None)])
def test_a_sum_of_one_row_is_a_proof_for_those_who_know_that_it_is_a_total(
    fewest: int, proof: TotalProof | None
) -> None:
    assert TotalSums(fewest).proof((5,), (5,), 1) == proof


def test_every_amount_of_a_total_is_a_sum_and_those_that_it_lacks_are_not_held_against_it() -> None:
    sums = TotalSums()
    assert sums.proof((5, 8), (5, 7), 2) is None
    assert sums.difference((5, 8), (5, 7)) == 1
    assert sums.proof((5, None), (5, 7), 2) == TotalProof(2)
    sums.close((5, 7), (5, 7), 2)
    assert sums.difference((14, 9), (15, 9)) == -1  # from the sum of all rows, which fits more columns
