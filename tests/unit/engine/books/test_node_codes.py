"""What a cut by nodes of a large tree selects is told by its table, as the opened tree tells it."""

from pathlib import Path
from random import Random

import polars as pl
import pytest

from engine.books import books as opened_books
from engine.books import node_codes
from engine.books.books import Books, codes_of
from engine.books.loaded_members import MemberTables
from engine.books.node_codes import codes_below
from engine.model.members.trees import HierarchyFault, RaggedNodes, leaf_members, ragged_nodes
from engine.model.scope import ALL, OWN, UNASSIGNED, Cut
from tests.support.books.searched import books_of

NODES = ("World", "Europe", "K1", "K3", "none")
CUTS = [(), *((node,) for node in NODES), ("Europe", "K3"), ("K1", "K1"), ("Europe", "K1"), ("K3", "none")]
EDGE_CUTS = [("World/(own)",), (UNASSIGNED,), (ALL,), ("Europe", UNASSIGNED)]


@pytest.fixture
def books(tmp_path: Path) -> Books:
    """Books with a tree in which one path leads to each node, and one in which several do."""
    return books_of(tmp_path, profiles="").reader._books


@pytest.mark.parametrize("deny", [True, False])
def test_a_cut_by_nodes_of_a_large_tree_opens_none(
    books: Books, monkeypatch: pytest.MonkeyPatch, *, deny: bool
) -> None:
    expected = [codes_of(Cut("territory", ids, deny=deny), books) for ids in CUTS]
    books._memos.clear()

    def read(dimension: str, *_: object, **__: object) -> RaggedNodes:
        raise AssertionError(f"{dimension} is opened")

    monkeypatch.setattr(opened_books, "ragged_nodes", read)
    monkeypatch.setattr(node_codes, "MAX_OPENED", 0)
    assert [codes_of(Cut("territory", ids, deny=deny), books) for ids in CUTS] == expected
    for ids in EDGE_CUTS:
        with pytest.raises(AssertionError, match="territory is opened"):
            codes_of(Cut("territory", ids, deny=deny), books)
    with pytest.raises(AssertionError, match="channel is opened"):
        codes_of(Cut("channel", ("Shops",), deny=deny), books)


def random_tables(random: Random) -> MemberTables:
    """Return a tree of random shape above random leaves, in a few of which several paths lead to a node."""
    leaves = [f"L{at}" for at in range(random.randint(1, 30))]
    nodes = [f"N{at}" for at in range(random.randint(1, 20))]
    rows: list[tuple[str, str | None, str | None]] = []
    rows += [(node, random.choice([None, *nodes[:at]]), None) for at, node in enumerate(nodes)]
    rows += [(leaf, random.choice(nodes), None) for leaf in leaves if random.random() < 0.7]
    free = [leaf for leaf in leaves if leaf not in {row[0] for row in rows}]
    rows += [(f"P{leaf}", random.choice([None, *nodes]), leaf) for leaf in free if random.random() < 0.5]
    rows += [(random.choice(leaves), random.choice(nodes), None)] if random.random() < 0.2 else []
    rows += [("lost", "found", None), ("found", "lost", None)] if random.random() < 0.1 else []
    random.shuffle(rows)
    table = pl.DataFrame(rows, schema={"node": pl.String, "parent": pl.String, "leaf": pl.String}, orient="row")
    return MemberTables(pl.Series([UNASSIGNED, *leaves]), None, table)


def test_random_cuts_select_what_the_opened_tree_tells() -> None:
    told, opened = 0, 0
    for seed in range(400):
        random = Random(seed)
        tables = random_tables(random)
        assert tables.nodes is not None
        ids = [*tables.nodes["node"].unique().sort(), "none", "N0" + OWN]
        cut = Cut("tree", tuple(random.choices(ids, k=random.randint(0, 4))))
        codes = codes_below(cut, tables)
        try:
            tree = ragged_nodes("tree", leaf_members("leaf", tables.ids, None), tables.nodes, adds_paths=False)
        except HierarchyFault:
            assert codes is None
            continue
        if codes is None:
            opened += 1
            assert not tree.is_simple or "N0" + OWN in cut.ids
            continue
        told += 1
        nodes = [member for member in cut.ids if tree.has(member)]
        assert codes == (frozenset().union(*map(tree.below, nodes)), tree.unassigned(), len(nodes))
    assert told > 200
    assert opened > 20


def test_a_tree_of_very_many_levels_is_opened() -> None:
    nodes = [f"n{at}" for at in range(node_codes.MAX_LEVELS + 2)]
    table = pl.DataFrame({"node": nodes, "parent": [None, *nodes[:-1]]})
    tables = MemberTables(pl.Series([UNASSIGNED, nodes[-1]]), None, table)
    assert codes_below(Cut("tree", (nodes[0],)), tables) is None
    told = codes_below(Cut("tree", (nodes[5],)), tables)
    assert told is not None
    assert told.below == {1}
