"""What the law of scope found, each as a case: answers that told of something hidden without naming it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.model.errors import AmbiguousWeight
from tests.support.books.fed import SOMEBODY, Fed
from tests.support.books.loads import load_feeds
from tests.support.books.small import small_books, write_instance
from tests.support.engines.memory import MemoryLoads

A = [{"scenario": "actual"}]
JAN = {"period_start": "2021-01"}
SCENARIOS = """
    actual: {alias: Actuals, kind: actual, closed_through: {gl: 2021-03, people: 2021-02}}
    budget:
      alias: Budget
      kind: budget
      variants: {fewer: {label: Fewer, adjust: [{where: {team: [T]}, factor: 0.5, measures: [heads]}]}}
    comparisons: [[actual, budget], [actual@py, budget]]
"""
NODES = """
    node parent weight name
    Top  -      1      -
    X    Top    1      -
    Y    X      1      -
    Z    Top    -1     -
    Alt  -      -1     Other
    Z    Alt    1      -
    W    Alt    1      -
    V    Alt    1      -
"""
ONLY_GL = "{domains: {allow: [gl]}}"


def fed(folder: Path, grants: str, *, default: str = "", answer_tokens: int = 10_000) -> Fed:
    """Return the tools over a ledger and people, as somebody with one profile meets them."""
    instance = write_instance(
        folder / "small",
        facts={
            "gl": "date scenario product amount\n"
            "2021-01-05 actual X 1\n2021-01-06 actual Y 2\n2021-01-07 actual Z 4\n2021-01-08 actual W 8",
            "people": "date scenario team heads\n2021-01 actual T 3\n2021-01 budget T 3",
        },
        domains={
            "gl": """
            time: {column: date}
            dimensions: {product: product}
            measures: {amount: {places: 2}}
            inspect_enabled: true
            metrics: {revenue: {measure: amount}}
            """,
            "people": """
            time: {column: date, grain: month}
            dimensions: {team: team}
            measures: {heads: {type: number, places: 0}}
            metrics: {headcount: {measure: heads}}
            """,
        },
        dimensions="""
            product: {kind: leaf, members: live.product}
            tree: {kind: ragged, leaf_dimension: product, nodes: live.tree}
            team: {kind: leaf}
        """,
        tables={
            "product": "id name code\nX Xenon 600\nY Yarrow 601\nZ Zinc 602\nW Wood 603\nV Void 604",
            "tree": NODES,
        },
        statements={"pnl": "- {header: People}\n- {metric: headcount}\n- {header: Money}\n- {metric: revenue}"},
        scenarios=SCENARIOS,
        profiles=f"seen: {{scenarios: {grants}}}\nassign: [{{subject: {SOMEBODY.subject}, profile: seen}}]",
    )
    with (instance / "instance.yaml").open("a") as more:
        more.write(default)
    loads = MemoryLoads()
    load_feeds(instance, folder / "state", loads=loads)
    return Fed(instance, folder / "state", loads=loads, answer_tokens=answer_tokens)


def ids(found: Sequence[dict[str, Any]]) -> list[str]:
    """Return the ids of some hits."""
    return [hit["id"] for hit in found]


def test_a_node_does_not_go_by_the_name_and_code_of_a_hidden_leaf(tmp_path: Path) -> None:
    books = fed(tmp_path, "{'*': {dimensions: {product: {deny: [X]}}}}")
    (node,) = books.ask("search_hierarchy", query="X")["hierarchy_nodes"]
    assert (node["id"], node["name"], node.get("code"), node["path"]) == ("X", "X", None, ["Top"])
    below = books.ask("search_hierarchy", query="Yarrow")["hierarchy_nodes"]
    assert [(hit["id"], hit["path"]) for hit in below] == [("Y", ["Top", "X"])]
    for word in ("Xenon", "600"):
        found = books.ask("search_hierarchy", query=word)
        assert "X" not in ids(found["hierarchy_nodes"])
    shown = books.ask(
        "run_metric", metrics=["revenue"], scenarios=A, dimensions=["tree"], filters={"tree": "Top"}, **JAN
    )
    assert [row["label"] for row in shown["rows"]] == ["X", "Zinc", "Total"]


def test_a_node_that_is_seen_goes_by_the_name_of_its_leaf(tmp_path: Path) -> None:
    books = fed(tmp_path, "{'*': {}}")
    for word in ("Xenon", "600"):
        assert ids(books.ask("search_hierarchy", query=word)["hierarchy_nodes"]) == ["X", "X/(own)"]


def test_postings_of_a_node_whose_children_are_hidden_are_the_node(tmp_path: Path) -> None:
    books = fed(tmp_path, "{'*': {dimensions: {product: {deny: [Y]}}}}")
    listed = ids(books.ask("search_hierarchy", dimension="tree")["hierarchy_nodes"])
    assert listed == ["Top", "X", "Z", "Alt", "W", "V"]
    shown = books.ask("run_metric", metrics=["revenue"], scenarios=A, dimensions=["tree"], filters={"tree": "X"}, **JAN)
    assert [row["key"] for row in shown["rows"]] == ["X", "total"]


def test_two_weights_of_a_hidden_leaf_are_no_reason_to_refuse(tmp_path: Path) -> None:
    asked = {"metrics": ["revenue"], "scenarios": A, "filters": {"tree": ["Top", "Alt"]}, **JAN}
    books = fed(tmp_path / "some", "{'*': {dimensions: {product: {deny: [Z]}}}}")
    assert books.ask("run_metric", **asked)["rows"][0]["values"] == [11]
    whole = fed(tmp_path / "whole", "{'*': {}}")
    assert whole.refused("run_metric", **asked)["error_type"] == AmbiguousWeight.error_type


def test_headers_are_numbered_among_the_lines_that_are_seen(tmp_path: Path) -> None:
    books = fed(tmp_path, f"{{'*': {ONLY_GL}}}")
    shown = books.ask("run_statement", statement="pnl", scenarios=A, **JAN)
    assert [row["key"] for row in shown["rows"]] == ["header_1", "revenue"]


def test_headers_are_not_offered_as_lines_to_explain(tmp_path: Path) -> None:
    books = fed(tmp_path, f"{{'*': {ONLY_GL}}}")  # a header's number would count the hidden lines before it
    asked = {"metric": "pnl.header_9", "scenarios": ["actual", "actual@py"], "by": ["product"], **JAN}
    refused = books.refused("explain_variance", **asked)
    assert "pnl.revenue" in refused["valid"]
    assert "pnl.header" not in str({**refused, "error": "", "got": ""})


def test_a_scenario_is_closed_in_domains_that_are_seen(tmp_path: Path) -> None:
    books = fed(tmp_path, f"{{actual: {ONLY_GL}}}")
    (actual,) = books.ask("list_scenarios")["scenarios"]
    assert actual["closed_through"] == {"gl": "2021-03-31"}


def test_a_comparison_is_offered_where_both_its_sides_are_seen(tmp_path: Path) -> None:
    assert fed(tmp_path / "one", "{actual: {}}").ask("list_scenarios")["comparisons"] == []
    both = fed(tmp_path / "both", "{'*': {}}").ask("list_scenarios")["comparisons"]
    assert "actual@py" in [known["scenario"] for known in both]


def test_a_default_of_hidden_scenarios_is_none(tmp_path: Path) -> None:
    hidden = "default: {scenarios: [{scenario: budget}]}\n"
    books = fed(tmp_path / "hidden", "{actual: {}}", default=hidden)
    without = fed(tmp_path / "without", "{actual: {}}")
    asked = {"metrics": ["revenue"], **JAN}
    assert books.refused("run_metric", **asked) == without.refused("run_metric", **asked)


def test_what_a_variant_does_to_hidden_dimensions_is_not_told(tmp_path: Path) -> None:
    books = fed(tmp_path, "{'*': {domains: {allow: [gl]}}}")
    shown = books.ask("run_metric", metrics=["revenue"], scenarios=[{"scenario": "budget/fewer"}], **JAN)
    assert "team" not in str(shown["notes"])


def test_rows_that_are_hidden_are_not_served(tmp_path: Path) -> None:
    books = fed(tmp_path, "{actual: {dimensions: {product: {allow: [X]}}, open_domains: [people]}, budget: {}}")
    served = {
        load["binding_id"]: books.ask("get_load_status", load_id=load["load_id"])["served_now"]
        for load in books.ask("list_load_history")["loads"]
        if load["binding_id"] in ("gl", "people")
    }
    assert served == {"gl": True, "people": True}
    hidden = fed(tmp_path / "hidden", "{actual: {dimensions: {product: {allow: [V]}}}}")
    (load,) = hidden.ask("list_load_history", binding_id="gl")["loads"]
    assert hidden.ask("get_load_status", load_id=load["load_id"])["served_now"] is False


SHARED = """
    time: {{column: date}}
    dimensions: {{product: product}}
    measures: {{amount: {{places: 2}}}}
    metrics: {{{metric}: {{measure: amount}}}}
"""


@pytest.mark.parametrize("hidden", ["A", "P9"])
def test_the_feed_of_members_does_not_tell_what_hidden_rows_post_to(tmp_path: Path, hidden: str) -> None:
    """P9 is in no table of products: only hidden rows of the ledger have it."""
    instance = write_instance(
        tmp_path / "small",
        facts={
            "gl": f"date scenario product amount\n2021-01-05 actual {hidden} 1",
            "sales": "date scenario product amount\n2021-01-05 actual A 5",
        },
        domains={"gl": SHARED.format(metric="revenue"), "sales": SHARED.format(metric="turnover")},
        dimensions="product: {kind: leaf, members: live.product}",
        tables={"product": "id\nA\nB"},
        profiles="seen: {scenarios: {'*': {domains: {allow: [sales]}}}}\n"
        f"assign: [{{subject: {SOMEBODY.subject}, profile: seen}}]",
    )
    loads = MemoryLoads()
    load_feeds(instance, tmp_path / "state", loads=loads)
    books = Fed(instance, tmp_path / "state", loads=loads)
    binding = books.ask("get_binding", binding_id="product")
    (load,) = books.ask("list_load_history", binding_id="product")["loads"]
    assert (binding["file"], load["rows_landed"], binding["notes"]) == ("product.csv", 2, [])


@pytest.mark.parametrize("grant", ["{domains: {allow: [people]}}", "{}"])
def test_a_domain_in_which_a_scenario_is_hidden_is_one_in_which_it_has_no_rows(tmp_path: Path, grant: str) -> None:
    books = fed(tmp_path, f"{{actual: {{}}, budget: {grant}}}")
    shown = books.ask("run_statement", statement="pnl", scenarios=[{"scenario": "budget"}], **JAN)
    (said,) = shown["notes"]
    assert said["message"] == "'revenue' is blank: budget has no rows of gl in any period."
    known = shown["freshness"]["gl"]["budget"]
    assert known == {"through": None, "loaded_at": None, "load_id": None, "open": None}


def test_a_scenario_of_which_no_row_is_seen_has_no_load(tmp_path: Path) -> None:
    rows = "date scenario product amount\n2021-01-05 actual X 1"
    profile = "seen: {scenarios: {actual: {dimensions: {product: {allow: [Y]}}}}}"
    books = small_books(
        tmp_path,
        profile="seen",
        facts={"gl": rows},
        domains={
            "gl": "time: {column: date}\ndimensions: {product: product}\nmeasures: {amount: {places: 2}}\n"
            "metrics: {revenue: {measure: amount}}\n"
        },
        dimensions="product: {kind: leaf, members: live.product}",
        tables={"product": "id\nX\nY"},
        profiles=profile,
    )
    report = books.metric("revenue", scenarios={"A": "actual"}, period="2021-01")
    assert (report.freshness["gl"]["actual"].through, report.freshness["gl"]["actual"].load_id) == (None, None)
