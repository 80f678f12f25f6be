"""Kept reports across loads and changes of the books: they stay what they were, and stay closed to the wrong reader."""

import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from engine.door import Door, open_books
from engine.model.errors import ExpiredReference
from engine.report.report import Report
from tests.support.books.loads import load_instance
from tests.support.books.small import codes, csv, figures, granting, small_books, write_instance

JAN = "2021-01"
ROWS = "2021-01-05 actual A 100\n2021-01-05 actual B 50\n2021-01-05 budget A 90\n2021-01-05 budget C 70"
PRODUCTS = "id segment\nA retail\nB trade\nC trade"
TREE = "node parent\nAll -\nNorth All\nSouth All\nA North\nB South\nC South"


def books_of(folder: Path, grant: str = "{'*': {}}") -> Door:
    """Amounts by product, with a segment for each and a tree above them, as the profile `seen` sees them."""
    instance = write_instance(
        folder / "small",
        facts={"gl": f"date scenario product amount\n{ROWS}"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {product: product}
            measures: {amount: {places: 2}}
            inspect_enabled: true
            metrics:
              revenue: {measure: amount}
            """
        },
        dimensions="""
            product: {kind: leaf, members: live.product}
            segment: {kind: derived, from: product, attribute: segment}
            tree: {kind: ragged, leaf_dimension: product, nodes: live.tree}
        """,
        tables={"product": PRODUCTS, "tree": TREE},
        statements={"pnl": "  - {rollup: {metric: revenue, dimension: tree, node: All, depth: 2}}\n"},
        profiles=f"seen: {{scenarios: {grant}}}\n",
    )
    load_instance(instance, folder / "state")
    return open_books(instance, state=folder / "state", profile="seen")


def reloaded(folder: Path, *, anew: bool = False, **tables: str) -> Door:
    """Return the books after another load: of changed tables, into the same state or an empty one."""
    for name, rows in tables.items():
        (folder / "small" / "data" / f"{name}.csv").write_text(csv(rows))
    if anew:
        shutil.rmtree(folder / "state")
    load_instance(folder / "small", folder / "state")
    return open_books(folder / "small", state=folder / "state", profile="seen")


def kept(books: Door, folder: Path, **asked: Any) -> tuple[Report, Path]:
    """Keep a report by product and return it with where it is."""
    report = books.metric(
        "revenue", **{"scenarios": {"A": "actual"}, "period": JAN, "dimensions": ["product"], **asked}
    )
    books.keep(report, folder / "kept.arrow")
    return report, folder / "kept.arrow"


def opens(books: Door, path: Path) -> bool:
    """Tell whether a kept report opens."""
    try:
        books.open(path)
    except ExpiredReference:
        return False
    return True


def test_after_a_load_a_kept_report_is_what_it_was_and_says_so(tmp_path: Path) -> None:
    books = books_of(tmp_path)
    report, path = kept(books, tmp_path)
    later = reloaded(tmp_path, gl=f"date scenario product amount\n{ROWS}\n2021-01-06 actual A 1")
    for door in (books, later):
        again = door.open(path)
        assert isinstance(again, Report)
        assert figures(again, "product") == figures(report, "product") == {"A": 100, "B": 50, None: 150}
        assert codes(again) == {"newer_data"}
        assert again.notes[-1].message.startswith("gl (actual) was loaded again")
        assert again.data_version == report.data_version
    later.keep(again, path)
    assert [note.code for note in later.open(path).notes] == ["newer_data"]


def test_a_wider_permission_is_no_newer_data(tmp_path: Path) -> None:
    report, path = kept(books_of(tmp_path, "{actual: {}}"), tmp_path)
    wider = granting(tmp_path, "{'*': {}}")
    assert wider.reader.data_version != report.data_version
    assert wider.open(path).notes == report.notes == ()


@pytest.mark.parametrize(
    "grant",
    [
        "{'*': {dimensions: {product: {deny: [C]}}}}",
        "{'*': {dimensions: {segment: {deny: [trade]}}}}",
        "{'*': {dimensions: {tree: {deny: [South]}}}}",
        "{'*': {dimensions: {tree: {allow: [North]}}}}",
    ],
)
def test_members_that_come_later_close_nothing(tmp_path: Path, grant: str) -> None:
    _, path = kept(books_of(tmp_path, grant), tmp_path)
    more: dict[str, Any] = {"product": f"{PRODUCTS}\nD trade\nE retail", "tree": f"{TREE}\nD South\nE North"}
    assert opens(reloaded(tmp_path, **more), path)


def test_a_member_that_moves_out_of_what_may_be_seen_closes(tmp_path: Path) -> None:
    _, path = kept(books_of(tmp_path, "{'*': {dimensions: {tree: {allow: [North]}}}}"), tmp_path)
    assert opens(reloaded(tmp_path), path)
    moved = TREE.replace("A North", "A South\nD North")
    assert not opens(reloaded(tmp_path, tree=moved, product=f"{PRODUCTS}\nD retail"), path)


@pytest.mark.parametrize("grant", ["allow: [A, B]", "deny: [C]"])
def test_books_made_anew_know_their_members_by_id(tmp_path: Path, grant: str) -> None:
    _, path = kept(books_of(tmp_path, f"{{'*': {{dimensions: {{product: {{{grant}}}}}}}}}"), tmp_path)
    more = f"{PRODUCTS}\n0 retail\n1 retail\n2 retail\n3 retail"  # they take the codes that A, B and C had
    anew = reloaded(tmp_path, anew=True, product=more)
    assert opens(anew, path)
    for narrower in ("allow: [0, A]", "deny: [A]", "deny: [B, C]"):
        assert not opens(granting(tmp_path, f"{{'*': {{dimensions: {{product: {{{narrower}}}}}}}}}"), path)


def test_what_cannot_be_placed_any_more_is_open_to_the_unrestricted_alone(tmp_path: Path) -> None:
    _, path = kept(books_of(tmp_path, "{'*': {dimensions: {product: {allow: [A, B]}}}}"), tmp_path)
    rows = "date scenario product amount\n2021-01-05 actual A 100"
    gone = reloaded(tmp_path, anew=True, gl=rows, product="id segment\nA retail", tree=TREE)
    assert not opens(gone, path)
    assert not opens(granting(tmp_path, "{'*': {dimensions: {product: {deny: [A]}}}}"), path)
    assert opens(granting(tmp_path, "{'*': {}}"), path)


def test_a_node_that_another_scenario_showed_is_named_no_more(tmp_path: Path) -> None:
    only_a = "{dimensions: {product: {allow: [A]}}}"
    books = books_of(tmp_path, f"{{actual: {only_a}, budget: {{}}}}")
    report = books.statement("pnl", scenarios={"A": "actual"}, period=JAN)
    assert "South" in repr(report)
    books.keep(report, tmp_path / "kept.arrow")
    assert not opens(granting(tmp_path, f"{{'*': {only_a}}}"), tmp_path / "kept.arrow")
    assert opens(granting(tmp_path, "{'*': {}}"), tmp_path / "kept.arrow")


def test_a_report_without_columns_names_no_hidden_domain(tmp_path: Path) -> None:
    report, path = kept(books_of(tmp_path), tmp_path, scenarios={"N": "nobody"})
    assert report.columns == ()
    assert opens(granting(tmp_path, "{budget: {}}"), path)
    assert not opens(granting(tmp_path, "{budget: {domains: {deny: [gl]}}}"), path)


def test_rows_close_with_the_scenario_that_they_are_compared_with(tmp_path: Path) -> None:
    books = books_of(tmp_path)
    filters = {"metric": "revenue", "compared_with": "budget"}
    rows = books.rows("gl", scenario="actual", period=JAN, filters=filters)
    books.keep(rows, tmp_path / "kept.arrow")
    assert opens(granting(tmp_path, "{'*': {}}"), tmp_path / "kept.arrow")
    assert not opens(granting(tmp_path, "{actual: {}}"), tmp_path / "kept.arrow")
    assert not opens(granting(tmp_path, "{'*': {dimensions: {product: {deny: [B]}}}}"), tmp_path / "kept.arrow")


def test_a_report_of_other_books_does_not_open(tmp_path: Path) -> None:
    _, path = kept(books_of(tmp_path), tmp_path)
    instance = tmp_path / "small" / "instance.yaml"
    instance.write_text(instance.read_text().replace("Small", "Other"))
    assert not opens(granting(tmp_path, "{'*': {}}"), path)


def test_a_metric_over_two_domains_closes_with_either(tmp_path: Path) -> None:
    instance = write_instance(
        tmp_path / "small",
        facts={"gl": f"date scenario product amount\n{ROWS}", "staff": "date scenario heads\n2021-01-05 actual 3"},
        domains={
            "gl": """
            time: {column: date}
            dimensions: {product: product}
            measures: {amount: {places: 2}}
            metrics:
              revenue: {measure: amount}
              per_head: {formula: revenue / staff.heads}
            """,
            "staff": """
            time: {column: date}
            dimensions: {}
            measures: {heads: {places: 0}}
            metrics:
              heads: {measure: heads}
            """,
        },
        dimensions="product: {kind: leaf, members: live.product}",
        tables={"product": PRODUCTS},
        profiles="seen: {scenarios: {'*': {}}}\n",
    )
    load_instance(instance, tmp_path / "state")
    books = open_books(instance, state=tmp_path / "state", profile="seen")
    report = books.metric("per_head", scenarios={"A": "actual"}, period=JAN)
    assert list(figures(report).values()) == [50]  # 150 by 3
    books.keep(report, tmp_path / "kept.arrow")
    assert opens(granting(tmp_path, "{'*': {domains: {allow: [gl, staff]}}}"), tmp_path / "kept.arrow")
    for hidden in ("gl", "staff"):
        assert not opens(granting(tmp_path, f"{{'*': {{domains: {{deny: [{hidden}]}}}}}}"), tmp_path / "kept.arrow")


def test_a_figure_of_thousands_of_digits_is_kept_and_opened(tmp_path: Path) -> None:
    squared = "\n".join(f"  m{at}: {{formula: m{at - 1} * m{at - 1}}}" for at in range(1, 11))
    ledger = """
time: {column: date}
dimensions: {}
measures: {amount: {places: 2}, base: {places: 2}}
metrics:
  m0: {formula: amount / base}
  amount: {measure: amount}
  base: {measure: base}
"""
    books = small_books(
        tmp_path,
        facts={"gl": "date scenario amount base\n2021-01-05 actual 10001 10000"},
        domains={"gl": f"{ledger}{squared}"},
    )
    report = books.metric("m10", scenarios={"A": "actual"}, period=JAN)
    books.keep(report, tmp_path / "kept.arrow")
    again = books.open(tmp_path / "kept.arrow")
    assert isinstance(again, Report)
    numerators, denominators = again.figures.numerators, again.figures.denominators
    assert Fraction(numerators[0] or 0, denominators[0]) == Fraction(10001, 10000) ** 1024
