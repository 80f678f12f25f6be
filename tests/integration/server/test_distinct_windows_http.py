"""Distinct members of the year to each day over HTTP, of all and of a caller of one product, against sets of rows."""

import json
from collections.abc import Iterator
from datetime import date, timedelta
from random import Random
from time import time
from typing import Any

import pytest

from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance
from tests.support.service.issuers import Issuer, issuing
from tests.support.service.servers import Server
from tests.support.service.users import RawRequest, call, result, serving_many

FIRST, DAYS = date(2020, 12, 1), 90
DRAWN = Random(58)
ROWS = [
    (FIRST + timedelta(DRAWN.randrange(DAYS)), f"C{DRAWN.randrange(40)}", DRAWN.choice(("A", "B"))) for _ in range(300)
]
PROFILES = """
all_of_it: {scenarios: {'*': {}}}
only_a: {scenarios: {'*': {dimensions: {product: {allow: [A]}}}}}
assign:
  - {claim: {groups: finance}, profile: all_of_it}
  - {claim: {groups: few}, profile: only_a}
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Issuer]]:
    """A server of sales to forty customers."""
    folder = tmp_path_factory.mktemp("windows")
    told = "\n".join(f"{day} actual {customer} {product} 1.00" for day, customer, product in ROWS)
    domain = """
    time: {column: date}
    dimensions: {customer: customer, product: product}
    measures: {amount: {places: 2}}
    metrics:
      buyers: {over_members: {count_distinct: customer}}
    """
    instance = write_instance(
        folder / "books",
        facts={"sales": f"date scenario customer product amount\n{told}"},
        domains={"sales": domain},
        dimensions="customer: {kind: leaf}\nproduct: {kind: leaf}\ndate: {kind: leaf, grain: date}\n",
        profiles=PROFILES,
    )
    load_instance(instance, folder / "state")
    with issuing() as issuer, serving_many((instance, folder / "state"), issuer.url) as server:
        yield server, issuer


@pytest.mark.parametrize(("group", "products"), [("finance", "AB"), ("few", "A")])
def test_buyers_of_the_year_to_each_day_are_those_of_sets(
    served: tuple[Server, Issuer], group: str, products: str
) -> None:
    server, issuer = served
    token = issuer.token(sub=group, groups=[group], exp=int(time()) + 600)
    asked: dict[str, Any] = {
        "metrics": ["buyers"],
        "scenarios": [{"scenario": "actual@ytd", "alias": "Y"}, {"scenario": "actual@ltm", "alias": "L"}],
        "dimensions": ["date"],
        "period_start": "2021-01-01",
        "period_end": "2021-02-28",
    }
    answered = result(RawRequest(server.url).post(token, call("run_metric_data", json.dumps(asked))))
    assert "rows" in answered, answered
    rows = answered["rows"]
    seen = [(day, customer) for day, customer, product in ROWS if product in products]
    days = [date(2021, 1, 1) + timedelta(at) for at in range(59)]
    assert len(rows) - len(days) in (0, 1)  # perhaps the total
    for row, last in zip(rows, days, strict=False):
        since = [{customer for day, customer in seen if first <= day <= last} for first in (date(2021, 1, 1), FIRST)]
        assert row["values"] == [len(customers) or None for customers in since], last
