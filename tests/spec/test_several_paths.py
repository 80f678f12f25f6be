"""Trees in which a leaf reaches one node by several paths: each counts, or the tree is refused.

Rules: Weights.
"""

from decimal import Decimal
from pathlib import Path

import pytest

from engine.books.books import Shelf
from engine.books.checks import data_faults
from engine.door import Door, open_books
from engine.instance.read import STORE
from engine.model.errors import AmbiguousWeight
from server.feeds.instance import read_instance
from server.ingest.load import BindingFailed
from tests.support.books.small import figure, figures, small_books

TREE = """
    node   parent weight
    TOTAL  -      -
    NORD   TOTAL  1
    SUED   TOTAL  1
    N      NORD   1
    S      SUED   1
    SHARED NORD   0.5
    SHARED SUED   0.5
"""
THIRDS = """
    node   parent weight
    ALL    -      1
    A      ALL    -1
    B      ALL    -1
    C      ALL    1
    SHARED A      0.25
    SHARED B      0.25
    SHARED C      0.5
    S      B      1
"""
APART = """
    node   parent weight
    TOP    -      1
    S      TOP    1
    N      -      1
    N      TOP    0
    OUT    -      0
    SHARED OUT    1
"""
ROWS = """
    date       scenario cc     amount
    2026-02-10 actual   SHARED 870
    2026-02-10 actual   N      120
    2026-02-10 actual   S      45.5
"""
A = {"A": "actual"}
SPLIT = "cc: {kind: leaf}\nsplit: {kind: ragged, leaf_dimension: cc, nodes: live.split%s}"


def split_books(folder: Path, *, tree: str = TREE, adds: bool = True, profiles: str = "") -> Door:
    """Return books of one cost centre in several departments."""
    return small_books(
        folder,
        facts={"gl": ROWS},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {cc: cc}
            measures: {amount: {places: 2}}
            metrics: {cost: {measure: amount}}
            """
        },
        dimensions=SPLIT % (", paths: add" if adds else ""),
        tables={"split": tree},
        profiles=profiles,
    )


def cost(books: Door, *nodes: str) -> Decimal | None:
    """Return the cost of some nodes together."""
    return figure(books.metric("cost", scenarios=A, period="2026-02", filters={"split": list(nodes)}))


def taken_back(folder: Path, profile: str | None = None) -> Door:
    """Return the same books once their dimension no longer says paths: add."""
    instance = folder / "small"
    (instance / "dimensions.yaml").write_text(SPLIT % "")
    return open_books(instance, state=folder / "state", profile=profile)


def test_nodes_of_a_filter_add_the_parts_of_a_leaf(tmp_path: Path) -> None:
    books = split_books(tmp_path)
    by_node = books.metric("cost", scenarios=A, period="2026-02", dimensions=["split"])
    expected = {"NORD": Decimal(555), "SUED": Decimal("480.5"), None: Decimal("1035.5")}
    assert {key: amount for key, amount in figures(by_node, "split").items() if amount is not None} == expected
    assert (cost(books, "NORD", "SUED"), cost(books, "TOTAL")) == (Decimal("1035.5"), Decimal("1035.5"))


def test_parts_of_other_weights_and_signs_add_up_too(tmp_path: Path) -> None:
    books = split_books(tmp_path, tree=THIRDS)
    assert cost(books, "A", "C") == Decimal("652.5")
    assert cost(books, "A", "B", "C") == Decimal("915.5")
    assert cost(books, "ALL") == Decimal("-45.5")


def test_a_node_below_another_of_a_filter_adds_nothing(tmp_path: Path) -> None:
    books = split_books(tmp_path)
    assert cost(books, "NORD", "N") == Decimal(555)
    with pytest.raises(AmbiguousWeight):
        cost(books, "TOTAL", "NORD")


@pytest.mark.parametrize(
    ("nodes", "amount"),
    [
        (["TOP"], "45.5"),
        (["TOP", "N"], "165.5"),
        (["N", "TOP"], "165.5"),
        (["(all)", "N"], "165.5"),
        (["(all)", "OUT"], "1035.5"),
        (["SHARED", "(all)", "N"], "1035.5"),
    ],
)
def test_a_node_by_an_edge_of_weight_0_alone_does_not_lie_below_another(
    tmp_path: Path, nodes: list[str], amount: str
) -> None:
    assert cost(split_books(tmp_path, tree=APART, adds=False), *nodes) == Decimal(amount)


@pytest.mark.parametrize("tree", [TREE, THIRDS.replace("0.5", "-0.25")])
def test_a_load_refuses_equal_parts_of_a_tree_that_does_not_add_them(tmp_path: Path, tree: str) -> None:
    with pytest.raises(BindingFailed, match=r"'SHARED' reaches (TOTAL|ALL) by several paths with weights other than 1"):
        split_books(tmp_path, tree=tree, adds=False)


def test_books_that_hold_equal_parts_refuse_a_filter_of_them(tmp_path: Path) -> None:
    split_books(tmp_path)
    books = taken_back(tmp_path)
    assert (cost(books, "NORD"), cost(books, "SUED")) == (Decimal(555), Decimal("480.5"))
    for nodes in (["TOTAL"], ["NORD", "SUED"]):
        with pytest.raises(AmbiguousWeight, match="separate calls"):
            cost(books, *nodes)
    read = read_instance(tmp_path / "small")
    (fault,) = data_faults(Shelf(read.catalogue, tmp_path / "state" / STORE).current(), ["gl"])
    assert "split: in split, 'SHARED' reaches TOTAL by several paths" in fault


def test_a_leaf_that_is_hidden_is_no_reason_to_refuse(tmp_path: Path) -> None:
    few = "few: {scenarios: {'*': {dimensions: {cc: {allow: [N, S]}}}}}"
    split_books(tmp_path, profiles=few)
    books = taken_back(tmp_path, "few")
    assert (cost(books, "NORD", "SUED"), cost(books, "TOTAL")) == (Decimal("165.5"), Decimal("165.5"))
