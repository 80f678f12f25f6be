"""Operands of formulas in the catalogue: members of their own, and lines of other statements.

Rules: Operands with members of their own.
"""

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from engine.books.checks import data_faults
from engine.door import Door
from engine.instance.documents import InstanceFaults
from engine.model.errors import UnknownName
from tests.laws.oracle.asking import UNCUT
from tests.support.answers.drills import calls, figure_behind
from tests.support.answers.reader import answer
from tests.support.books.inspected import rows_of
from tests.support.books.loads import load_instance
from tests.support.books.small import figures, granting, small_books, write_instance
from tests.support.service.servers import connected, serving

FACTS = """
    date       scenario product region amount
    2026-01-10 actual   A       EU     60
    2026-01-11 actual   A       US     40
    2026-01-12 actual   B       EU     30
    2026-01-13 actual   B       US     10
    2026-01-14 actual   B       AP     7
    2026-01-10 budget   A       EU     50
    2026-01-10 budget   B       US     20
"""
PEOPLE = """
    date       scenario region heads
    2026-01-31 actual   EU     3
    2026-01-31 actual   US     5
"""
DOMAIN = """
    time: {column: date}
    dimensions: {product: product, region: region}
    measures: {amount: {places: 2}}
    inspect_enabled: true
    metrics:
      sales: {measure: amount}
      european: {formula: "sales{region: EU}"}
      to_europe: {formula: "sales / european"}
      planned: {formula: "sales{region: EU}[budget] - sales{world: [EU, AP]}"}
      whole: {formula: "sales / sales{region: \\"(all)\\"}"}
"""
OF_PEOPLE = """
    time: {column: date}
    dimensions: {region: region}
    measures: {heads: {type: number, places: 0}}
    metrics:
      headcount: {measure: heads}
      european: {formula: "headcount{region: EU} * 2"}
"""
DIMENSIONS = """
    product: {kind: leaf}
    region: {kind: leaf, members: live.region}
    world: {kind: ragged, leaf_dimension: region, nodes: live.world}
    block: {kind: derived, from: region, attribute: block}
    month: {kind: leaf, grain: month}
"""
TABLES = {
    "region": "id name block\nEU Europe West\nUS States West\nAP Asia~Pacific East",
    "world": "node parent weight\nAll - 1\nEU All 1\nUS All -1\nAP All 0.5",
}
STATEMENTS = {
    "summary": """
        - {header: Sales}
        - {metric: sales}
        - formula: {key: outside, label: Outside, is: "sales - sales{region: EU}"}
        - formula: {key: a_head, label: A head, is: "ratios.twice / people.headcount"}
        - formula: {key: own, label: Own, is: "summary.outside * 2"}
    """,
    "ratios": """
        - {rollup: {dimension: world, node: All, metric: sales, depth: 1}, key: net}
        - formula: {key: twice, label: Twice, is: "net + summary.outside"}
        - formula: {key: part, label: Part, is: "summary.sales{product: B} / summary.sales"}
    """,
}
NET = 90 - 50 + Fraction(7, 2)  # EU, less US, and half of AP
ASKED: dict[str, Any] = {"scenarios": {"A": "actual"}, "period": "2026-01"}


def parts(**more: Any) -> dict[str, Any]:
    """Return the files of books of sales and people, some of them replaced."""
    files: dict[str, Any] = {
        "facts": {"gl": FACTS, "people": PEOPLE},
        "domains": {"gl": DOMAIN, "people": OF_PEOPLE},
        "dimensions": DIMENSIONS,
        "tables": TABLES,
        "statements": STATEMENTS,
    }
    return {**files, **more}


def ledger(folder: Path) -> Door:
    """Return such books."""
    return small_books(folder, **parts())


def near(figure: Fraction | int) -> Any:
    """Return a fraction as the digits of an answer have it."""
    return pytest.approx(
        Decimal(Fraction(figure).numerator) / Decimal(Fraction(figure).denominator), rel=Decimal("1e-14")
    )


def by_region(books: Door, metric: str, **more: Any) -> dict[str | None, Decimal | None]:
    """Return the figures of a metric by region, the total at None."""
    return figures(books.metric(metric, **{**ASKED, "dimensions": ["region"], **more}), "region")


def test_a_metric_has_members_of_its_own_at_every_place(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    assert by_region(books, "gl.european") == {None: 90}
    shares = {"EU": Fraction(1), "US": Fraction(50, 90), "AP": Fraction(7, 90), None: Fraction(147, 90)}
    assert by_region(books, "to_europe") == {key: near(share) for key, share in shares.items()}
    assert by_region(books, "planned")[None] == 50 - (90 + 7)
    assert by_region(books, "whole", filters={"region": ["EU"]}) == dict.fromkeys(("EU", None), near(Fraction(90, 147)))
    assert by_region(books, "people.european") == {None: 6}


def test_a_formula_of_a_call_names_such_a_metric(tmp_path: Path) -> None:
    report = ledger(tmp_path).metric("sales", formulas={"x": "gl.european{product: A} / gl.european"}, **ASKED)
    assert figures(report, "metric")["x"] == near(Fraction(60, 90))


def test_lines_have_members_of_their_own_and_name_lines_of_other_statements(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    summary = figures(books.statement("summary", **ASKED), "line")
    assert (summary["outside"], summary["own"]) == (57, 114)
    assert summary["a_head"] == near((NET + 57) / 8)
    ratios = figures(books.statement("ratios", **ASKED), "line")
    assert (ratios["net"], ratios["twice"]) == (NET, NET + 57)
    assert ratios["part"] == near(Fraction(47, 147))


def test_the_rows_of_such_an_operand_are_one_call(tmp_path: Path) -> None:
    books = ledger(tmp_path)
    result = answer(books.metric("to_europe", **ASKED, dimensions=["region"]), UNCUT)
    (column,) = result["columns"]
    made = {
        row.get("members", {}).get("region"): [
            figure_behind(call, lambda given: rows_of(books, **given)) for _, _, call in calls(row, column)
        ]
        for row in result["rows"]
    }
    assert made == {"EU": [90, 90], "US": [50, 90], "AP": [7, 90], None: [147, 90]}


def test_what_names_a_hidden_member_does_not_exist(tmp_path: Path) -> None:
    ledger(tmp_path)
    books = granting(tmp_path, "{actual: {dimensions: {region: {allow: [US, AP]}}}}")
    assert set(books.reader.metrics) == {"sales", "whole", "headcount"}
    assert [line.key for line in books.reader.statements["summary"].lines] == ["header_1", "sales"]
    assert [line.key for line in books.reader.statements["ratios"].lines] == ["net", "part"]
    hidden, unknown = (refusal(books, metric) for metric in ("to_europe", "to_europa"))
    assert hidden.as_data() == {**unknown.as_data(), "error": hidden.error, "got": "to_europe"}
    assert hidden.valid == unknown.valid == ["headcount", "sales", "whole"]
    assert by_region(books, "whole") == {"US": near(Fraction(50, 57)), "AP": near(Fraction(7, 57)), None: 1}


def refusal(books: Door, metric: str) -> UnknownName:
    """Return the refusal of a metric that does not exist for a caller."""
    with pytest.raises(UnknownName) as refused:
        books.metric(metric, **ASKED)
    return refused.value


def test_a_key_is_bare_where_the_other_metric_of_it_names_a_hidden_member(tmp_path: Path) -> None:
    domains = {"gl": DOMAIN, "people": OF_PEOPLE.replace("headcount{region: EU}", "headcount{region: AP}")}
    small_books(tmp_path, **parts(domains=domains))
    books = granting(tmp_path, "{actual: {dimensions: {region: {allow: [EU]}}}}")
    assert books.reader.catalogue.metrics["european"].domain == "gl"
    assert "people.european" not in books.reader.metrics
    assert by_region(books, "european")[None] == 90


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("sales{regio: EU}", "sales cannot be restricted by 'regio'; did you mean 'region'?"),
        ("sales{month: 2026-01}", "sales cannot be restricted by 'month'"),
        ("sales{region: EU, block: West}", "region and block are of one dimension; name one of them in the braces"),
        ("sales / people.headcount{product: A}", "headcount cannot be restricted by 'product'"),
        ("sales / summary.sales", "'summary.sales' is of no domain; formulas of statements alone name lines"),
    ],
)
def test_a_fault_of_a_metric_says_what_is_wrong(tmp_path: Path, formula: str, says: str) -> None:
    domain = f"{DOMAIN}      faulty: {{formula: '{formula}'}}\n"
    with pytest.raises(InstanceFaults) as faults:
        small_books(tmp_path, **parts(domains={"gl": domain, "people": OF_PEOPLE}))
    assert says in str(faults.value)


@pytest.mark.parametrize(
    ("formula", "says"),
    [
        ("ratios.nett", "ratios has no line 'nett'; did you mean 'net'?"),
        ("ratios.part + ratios.back", "formulas go round in a circle: back → back"),
        ("rations.net", "there is no line or metric 'rations.net'"),
        ("ratios.net{product: A, regio: EU}", "ratios.net cannot be restricted by 'regio'"),
        ("sales + summary.faulty", "formulas go round in a circle: faulty → faulty"),
    ],
)
def test_a_fault_of_a_line_says_what_is_wrong(tmp_path: Path, formula: str, says: str) -> None:
    lines = {
        "summary": f"{STATEMENTS['summary']}    - formula: {{key: faulty, label: Faulty, is: '{formula}'}}\n",
        "ratios": f"{STATEMENTS['ratios']}    - formula: {{key: back, label: Back, is: 'summary.faulty'}}\n",
    }
    with pytest.raises(InstanceFaults) as faults:
        small_books(tmp_path, **parts(statements=lines))
    assert says in str(faults.value)


def test_a_check_names_members_that_are_not_loaded(tmp_path: Path) -> None:
    unknown = DOMAIN.replace("sales{region: EU}[budget]", "sales{region: EX}[budget]")
    lines = {**STATEMENTS, "ratios": STATEMENTS["ratios"].replace("{product: B}", "{product: Z}")}
    books = small_books(tmp_path, **parts(domains={"gl": unknown, "people": OF_PEOPLE}, statements=lines))
    told = [fault for fault in data_faults(books.reader._books, ()) if "belong" not in fault and "feed" not in fault]
    assert told == [
        "domains/gl.yaml:12: metric planned: region has no 'EX'",
        "statements/ratios.yaml:6: statement ratios, line part: product has no 'Z'",
    ]


def test_such_books_are_served(tmp_path: Path) -> None:
    everyone = "everyone: {scenarios: {'*': {}}}\nassign: [{subject: dev, profile: everyone}]"
    instance = write_instance(tmp_path / "books", **parts(profiles=everyone))
    load_instance(instance, tmp_path / "state")
    asked = {"scenarios": [{"scenario": "actual"}], "period_start": "2026-01", "period_end": "2026-01"}
    with serving(instance, tmp_path / "state") as server, connected(server.url, "auto") as books:
        metric = books.ask("run_metric", metrics=["to_europe", "planned"], **asked)
        statement = books.ask("run_statement", statement="summary", **asked)
    ((to_europe, planned),) = (row["values"] for row in metric["rows"])
    assert (Fraction(str(to_europe)).limit_denominator(1000), planned) == (Fraction(147, 90), -47)
    assert [row["values"] for row in statement["rows"] if row["key"] == "own"] == [[114]]
