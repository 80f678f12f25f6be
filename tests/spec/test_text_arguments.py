"""Lists and objects that hosts send as JSON texts are read as what they are, unless a member has that very name."""

from decimal import Decimal
from typing import Any

import pytest

from engine.queries.filters import selection_in
from server.feeds.instance import read_instance
from tests.support.books.fed import Fed
from tests.support.books.loads import load_feeds
from tests.support.books.small import write_instance

ODD = '["G1", "G2"]'  # also the id of a member of `odd`


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Fed:
    """Sales by region, and by a dimension with a member whose id is a JSON text."""
    folder = tmp_path_factory.mktemp("books")
    domain = """
        time: {column: date}
        dimensions: {region: region, odd: odd}
        measures: {amount: {places: 2}}
        inspect_enabled: true
        metrics:
          sales: {measure: amount}
    """
    instance = write_instance(
        folder / "small",
        facts={"gl": "date"},
        domains={"gl": domain},
        dimensions="region: {kind: leaf}\nodd: {kind: leaf}",
        profiles="everyone: {scenarios: {'*': {}}}\nassign: [{subject: dev, profile: everyone}]\n",
        bindings={"gl": {"scenario": "actual"}},
    )
    lines = [f'2026-01-02,G1,"{ODD.replace(chr(34), chr(34) * 2)}",5', "2026-01-02,G2,G1,6", "2026-02-02,G3,x,8"]
    (instance / "data" / "gl.csv").write_text("\n".join(["date,region,odd,amount", *lines, ""]))
    load_feeds(instance, folder / "state")
    return Fed(instance, folder / "state", *read_instance(instance).profiles.by_key.values())


def total(books: Fed, **asked: Any) -> Decimal | None:
    """Return the total of the sales."""
    call = {
        "metrics": ["sales"],
        "scenarios": [{"scenario": "actual"}],
        "period_start": "2026-01",
        "period_end": "2026-03",
    } | asked
    (row,) = books.ask("run_metric", **call)["rows"]
    return None if row["values"][0] is None else Decimal(str(row["values"][0]))


@pytest.mark.parametrize(
    ("asked", "sales"),
    [
        ({"metrics": '["sales"]'}, 19),
        ({"scenarios": '[{"scenario": "actual", "alias": null}]'}, 19),
        ({"scenarios": ['{"scenario": "actual"}']}, 19),
        ({"filters": '{"region": ["G1", "G2"]}'}, 11),
        ({"filters": '{"region": "[\\"G1\\", \\"G2\\"]"}'}, 11),
        ({"filters": {"region": '["G1", "G2"]'}}, 11),
        ({"filters": {"region": ' ["G1"] '}}, 5),
        ({"filters": {"region": '{"exclude": ["G1"]}'}}, 14),
        ({"filters": {"region": '{"exclude": ["G1"], "include": ["G1", "G2"]}'}}, 6),
        ({"filters": {"period": '["2026-01"]'}}, 11),
        ({"filters": {"odd": ODD}}, 5),  # the member of that name
        ({"filters": {"odd": [ODD]}}, 5),
        ({"filters": {"odd": '["G1", "x"]'}}, 14),
    ],
)
def test_a_json_text_is_the_list_or_object_that_it_holds(books: Fed, asked: dict[str, Any], sales: int) -> None:
    assert total(books, **asked) == sales


def test_rows_are_inspected_by_lists_sent_as_texts(books: Fed) -> None:
    asked = {"source_key": "gl", "scenario_id": "actual", "period_start": "2026", "filters": {"region": '["G1"]'}}
    assert len(books.ask("inspect_rows", **asked)["rows"]) == 1


@pytest.mark.parametrize("text", ["[1, 2]", '["G1", 2]', '{"G1": 1}', '{"include": ["G1"]}', "[", "{}", "[" * 100_000])
def test_a_text_of_something_else_stays_a_text(text: str) -> None:
    assert selection_in(text) is None


@pytest.mark.parametrize("asked", [{"metrics": '{"a": 1}'}, {"metrics": '["sales"'}, {"filters": '["G1"]'}])
def test_a_text_of_another_kind_is_refused_as_before(books: Fed, asked: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match=r"takes (a list|an object), not text"):
        total(books, **asked)
