"""Finance cases T48-T50: statements over several domains that do not share every dimension.

Rules: Several domains.
"""

from decimal import Decimal
from pathlib import Path

import pytest

from engine.door import Door
from engine.model.errors import DimensionUnavailable, MixedDomains
from tests.support.books.small import figures, small_books

A = {"A": "actual"}


@pytest.fixture
def books(tmp_path: Path) -> Door:
    """Sales by product and entity, heads by entity."""
    return small_books(
        tmp_path,
        facts={
            "sales": """
            date       scenario product entity amount
            2021-01-05 actual   Core    FR     60
            2021-01-05 actual   Pro     DE     40
            """,
            "people": "date scenario entity heads\n2021-01 actual FR 6\n2021-01 actual DE 4",
        },
        domains={
            "sales": """
            time: {column: date}
            dimensions: {product: product, entity: entity}
            measures: {amount: {places: 2}}
            metrics:
              revenue: {measure: amount}
            """,
            "people": """
            time: {column: date, grain: month}
            dimensions: {entity: entity}
            measures: {heads: {type: number, places: 0}}
            metrics:
              headcount: {measure: heads, over_time: closing}
              revenue_per_head: {formula: sales.revenue / headcount}
            """,
        },
        dimensions="product: {kind: leaf}\nentity: {kind: leaf}",
        statements={"kpis": "  - {metric: revenue}\n  - {metric: headcount}\n  - {metric: revenue_per_head}\n"},
    )


def test_t48_a_breakdown_that_one_domain_has(books: Door) -> None:
    report = books.statement("kpis", scenarios=A, period="2021-01", dimensions=["product"])
    found = figures(report, "line", "product")
    assert [found["revenue", product] for product in ("Core", "Pro", None)] == [60, 40, 100]
    assert [found["headcount", product] for product in ("Core", "Pro", None)] == [10, 10, 10]
    repeats = {line.key: line.repeats_over for line in report.lines}
    assert (repeats["revenue"], repeats["headcount"]) == ((), ("product",))
    assert any("repeat their aggregate" in note.message for note in report.notes if note.code == "aggregate")


@pytest.mark.parametrize("dimensions", [["ptree"], ["ptree", "entity"], ["entity", "ptree"]])
def test_a_tree_of_a_dimension_that_a_domain_lacks_does_not_weigh_its_lines(
    tmp_path: Path, dimensions: list[str]
) -> None:
    books = small_books(
        tmp_path,
        facts={
            "sales": "date scenario product entity amount\n2021-01-05 actual Core FR 60\n2021-01-05 actual Pro DE 40",
            "people": "date scenario entity heads\n2021-01 actual FR 6\n2021-01 actual FR 2\n2021-01 actual DE 4",
        },
        domains={
            "sales": """
            time: {column: date}
            dimensions: {product: product, entity: entity}
            measures: {amount: {places: 2}}
            metrics: {revenue: {measure: amount}, largest_sale: {measure: amount, over_members: max}}
            """,
            "people": """
            time: {column: date, grain: month}
            dimensions: {entity: entity}
            measures: {heads: {type: number, places: 0}}
            metrics:
              largest: {measure: heads, over_members: max}
              mean: {measure: heads, over_members: average}
              entities: {over_members: {count_distinct: entity}}
              spread: {formula: largest - mean}
            """,
        },
        dimensions="""
            product: {kind: leaf}
            entity: {kind: leaf}
            ptree: {kind: ragged, leaf_dimension: product, nodes: live.ptree}
        """,
        tables={"ptree": "node parent weight\nC - 0.5\nCore C 1\nPro - 1"},
        statements={
            "kpis": "".join(
                f"- {{metric: {key}}}\n" for key in ("revenue", "largest_sale", "largest", "mean", "entities", "spread")
            )
        },
    )
    report = books.statement(
        "kpis", scenarios=A, period="2021-01", dimensions=dimensions, subtotals=len(dimensions) > 1
    )
    found = figures(report, "line", *dimensions)
    of_entity = {None: (6, 4, 2, 2), "FR": (6, 4, 1, 2), "DE": (4, 4, 1, 0)}
    places = {key[1:] for key in found}
    assert len(places) > 2
    for place in places:
        entity = dict(zip(dimensions, place, strict=True)).get("entity")
        of_place = tuple(found[key, *place] for key in ("largest", "mean", "entities", "spread"))
        assert of_place == of_entity[entity], place
        assert found["largest_sale", *place] is None  # its own domain has the tree, which weighs
    assert {line.key for line in report.lines if "ptree" in line.repeats_over} == {
        "largest",
        "mean",
        "entities",
        "spread",
    }


def test_t49_a_ratio_across_domains(books: Door) -> None:
    by_entity = books.statement("kpis", scenarios=A, period="2021-01", dimensions=["entity"])
    found = figures(by_entity, "line", "entity")
    assert [found["revenue_per_head", entity] for entity in ("FR", "DE", None)] == [10, 10, 10]
    by_product = books.statement("kpis", scenarios=A, period="2021-01", dimensions=["product"])
    found = figures(by_product, "line", "product")
    assert [found["revenue_per_head", product] for product in ("Core", "Pro", None)] == [None, None, 10]
    assert any("headcount" in note.message for note in by_product.notes if note.code == "not_computable")


def test_t50_a_filter_that_one_domain_lacks(books: Door) -> None:
    report = books.statement("kpis", scenarios=A, period="2021-01", filters={"product": "Core"})
    assert figures(report, "line") == {"revenue": 60, "headcount": None, "revenue_per_head": None}
    said = {note.code: note.message for note in report.notes}
    assert "people has no product, which is filtered" in said["unavailable"]
    assert "because headcount is not available" in said["not_computable"]


def test_the_freshness_of_a_metric_across_domains_names_every_domain(books: Door) -> None:
    across = books.metric("revenue_per_head", scenarios=A, period="2021-01")
    through = {domain: known["actual"].through for domain, known in across.freshness.items()}
    assert through == {"people": "2021-01", "sales": "2021-01-05"}
    assert list(books.metric("headcount", scenarios=A, period="2021-01").freshness) == ["people"]


def test_metrics_of_several_domains_are_refused_with_what_to_do(books: Door) -> None:
    with pytest.raises(MixedDomains, match="in a call of its own"):
        books.metric("revenue", "headcount", scenarios=A, period="2021-01")


def test_a_breakdown_that_no_domain_has_is_refused_with_those_there_are(books: Door) -> None:
    with pytest.raises(DimensionUnavailable) as refused:
        books.metric("headcount", scenarios=A, period="2021-01", dimensions=["product"])
    assert refused.value.valid == ["period", "entity", "month"]


def test_prices_and_counts_are_not_scaled(books: Door) -> None:
    report = books.statement("kpis", scenarios=A, period="2021-01", scale=3)
    units = {line.key: report.unit(line, report.columns[0].comparison) for line in report.lines}
    assert units == {"revenue": "USD thousands", "headcount": "number", "revenue_per_head": "USD each"}
    assert figures(report, "line")["revenue"] == Decimal(100)
