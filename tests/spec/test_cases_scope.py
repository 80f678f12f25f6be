"""Finance cases T52-T57: what a profile hides is not there, in any figure, row, hit or note."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.books.reader import Reader
from engine.books.search import search
from engine.door import Door, open_books
from engine.model.errors import ExpiredReference, Refusal
from engine.model.requests import ColumnRequest, MetricRequest, SearchRequest
from engine.plans.figures import plan_metrics
from engine.queries.reports import metric_query
from engine.report.run import run
from server.feeds.instance import read_instance
from tests.support.books.inspected import FACTS, ledger, rows_of
from tests.support.books.loads import load_feeds, load_instance
from tests.support.books.small import codes, figure, figures, granting, small_books, write_instance

JAN = "2021-01"
A = {"A": "actual"}


TREE = """
    node  parent weight
    North -      1
    South -      1
    West  -      1
    X     North  1
    Y     North  1
    Z     South  1
    W     West   1
    Memo  -      1
    V     Memo   0
"""


def books_of(folder: Path, rows: str, grant: str, more_profiles: str = "", **parts: Any) -> Door:
    """Amounts by product as the profile `seen` sees them."""
    instance = write_instance(
        folder / "small",
        facts={"gl": f"date scenario product amount\n{rows}"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {product: product}
            measures: {amount: {places: 2}}
            metrics:
              revenue: {measure: amount}
              balance: {measure: amount, over_time: closing}
            """
        },
        dimensions="""
            product: {kind: leaf}
            tree: {kind: ragged, leaf_dimension: product, nodes: live.tree}
        """,
        tables={"tree": TREE},
        profiles=f"seen: {{scenarios: {grant}}}\nwhole: {{scenarios: {{'*': {{}}}}}}\n{more_profiles}",
        **parts,
    )
    load_instance(instance, folder / "state")
    return open_books(instance, state=folder / "state", profile="seen")


def test_t52_a_hidden_member_is_not_there(tmp_path: Path) -> None:
    rows = "2021-01-05 actual A 100\n2021-01-05 actual B 50"
    books = books_of(tmp_path, rows, "{'*': {dimensions: {product: {deny: [B]}}}}")
    report = books.metric("revenue", scenarios=A, period=JAN, dimensions=["product"])
    assert figures(report, "product") == {"A": 100, None: 100}
    assert search(SearchRequest(query="B", dimension="product"), books.reader).records == ()
    hidden = books.metric("revenue", scenarios=A, period=JAN, filters={"product": "B"})
    unknown = books.metric("revenue", scenarios=A, period=JAN, filters={"product": "Q"})
    assert figure(hidden) is figure(unknown) is None
    assert [note.message.replace("'B'", "'Q'") for note in hidden.notes] == [note.message for note in unknown.notes]


def test_t53_shifted_view_and_variance_inside_the_scope(tmp_path: Path) -> None:
    rows = """
        2021-01-05 actual A 100
        2021-01-05 actual B 50
        2020-01-05 actual A 80
        2020-01-05 actual B 50
        2021-01-05 budget A 90
        2021-01-05 budget B 70
    """
    books = books_of(tmp_path, rows.strip(), "{'*': {dimensions: {product: {allow: [A]}}}}")
    columns = {
        "PY": "actual@py",
        "growth": "var_pct(actual,actual@py)",
        "V": "var(actual,budget)",
        "%": "var_pct(actual,budget)",
    }
    found = figures(books.metric("revenue", scenarios=columns, period=JAN), "alias")
    assert (found["PY"], found["growth"], found["V"]) == (80, Decimal("0.25"), 10)
    assert found["%"] == Decimal("0.111111111111111")


def test_t54_a_scenario_that_is_not_granted_does_not_exist(tmp_path: Path) -> None:
    rows = "2021-01-05 actual A 100\n2021-01-05 budget A 90"
    books = books_of(tmp_path, rows, "{actual: {}}")
    assert list(books.reader.scenarios) == ["actual"]
    columns = {"A": "actual", "V": "var(actual,budget)", "PY": "budget@py", "N": "nobody"}
    report = books.metric("revenue", scenarios=columns, period=JAN)
    assert [column.heading for column in report.columns] == ["A"]
    (message,) = [note.message for note in report.notes if note.code == "unknown_scenario"]
    assert message == (
        "There is no scenario 'var(actual,budget)', 'budget@py' or 'nobody', so it was left out. list_scenarios names "
        "those that exist."
    )
    assert not [name for note in report.notes for name, _ in note.about if name == "did_you_mean"]
    none_left = books.metric("revenue", scenarios={"B": "budget"}, period=JAN)
    assert (none_left.columns, codes(none_left)) == ((), {"unknown_scenario"})


def test_t55_a_node_partly_or_wholly_hidden(tmp_path: Path) -> None:
    rows = "2021-01-05 actual X 70\n2021-01-05 actual Y 30\n2021-01-05 actual Z 20\n2021-01-05 actual W 1"
    books = books_of(tmp_path, rows, "{'*': {dimensions: {product: {deny: [Y, Z]}}}}")
    report = books.metric("revenue", scenarios=A, period=JAN, dimensions=["tree"])
    assert figures(report, "tree") == {"North": 70, "West": 1, None: 71}
    found = search(SearchRequest(dimension="tree"), books.reader)
    assert [hit.id for hit in found.hierarchy_nodes] == ["North", "X", "West", "W"]
    south = books.metric("revenue", scenarios=A, period=JAN, filters={"tree": "South"})
    assert (figure(south), codes(south)) == (None, {"unknown_member", "no_rows"})


@pytest.mark.parametrize(("restriction", "total"), [("allow: [A]", 100), ("deny: [C]", 105)])
def test_t56_the_null_member_is_outside_allow_and_inside_deny(tmp_path: Path, restriction: str, total: int) -> None:
    rows = "2021-01-05 actual A 100\n2021-01-05 actual C 20\n2021-01-05 actual - 5"
    books = books_of(tmp_path, rows, f"{{'*': {{dimensions: {{product: {{{restriction}}}}}}}}}")
    assert figure(books.metric("revenue", scenarios=A, period=JAN)) == total


KEPT_ROWS = """
    2021-01-05 actual A 100
    2021-01-05 actual B 50
    2021-01-05 actual Z 5
    2021-01-05 budget A 90
    2021-01-05 budget B 70
"""
BOTH = "{'*': {dimensions: {product: {allow: [A, B]}}}}"
ONLY_A = "{'*': {dimensions: {product: {allow: [A]}}}}"


@pytest.mark.parametrize(
    ("grant", "asked", "then", "opens"),
    [
        (BOTH, {}, BOTH, True),
        (BOTH, {}, ONLY_A, False),
        (BOTH, {"filters": {"product": "A"}}, ONLY_A, False),  # anchors and coverage looked at B all the same
        ("{'*': {}}", {}, ONLY_A, False),
        ("{'*': {}}", {}, "{'*': {dimensions: {product: {deny: [B]}}}}", False),
        ("{'*': {}}", {}, "{'*': {dimensions: {tree: {deny: [South]}}}}", False),
        (ONLY_A, {}, "{'*': {dimensions: {product: {deny: [B]}}}}", True),
        (ONLY_A, {}, BOTH, True),
        (BOTH, {}, "{'*': {}}", True),
        (BOTH, {}, "{budget: {}}", False),
        (BOTH, {}, "{actual: {}}", True),
        (BOTH, {}, "{'*': {domains: {deny: [gl]}}}", False),
        (BOTH, {"scenarios": {"V": "var(actual,budget)"}}, "{actual: {}}", False),
        (BOTH, {"scenarios": {"V": "var_pct(actual,budget@py)"}}, "{actual: {}}", False),
        (BOTH, {"scenarios": {"V": "var(actual,actual@py)"}}, "{actual: {}}", True),
        (BOTH, {"scenarios": {"V": "var(actual,budget)"}}, f"{{actual: {{}}, budget: {ONLY_A[6:-1]}}}", False),
    ],
)
def test_t57_a_kept_report_opens_for_whoever_may_still_see_all_of_it(
    tmp_path: Path, grant: str, asked: dict[str, Any], then: str, opens: bool
) -> None:
    books = books_of(tmp_path, KEPT_ROWS, grant)
    report = books.metric("revenue", **{"scenarios": A, "period": JAN, "dimensions": ["product"], **asked})
    books.keep(report, tmp_path / "kept.arrow")
    now = granting(tmp_path, then)
    if opens:
        assert repr(now.open(tmp_path / "kept.arrow")) == repr(report)
        return
    with pytest.raises(ExpiredReference) as refused:
        now.open(tmp_path / "kept.arrow")
    assert refused.value.as_data() == {
        "error": "This result can no longer be opened as it was kept. Run the report again.",
        "error_type": "expired_reference",
    }


def test_a_deny_by_node_hides_leaves_that_no_node_holds(tmp_path: Path) -> None:
    rows = "2021-01-05 actual X 70\n2021-01-05 actual Z 20\n2021-01-05 actual stray 7\n2021-01-05 actual - 5"
    books = books_of(tmp_path, rows, "{'*': {dimensions: {tree: {deny: [South]}}}}")
    assert figure(books.metric("revenue", scenarios=A, period=JAN)) == 70


def test_a_deny_by_a_node_without_loaded_leaves_hides_them_too(tmp_path: Path) -> None:
    rows = "2021-01-05 actual X 70\n2021-01-05 actual stray 7"  # nothing below South was ever loaded
    books = books_of(tmp_path, rows, "{'*': {dimensions: {tree: {deny: [South]}}}}")
    assert figure(books.metric("revenue", scenarios=A, period=JAN)) == 70


@pytest.mark.parametrize("grant", ["{'*': {dimensions: {product: {deny: [nobody]}}}}"])
def test_a_profile_that_denies_what_does_not_exist_closes(tmp_path: Path, grant: str) -> None:
    books = books_of(tmp_path, "2021-01-05 actual A 100", grant)
    assert list(books.reader.scenarios) == []
    with pytest.raises(Refusal, match="There is no metric 'revenue'"):
        books.metric("revenue", scenarios=A, period=JAN)


def test_sides_of_different_scope_are_compared_inside_both(tmp_path: Path) -> None:
    rows = "2021-01-05 actual A 100\n2021-01-05 actual B 50\n2021-01-05 budget A 90\n2021-01-05 budget B 70"
    books = books_of(tmp_path, rows, "{actual: {}, budget: {dimensions: {product: {allow: [A]}}}}")
    columns = {"A": "actual", "B": "budget", "V": "var(actual,budget)"}
    report = books.metric("revenue", scenarios=columns, period=JAN)
    assert figures(report, "alias") == {"A": 150, "B": 90, "V": 10}
    assert "scope_differs" in codes(report)


def test_a_permission_by_a_node_selects_and_never_weighs(tmp_path: Path) -> None:
    rows = "2021-01-05 actual X 70\n2021-01-05 actual V 12"
    books = books_of(tmp_path, rows, "{'*': {dimensions: {tree: {allow: [Memo]}}}}")
    assert figure(books.metric("revenue", scenarios=A, period=JAN)) == 12


def test_balances_close_where_what_is_seen_closes(tmp_path: Path) -> None:
    rows = "2021-01-31 actual A 10\n2021-02-28 actual B 20\n2021-01-31 budget A 7"
    allowed = "{dimensions: {product: {allow: [A]}}}"
    seen = books_of(tmp_path / "seen", rows, f"{{'*': {allowed}}}")
    assert figure(seen.metric("balance", scenarios=A, period="2021-Q1")) == 10
    shared = books_of(tmp_path / "shared", rows, f"{{actual: {{}}, budget: {allowed}}}")
    report = shared.metric("balance", scenarios={"A": "actual", "V": "var(actual,budget)"}, period="2021-Q1")
    assert figures(report, "alias") == {"A": 20, "V": 3}


def test_the_most_specific_key_of_a_profile_alone_applies(tmp_path: Path) -> None:
    rows = "\n".join(
        f"2021-01-05 {scenario} {product} 1" for scenario in ("actual", "budget", "forecast") for product in "ABC"
    )
    few, fewer = "{dimensions: {product: {allow: [A, B]}}}", "{dimensions: {product: {allow: [C]}}}"
    books = books_of(tmp_path, rows, f"{{'*': {{}}, 'kind:budget': {few}, 'kind:actual': {few}, actual: {fewer}}}")
    columns = {key: key for key in ("actual", "budget", "forecast")}
    assert figures(books.metric("revenue", scenarios=columns, period=JAN), "alias") == {
        "actual": 1, "budget": 2, "forecast": 3,
    }  # fmt: skip


def test_restrictions_of_a_grant_hold_together(tmp_path: Path) -> None:
    rows = "2021-01-05 actual X 1\n2021-01-05 actual Y 2\n2021-01-05 actual Z 4"
    books = books_of(tmp_path, rows, "{'*': {dimensions: {product: {allow: [X, Z]}, tree: {allow: [North]}}}}")
    assert figure(books.metric("revenue", scenarios=A, period=JAN)) == 1


def test_several_profiles_widen_as_whole_grants_and_every_deny_narrows(tmp_path: Path) -> None:
    rows = "\n".join(
        f"2021-01-05 actual {product} {amount}" for product, amount in zip("ABCD", (1, 2, 4, 8), strict=True)
    )
    few = "{scenarios: {'*': {dimensions: {product: {allow: [A, B]}}}}}"
    most = "{scenarios: {'*': {dimensions: {product: {deny: [B]}}}}}"
    door = books_of(tmp_path, rows, "{'*': {}}", more_profiles=f"few: {few}\nmost: {most}\n")
    profiles = read_instance(tmp_path / "small").profiles.by_key

    def seen(*keys: str) -> Decimal | None:
        reader = Reader(door.reader._books, [profiles[key] for key in keys])
        asked = MetricRequest(metrics=("revenue",), scenarios=(ColumnRequest(scenario="actual"),), period_start=JAN)
        return figure(run(plan_metrics(metric_query(asked, reader), reader)))

    assert (seen("few"), seen("most"), seen("few", "most"), seen("most", "few")) == (3, 13, 13, 13)
    assert seen("few", "whole") == 15


@pytest.mark.parametrize(("opened", "domains"), [("", ["gl"]), (", open_domains: [people]", ["gl", "people"])])
def test_a_domain_that_lacks_a_scoped_dimension_is_withheld_unless_it_is_named(
    tmp_path: Path, opened: str, domains: list[str]
) -> None:
    metric = "time: {column: date}\nmeasures: {amount: {places: 2}}\n"
    books = small_books(
        tmp_path,
        profile="seen",
        facts={
            "gl": "date scenario product amount\n2021-01-05 actual A 1\n2021-01-05 actual B 2",
            "people": "date scenario amount\n2021-01-05 actual 4",
        },
        domains={
            "gl": metric + "dimensions: {product: product}\nmetrics: {revenue: {measure: amount}}\n",
            "people": metric + "dimensions: {}\nmetrics: {headcount: {measure: amount}}\n",
        },
        dimensions="product: {kind: leaf}",
        profiles=f"seen: {{scenarios: {{'*': {{dimensions: {{product: {{allow: [A]}}}}{opened}}}}}}}",
    )
    assert list(books.reader.domains) == domains
    assert figure(books.metric("revenue", scenarios=A, period=JAN)) == 1
    if opened:
        assert figure(books.metric("headcount", scenarios=A, period=JAN)) == 4


def test_undated_rows_are_counted_inside_the_scope(tmp_path: Path) -> None:
    for member, undated in (("E1", 1), ("E2", 0)):
        profile = f"seen: {{scenarios: {{actual: {{dimensions: {{entity: {{allow: [{member}]}}}}}}}}}}"
        books = ledger(tmp_path / member, FACTS, profile="seen", profiles=profile)
        report = books.metric("total", scenarios=A, period=JAN)
        assert report.freshness["gl"]["actual"].undated == undated


def test_rows_behind_a_variance_are_those_seen_of_both_sides(tmp_path: Path) -> None:
    profile = "seen: {scenarios: {actual: {}, budget: {dimensions: {entity: {allow: [E1]}}}}}"
    books = ledger(tmp_path, FACTS, profile="seen", profiles=profile)
    asked = {"period_start": JAN, "columns": ("entity", "amount")}
    alone = rows_of(books, filters={"metric": "total"}, **asked)
    compared = rows_of(books, filters={"metric": "total", "compared_with": "budget"}, **asked)
    assert [row[:2] for row in alone["rows"]] == [["E2", 3], ["E1", 5], ["E1", 100]]
    assert [row[:2] for row in compared["rows"]] == [["E1", 5], ["E1", 100]]
    assert (alone["contribution_total"], compared["contribution_total"]) == (108, 105)


def test_the_data_version_is_that_of_what_is_granted(tmp_path: Path) -> None:
    amounts = "time: {column: date}\nmeasures: {amount: {places: 2}}\ndimensions: {}\n"
    books = small_books(
        tmp_path,
        profile="seen",
        facts={
            "gl": "date scenario amount\n2021-01-05 actual 1",
            "pay": "date scenario amount\n2021-01-05 actual 2",
        },
        domains={
            "gl": amounts + "metrics: {revenue: {measure: amount}}\n",
            "pay": amounts + "metrics: {salaries: {measure: amount}}\n",
        },
        profiles="seen: {scenarios: {'*': {domains: {allow: [gl]}}}}",
    )
    versions = [books.reader.data_version]
    for domain in ("pay", "gl"):
        (tmp_path / "small" / "data" / f"{domain}.csv").write_text("date,scenario,amount\n2021-01-05,actual,3\n")
        load_feeds(tmp_path / "small", tmp_path / "state", domain)
        versions.append(books.reader.data_version)
    assert versions[0] == versions[1] != versions[2]


NULL_ROWS = "2021-01-05 actual X 1\n2021-01-05 actual V 2\n2021-01-05 actual stray 4\n2021-01-05 actual - 8"


@pytest.mark.parametrize(
    ("restriction", "total"),
    [
        ("product: {allow: [(unassigned)]}", 8),
        ("product: {allow: [X, (unassigned)]}", 9),
        ("product: {deny: [(unassigned)]}", 7),
        ("product: {deny: [X, (unassigned)]}", 6),
        ("product: {deny: [X]}", 14),
        ("tree: {allow: [North]}", 1),
        ("tree: {allow: [North, (unassigned)]}", 13),  # leaves in no node, and the null member
        ("tree: {deny: [(unassigned)]}", 3),
        ("tree: {deny: [North]}", 2),  # a deny by node hides what no node holds
        ("tree: {deny: [Memo]}", 1),  # a leaf of weight 0 is denied as any other
        ("product: {deny: [X]}, tree: {allow: [(unassigned)]}", 12),
    ],
)
def test_the_null_member_may_be_named_as_unassigned(tmp_path: Path, restriction: str, total: int) -> None:
    books = books_of(tmp_path, NULL_ROWS, f"{{'*': {{dimensions: {{{restriction}}}}}}}")
    assert figure(books.metric("revenue", scenarios=A, period=JAN)) == total


def test_a_profile_that_restricts_by_a_tree_which_is_not_loaded_shows_nothing(tmp_path: Path) -> None:
    for restriction in ("deny: [South]", "allow: [North]"):
        folder = tmp_path / restriction[:4]
        books_of(folder, "2021-01-05 actual X 100\n2021-01-05 actual Z 50", "{'*': {}}")
        load_feeds(folder / "small", folder / "fresh", "gl")
        grant = f"seen: {{scenarios: {{'*': {{dimensions: {{tree: {{{restriction}}}}}}}}}}}\n"
        (folder / "small" / "profiles.yaml").write_text(grant)
        books = open_books(folder / "small", state=folder / "fresh", profile="seen")
        assert list(books.reader.scenarios) == []
        assert list(books.reader.metrics) == []


def test_a_profile_of_one_scenario_may_be_narrower_in_another(tmp_path: Path) -> None:
    rows = "\n".join(
        f"2021-01-05 {scenario} {product} {amount}"
        for scenario in ("actual", "budget", "forecast")
        for product, amount in (("A", 1), ("B", 2), ("C", 4))
    )
    grant = "{actual: {dimensions: {product: {allow: [A, B]}}}, 'kind:budget': {dimensions: {product: {deny: [A]}}}}"
    books = books_of(tmp_path, rows, grant)
    columns = {key: key for key in ("actual", "budget", "forecast")}
    assert figures(books.metric("revenue", scenarios=columns, period=JAN), "alias") == {"actual": 3, "budget": 6}
    assert [member for member in "ABC" if books.reader.sees("product", member)] == ["A", "B", "C"]


def test_a_deny_of_domains_narrows_the_other_profiles_of_its_holder(tmp_path: Path) -> None:
    rows = "2021-01-05 actual A 1\n2021-01-05 budget A 2"
    denying = "no_budget: {scenarios: {budget: {domains: {deny: [gl]}}}}"
    door = books_of(tmp_path, rows, "{'*': {}}", more_profiles=denying)
    known = read_instance(tmp_path / "small").profiles.by_key
    for held in (["whole", "no_budget"], ["no_budget", "whole"]):
        reader = Reader(door.reader._books, [known[key] for key in held])
        assert list(reader.scenarios) == ["actual", "forecast"]


def test_grants_of_several_profiles_are_not_mixed(tmp_path: Path) -> None:
    rows = "\n".join(f"2021-01-05 actual {product} {amount}" for product, amount in (("X", 1), ("Y", 2), ("Z", 4)))
    one = "one: {scenarios: {'*': {dimensions: {product: {allow: [X]}, tree: {allow: [North]}}}}}"
    two = "two: {scenarios: {'*': {dimensions: {product: {allow: [Y]}, tree: {allow: [South]}}}}}"
    door = books_of(tmp_path, rows, "{'*': {}}", more_profiles=f"{one}\n{two}")
    known = read_instance(tmp_path / "small").profiles.by_key
    reader = Reader(door.reader._books, [known["one"], known["two"]])
    asked = MetricRequest(metrics=("revenue",), scenarios=(ColumnRequest(scenario="actual"),), period_start=JAN)
    assert figure(run(plan_metrics(metric_query(asked, reader), reader))) == 1  # not Y, which is in North


def test_data_is_told_to_be_loaded_as_far_as_it_is_seen(tmp_path: Path) -> None:
    rows = "2021-01-05 actual A 1\n2021-03-05 actual B 2"
    for member, through in (("A", "2021-01-05"), ("B", "2021-03-05")):
        grant = f"{{'*': {{dimensions: {{product: {{allow: [{member}]}}}}}}}}"
        report = books_of(tmp_path / member, rows, grant).metric("revenue", scenarios=A, period="2021")
        assert report.freshness["gl"]["actual"].through == through
