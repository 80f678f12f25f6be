"""Listings of a hierarchy: each node with its parent, and a path only where the parent is not in the answer."""

import pytest

from tests.support.books.fed import Fed
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance

NODES = (
    "node parent weight name\nGroup - 1 Whole~group\nEast Group 1 -\nDE East 1 -\nFR East 1 -\nWest Group 1 -\n"
    "US West 1 -"
)
LISTED = {
    "Group": None,
    "East": "Group",
    "DE": "East",
    "FR": "East",
    "West": "Group",
    "US": "West",
}


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Fed:
    """Entities below regions."""
    folder = tmp_path_factory.mktemp("listings")
    instance = write_instance(
        folder / "small",
        facts={
            "gl": "date scenario entity amount\n2026-01-05 actual DE 1\n2026-01-05 actual FR 2\n2026-01-05 actual US 4"
        },
        domains={
            "gl": "time: {column: date}\ndimensions: {entity: entity}\nmeasures: {amount: {places: 2}}\n"
            "metrics: {revenue: {measure: amount}}"
        },
        dimensions="entity: {kind: leaf, members: live.entity}\n"
        "regions: {kind: ragged, leaf_dimension: entity, nodes: live.regions}",
        tables={"entity": "id name\nDE Germany\nFR France\nUS America", "regions": NODES},
        profiles="everyone: {scenarios: {'*': {}}}\nassign: [{subject: somebody, profile: everyone}]",
    )
    load_instance(instance, folder / "state")
    return Fed(instance, folder / "state")


def test_a_node_of_a_listing_carries_its_parent_and_no_path(books: Fed) -> None:
    nodes = books.ask("search_hierarchy", dimension="regions")["hierarchy_nodes"]
    assert {node["id"]: node.get("parent") for node in nodes} == LISTED
    assert not [node for node in nodes if "path" in node]


def test_a_page_that_begins_below_a_node_says_the_path_once(books: Fed) -> None:
    page = books.ask("search_hierarchy", dimension="regions", offset=1)["hierarchy_nodes"]
    assert [(node["id"], node.get("path"), node.get("parent")) for node in page[:5]] == [
        ("East", ["Whole group"], None),
        ("DE", None, "East"),
        ("FR", None, "East"),
        ("West", ["Whole group"], None),
        ("US", None, "West"),
    ]


def test_a_node_that_a_search_finds_alone_says_its_path(books: Fed) -> None:
    (node,) = books.ask("search_hierarchy", query="France")["hierarchy_nodes"]
    assert (node["path"], "parent" in node) == (["Whole group", "East"], False)
