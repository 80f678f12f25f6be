"""Members that occur only in hidden rows do not exist: a caller cut to a company finds no cost centre of another.

Where a profile restricts a dimension of a domain, the other dimensions have the members of visible rows and the nodes
above them. Where it restricts none, they have all.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from engine.books.reader import Reader
from engine.model.fact_store import Presence
from engine.model.scope import Cell
from tests.support.books.fed import SOMEBODY, Fed
from tests.support.books.loads import load_feeds
from tests.support.books.small import write_instance
from tests.support.engines.memory import MemoryLoads

LEDGER = """
    date       scenario entity cost_centre amount
    2021-01-05 actual   DE     C1          1
    2021-01-05 actual   US     C2          2
    2021-01-05 budget   DE     C3          4
    2021-01-05 budget   US     C4          8
    -          actual   DE     C6          16
"""
SALES = """
    date       scenario entity customer cost_centre value
    2021-01-05 actual   DE     K1       C1          1
    2021-01-05 actual   US     K2       C7          2
"""
DE, FR = "{dimensions: {entity: {allow: [DE]}}}", "{dimensions: {entity: {allow: [FR]}}}"
EVERY_CENTRE = ("C1", "C2", "C3", "C4", "C5", "C6", "C7")  # C5 has no row
NO_YARD = ("C1", "C3", "C5", "C6", "C7")
ONE = {"scenarios": [{"scenario": "actual"}], "period_start": "2021-01"}


def showing(grant: str, *, key: str = "'*'", more: str = "", members: str = "") -> str:
    """Return a profile with a grant of some scenarios, and perhaps more grants."""
    all_members = f"members: {members}, " if members else ""
    return f"{{{all_members}scenarios: {{{key}: {grant}, {more}}}}}"


def fed(folder: Path, profile: str, *more: str) -> Fed:
    """Return the tools over a ledger and sales by company, as somebody with some profiles meets them."""
    held = [profile, *more]
    domain = "time: {{column: date, missing: keep}}\ninspect_enabled: true\ndimensions: {{{dimensions}}}\n{rest}"
    instance = write_instance(
        folder / "small",
        facts={"gl": LEDGER, "sales": SALES},
        domains={
            "gl": domain.format(
                dimensions="entity: entity, cost_centre: cost_centre",
                rest="measures: {amount: {places: 2}}\n"
                "metrics: {costs: {measure: amount}, of_us: {measure: amount, where: {cost_centre: [C2, C1]}}}",
            ),
            "sales": domain.format(
                dimensions="entity: entity, customer: customer, cost_centre: cost_centre",
                rest="measures: {value: {places: 2}}\nmetrics: {turnover: {measure: value}}",
            ),
        },
        dimensions="""
            entity: {kind: leaf, members: live.entity}
            cost_centre: {kind: leaf, members: live.cost_centre}
            area: {kind: derived, from: cost_centre, attribute: area}
            function: {kind: ragged, leaf_dimension: cost_centre, nodes: live.function}
            customer: {kind: leaf, members: live.customer}
        """,
        tables={
            "entity": "id name\nDE Germany\nUS America\nFR France",
            "cost_centre": "id name code area\n"
            "C1 Lab 901 Works\nC2 Depot 902 Yard\nC3 Desk 903 Works\nC4 Dock 904 Yard\nC5 Den 905 Loft\n"
            "C6 Dorm 906 Inn\nC7 Deck 907 Pier",
            "customer": "id name\nK1 Krupp\nK2 Kraft\nK3 Kaiser",
            "function": "node parent name\n"
            "TOP - Everything\nIN TOP Indoors\nOUT TOP Outdoors\nC1 IN -\nC3 IN -\nC2 OUT -\nC4 OUT -\nC7 OUT -",
        },
        scenarios="actual: {alias: Actuals, kind: actual}\nbudget: {alias: Budget, kind: budget}",
        profiles="\n".join(f"p{at}: {text}" for at, text in enumerate(held))
        + f"\nassign: [{', '.join(f'{{subject: {SOMEBODY.subject}, profile: p{at}}}' for at in range(len(held)))}]",
    )
    loads = MemoryLoads()
    load_feeds(instance, folder / "state", loads=loads)
    return Fed(instance, folder / "state", loads=loads)


def members(books: Fed, dimension: str) -> list[str]:
    """Return the ids that a search of a dimension lists."""
    listed = books.ask("search_hierarchy", dimension=dimension)
    return [hit["id"] for hit in (*listed["records"], *listed["hierarchy_nodes"])]


@pytest.mark.parametrize(
    ("profiles", "centres"),
    [
        ([showing("{}")], EVERY_CENTRE),
        ([showing(DE)], ("C1", "C3", "C6")),
        ([showing("{dimensions: {entity: {deny: [US]}}}")], ("C1", "C3", "C6")),
        ([showing(DE, key="actual")], ("C1", "C6")),
        ([showing(FR)], ()),
        ([showing("{dimensions: {customer: {allow: [K2]}}}")], ("C7",)),
        # a domain or scenario that is not restricted keeps all
        ([showing("{domains: {allow: [gl]}}")], EVERY_CENTRE),
        ([showing("{dimensions: {customer: {allow: [K2]}}, open_domains: [gl]}")], EVERY_CENTRE),
        ([showing(DE, more="budget: {}")], EVERY_CENTRE),
        # members of a restricted dimension need no row, unless another dimension is restricted too
        ([showing("{dimensions: {cost_centre: {allow: [C2, C5]}}}")], ("C2", "C5")),
        ([showing("{dimensions: {function: {allow: [OUT]}}}")], ("C2", "C4", "C7")),
        ([showing("{dimensions: {entity: {allow: [DE]}, cost_centre: {deny: [C3]}}}")], ("C1", "C6")),
        ([showing("{dimensions: {entity: {allow: [DE]}, cost_centre: {allow: [C1, C2]}}}")], ("C1",)),
        # several profiles show what one of them shows, without what any of them denies
        ([showing(DE), showing("{dimensions: {cost_centre: {allow: [C5]}}}")], ("C1", "C3", "C5", "C6")),
        ([showing("{}"), showing("{dimensions: {entity: {deny: [US]}}}")], ("C1", "C3", "C6")),
        # a profile may show all members
        ([showing(DE, members="visible")], ("C1", "C3", "C6")),
        ([showing(DE, members="all")], EVERY_CENTRE),
        ([showing("{dimensions: {entity: {allow: [DE]}, area: {deny: [Yard]}}}", members="all")], NO_YARD),
        ([showing(DE, members="all"), showing("{dimensions: {area: {deny: [Yard]}}}")], NO_YARD),
        ([showing(DE), showing("{dimensions: {area: {allow: [Loft]}}}", members="all")], ("C1", "C3", "C5", "C6")),
    ],
)
def test_members_are_those_of_visible_rows(tmp_path: Path, profiles: list[str], centres: tuple[str, ...]) -> None:
    books = fed(tmp_path, *profiles)
    assert tuple(key for key in members(books, "cost_centre") if key != "(unassigned)") == centres


def test_nodes_and_attributes_are_those_above_members_of_visible_rows(tmp_path: Path) -> None:
    books = fed(tmp_path, showing(DE))
    assert members(books, "function") == ["TOP", "IN", "C1", "C3", "(unassigned)"]  # C6 is in no node
    assert members(books, "area") == ["Inn", "Works"]
    assert members(books, "customer") == ["K1"]
    assert members(books, "entity") == ["DE"]  # granted; no other has rows that may be seen


def test_a_granted_member_needs_no_row(tmp_path: Path) -> None:
    assert members(fed(tmp_path, showing("{dimensions: {entity: {deny: [US]}}}")), "entity") == ["DE", "FR"]


def test_a_breakdown_has_the_members_of_visible_rows(tmp_path: Path) -> None:
    books = fed(tmp_path, showing(DE))
    shown = books.ask("run_metric", metrics=["costs"], dimensions=["cost_centre"], **ONE)
    assert [row["label"] for row in shown["rows"]] == ["Lab", "Total"]
    nodes = books.ask("run_metric", metrics=["costs"], dimensions=["function"], filters={"function": "TOP"}, **ONE)
    assert [row["label"] for row in nodes["rows"]] == ["Indoors", "Total"]


def test_a_metric_names_the_members_of_visible_rows_that_it_counts(tmp_path: Path) -> None:
    listed = fed(tmp_path, showing(DE)).ask("list_kpis")
    (metric,) = (known for domain in listed["domains"] for known in domain["metrics"] if known["key"] == "of_us")
    assert metric["where"] == {"cost_centre": ["C1"]}


@pytest.mark.parametrize("name", ["C2", "902", "Depot", "Depott"])
def test_a_member_of_hidden_rows_is_unknown_by_id_code_and_name(tmp_path: Path, name: str) -> None:
    books = fed(tmp_path, showing(DE))
    found = books.ask("search_hierarchy", query=name)
    assert (found["records"], found["hierarchy_nodes"]) == ([], [])
    shown = books.ask("run_metric", metrics=["costs"], filters={"cost_centre": name}, **ONE)
    (note,) = (note for note in shown["notes"] if note["code"] == "unknown_member")
    assert note["message"] == (
        f"No member of cost_centre has the id '{name}'; it matches nothing. search_hierarchy finds the ids."
    )


def test_the_whole_of_a_tree_is_known_where_nothing_of_it_is_seen(tmp_path: Path) -> None:
    # found by the law of scope: `(all)` was an unknown member, which no tree lacks
    books = fed(tmp_path, showing(FR))
    shown = books.ask("run_metric", metrics=["costs"], filters={"function": "(all)"}, **ONE)
    assert "unknown_member" not in [note["code"] for note in shown["notes"]]


def tree_books(folder: Path, rows: str, *, centres: str, nodes: str, profile: str) -> Fed:
    """Return the tools over a ledger of companies and cost centres in a tree, as the holder of a profile meets them."""
    instance = write_instance(
        folder,
        facts={"gl": f"date scenario entity cost_centre amount\n{rows}"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {entity: entity, cost_centre: cost_centre}
            measures: {amount: {places: 2}}
            metrics: {costs: {measure: amount}}
            """
        },
        dimensions="""
            entity: {kind: leaf, members: live.entity}
            cost_centre: {kind: leaf, members: live.cost_centre}
            function: {kind: ragged, leaf_dimension: cost_centre, nodes: live.function}
        """,
        tables={"entity": "id\nDE\nUS", "cost_centre": f"id name\n{centres}", "function": f"node parent\n{nodes}"},
        scenarios="actual: {alias: Actuals, kind: actual}\nbudget: {alias: Budget, kind: budget}",
        profiles=f"seen: {profile}\nassign: [{{subject: {SOMEBODY.subject}, profile: seen}}]",
    )
    loads = MemoryLoads()
    load_feeds(instance, folder / "state", loads=loads)
    return Fed(instance, folder / "state", loads=loads)


@pytest.mark.parametrize("hidden", ["", "2021-01-05 actual US C9 2"])  # a centre that no table describes
def test_a_node_without_leaves_is_seen_whatever_hidden_rows_hold(tmp_path: Path, hidden: str) -> None:
    books = tree_books(
        tmp_path / "small",
        f"2021-01-05 budget DE C1 1\n{hidden}",
        centres="C1 Lab",
        nodes="Made -\nSold -\nC1 Made",
        profile=showing("{}", more=f"actual: {DE}"),
    )
    asked = {"metrics": ["costs"], "scenarios": [{"scenario": "budget"}], "period_start": "2021-01"}
    shown = books.ask("run_metric", **asked, dimensions=["function"])
    assert [row["members"] for row in shown["rows"]] == [{"function": "Made"}, {}]  # not what is below
    filtered = books.ask("run_metric", **asked, filters={"function": "Sold"})
    assert "unknown_member" not in [note["code"] for note in filtered["notes"]]


@pytest.mark.parametrize("hidden", ["", "2021-01-05 actual US C9 2"])  # brings C9 before rows that are seen bring C1
def test_the_order_of_rows_does_not_tell_which_member_a_hidden_row_brought_first(tmp_path: Path, hidden: str) -> None:
    domain = """
        time: {column: date}
        inspect_enabled: true
        dimensions: {entity: entity, cost_centre: cost_centre}
        measures: {amount: {places: 2}}
    """
    instance = write_instance(
        tmp_path / "small",
        facts={
            "early": f"date scenario entity cost_centre amount\n2021-01-05 actual DE C5 1\n{hidden}",
            "late": "date scenario entity cost_centre amount\n2021-01-05 actual DE C9 2\n2021-01-05 actual DE C1 1",
        },
        domains={"early": domain, "late": domain},
        dimensions="entity: {kind: leaf}\ncost_centre: {kind: leaf}",
        profiles=f"seen: {showing(DE)}\nassign: [{{subject: {SOMEBODY.subject}, profile: seen}}]",
    )
    loads = MemoryLoads()
    load_feeds(instance, tmp_path / "state", loads=loads)
    shown = Fed(instance, tmp_path / "state", loads=loads).ask(
        "inspect_rows", source_key="late", scenario_id="actual", period_start="2021-01"
    )
    assert [row[2] for row in shown["rows"]] == ["C1", "C9"]


@pytest.mark.parametrize("profile", ["{scenarios: {actual: {}}}", f"{{scenarios: {{actual: {{}}, budget: {DE}}}}}"])
def test_a_node_that_names_a_member_of_hidden_rows_is_one_without_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, profile: str
) -> None:
    """Neither what is answered nor what the store is asked for it tells it from another."""
    presence, cuts = Reader.presence, list[Cell]()

    def watched(reader: Reader, domain: str, scenario: str, cut: Cell, sides: Iterable[str] = ()) -> Presence:
        cuts.append(cut)
        return presence(reader, domain, scenario, cut, sides)

    monkeypatch.setattr(Reader, "presence", watched)
    nodes = "Made -\nSold -\nC1 Made\nC8 Sold\nC9 Sold\nC2 C9"

    def answers(folder: Path, hidden: str) -> list[object]:
        rows = f"2021-01-05 actual DE C1 1\n{hidden}"
        books = tree_books(folder, rows, centres="C1 Lab\nC2 Depot", nodes=nodes, profile=profile)
        assert members(books, "function") == ["Made", "C1", "Sold", "C8", "C9", "C2"]
        assert members(books, "cost_centre") == ["C1", "C2"]
        asked: list[dict[str, Any]] = [
            {"dimensions": ["function"]},
            {"dimensions": ["cost_centre"]},
            {"filters": {"cost_centre": "C9"}},
        ]
        asked += [
            {"filters": {"function": node}, "dimensions": ["function"]} for node in ("Sold", "C8", "C9", "C9/(own)")
        ]
        calls = [books.call("run_metric", metrics=["costs"], **ONE, **more) for more in asked]
        calls += [books.call("list_dimensions"), books.call("search_hierarchy", dimension="function", query="C9")]
        asked_of = [cut.is_everything for cut in cuts]
        cuts.clear()
        return [*({**shown, "data_ref": ""} for _, shown, _ in calls), asked_of]

    hidden = "2021-01-05 budget US C8 2\n2021-01-05 budget US C9 4"
    assert answers(tmp_path / "with", hidden) == answers(tmp_path / "without", "2021-01-05 budget US C2 6")
