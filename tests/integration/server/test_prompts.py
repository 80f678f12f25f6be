"""Prompts, resources and completions as clients find them: within what each caller sees, in both eras."""

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference, TextResourceContents

from server.tools.definitions import DEFINITIONS
from server.tools.prompts import PROMPTS
from server.tools.resources import ORIENTATION_URI, PAGE
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance
from tests.support.service.issuers import Issuer, issuing
from tests.support.service.servers import ERAS, McpBooks, Server, connected
from tests.support.service.two_domains import FACTS, PROFILES, callers_of, serving_two_domains
from tests.support.service.users import HOST, serving_many

ARGUMENTS = {"metric": "revenue", "period": "2026-01", "statement": "pnl", "base": "actual@py", "scenario": "actual"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Issuer, Server]]:
    """A server of books with revenue and pay, which one of two callers does not see."""
    with serving_two_domains(tmp_path_factory.mktemp("books")) as running:
        yield running


@pytest.fixture(params=ERAS)
def callers(request: pytest.FixtureRequest, served: tuple[Issuer, Server]) -> Iterator[tuple[McpBooks, McpBooks]]:
    """Clients of one who sees all and of one who sees sales, in each era."""
    with callers_of(served, request.param) as both:
        yield both


def refused(books: McpBooks, ask: Callable[[Client], Any]) -> MCPError:
    """Return the error of a request."""
    with pytest.raises(MCPError) as caught:
        books.read(ask)
    return caught.value


def text_of(books: McpBooks, name: str, **arguments: str) -> str:
    """Return the instruction of a prompt."""
    return books.prompt(name, arguments)


def read(books: McpBooks, uri: str) -> Any:
    """Return the JSON at an address."""
    (page,) = books.resource(uri).contents
    assert page.mime_type == "application/json"
    assert isinstance(page, TextResourceContents)
    return json.loads(page.text)


def completed(books: McpBooks, prompt: str, argument: str, value: str) -> list[str]:
    """Return the values that an argument of a prompt can take."""
    of = PromptReference(type="ref/prompt", name=prompt)
    return list(books.read(lambda client: client.complete(of, {"name": argument, "value": value})).completion.values)


def test_each_prompt_is_listed_and_its_calls_are_ones_that_can_be_made(callers: tuple[McpBooks, McpBooks]) -> None:
    books, _ = callers
    listed = {prompt.name: prompt for prompt in books.read(lambda client: client.list_prompts()).prompts}
    assert listed.keys() == PROMPTS.keys()
    tools = {tool.name for tool in books.tools()} | {"eval_chart_transform"}
    for name, prompt in listed.items():
        takes = {argument.name for argument in prompt.arguments or ()}
        text = text_of(books, name, **{key: value for key, value in ARGUMENTS.items() if key in takes})
        named = set(re.findall(r"\b(?:run|list|inspect|export|eval|explain|search|get)_[a-z_]+", text))
        assert len(named) > 2
        assert named <= tools
        assert "2026-01" in text
        needed = {argument.name: ARGUMENTS[argument.name] for argument in prompt.arguments or () if argument.required}
        assert "last_closed" in text_of(books, name, **needed)


def test_a_comparison_is_with_the_budget_that_the_caller_sees(callers: tuple[McpBooks, McpBooks]) -> None:
    finance, sales = callers
    assert "scenarios [actual, budget]" in text_of(finance, "variance_commentary", metric="revenue")
    assert "scenarios [actual, actual@py]" in text_of(sales, "variance_commentary", metric="revenue")


@pytest.mark.parametrize(
    ("prompt", "arguments", "says"),
    [
        ("month_end", {}, "There is no prompt 'month_end'. Did you mean 'month_end_review'?"),
        ("tie_out", {}, "tie_out needs the argument metric."),
        ("tie_out", {"metric": "revenu"}, "There is no metric 'revenu'. Did you mean 'revenue'"),
        ("tie_out", {"metric": "revenue", "month": "2026-01"}, "There is no argument 'month'. tie_out takes metric,"),
        ("tie_out", {"metric": "revenue", "period": "2026-13"}, "there is no such month from"),
        ("board_summary", {"base": "budgets"}, "There is no base 'budgets'. Did you mean 'budget'?"),
    ],
)
def test_what_a_prompt_cannot_take_is_refused_with_what_it_can(
    callers: tuple[McpBooks, McpBooks], prompt: str, arguments: dict[str, str], says: str
) -> None:
    fault = refused(callers[0], lambda client: client.get_prompt(prompt, arguments))
    assert fault.error.code == -32602
    assert says in fault.error.message


def test_a_hidden_name_is_refused_as_one_that_does_not_exist(callers: tuple[McpBooks, McpBooks]) -> None:
    _, sales = callers
    hidden, unknown = (
        refused(sales, partial(Client.get_prompt, name="tie_out", arguments={"metric": name})).error
        for name in ("pay", "qqq")
    )
    assert json.dumps(hidden.data).replace("pay", "qqq") == json.dumps(unknown.data)
    assert hidden.message.replace("pay", "qqq") == unknown.message
    addresses = ("tieout://metric/pay", "tieout://metric/qqq", "tieout://statement/staff", "tieout://elsewhere")
    found = [refused(sales, partial(Client.read_resource, uri=uri)).error for uri in addresses]
    told = {
        (fault.code, fault.message.replace(uri, "URI"), json.dumps(fault.data).replace(uri, "URI"))
        for fault, uri in zip(found, addresses, strict=True)
    }
    assert len(told) == 1
    assert "resources/list" in found[0].message


def test_resources_are_the_definitions_that_the_caller_sees(callers: tuple[McpBooks, McpBooks]) -> None:
    seen = []
    for books in callers:
        listed = books.read(lambda client: client.list_resources())
        uris = [resource.uri for resource in listed.resources if resource.uri.startswith("tieout://")]
        assert uris[0] == ORIENTATION_URI
        assert read(books, ORIENTATION_URI) == books.call("svc_orientation").result
        assert all(read(books, uri)["key"] == uri.rpartition("/")[2] for uri in uris[1:])
        seen.append({uri.removeprefix("tieout://") for uri in uris[1:]})
    sales = {"statement/pnl", "metric/revenue", "metric/revenue_rate"}
    assert seen == [sales | {"statement/staff", "metric/pay", "metric/pay_rate"}, sales]
    lines = read(callers[1], "tieout://statement/pnl")["lines"]
    assert [line.get("key") for line in lines] == ["revenue", None, "result"]
    assert lines[2]["formula"] == "revenue - revenue"
    assert read(callers[0], "tieout://metric/pay_rate")["formula"] == "pay / pay"


def test_what_depends_on_the_caller_is_for_no_cache_of_others(served: tuple[Issuer, Server]) -> None:
    issuer, server = served
    key = issuer.token(sub="finance", groups=["finance"])
    with connected(server.url, ERAS[0], key, Host=HOST) as books:
        books.read(lambda client: client.list_resources())
        books.read(lambda client: client.read_resource(ORIENTATION_URI))
        scopes = [json.loads(body)["result"].get("cacheScope") for body in books.bodies[-2:]]
    assert scopes == ["private", "private"]


def test_arguments_are_completed_from_what_the_caller_sees(callers: tuple[McpBooks, McpBooks]) -> None:
    finance, sales = callers
    assert completed(finance, "tie_out", "metric", "") == ["revenue", "revenue_rate", "pay", "pay_rate"]
    assert completed(sales, "tie_out", "metric", "") == ["revenue", "revenue_rate"]
    assert completed(sales, "tie_out", "metric", "pay") == []
    assert completed(finance, "tie_out", "metric", "PA") == ["pay", "pay_rate"]
    assert completed(finance, "tie_out", "metric", "rate") == ["revenue_rate", "pay_rate"]
    assert completed(finance, "tie_out", "metric", "revenu e")[0] == "revenue"  # close to it
    assert completed(finance, "tie_out", "scenario", "bud") == ["budget"]
    assert completed(finance, "month_end_review", "period", "")[0] == "2026-02"
    assert completed(sales, "month_end_review", "period", "")[0] == "2026-01"
    assert completed(finance, "tie_out", "colour", "") == completed(finance, "none", "metric", "") == []


@pytest.mark.parametrize("kind", DEFINITIONS, ids=lambda kind: kind.name)
def test_templates_are_listed_and_completed(callers: tuple[McpBooks, McpBooks], kind: Any) -> None:
    templates = callers[0].read(lambda client: client.list_resource_templates()).resource_templates
    assert kind.template in [template.uri_template for template in templates]
    of = ResourceTemplateReference(type="ref/resource", uri=kind.template)
    found = callers[1].read(lambda client: client.complete(of, {"name": kind.name, "value": ""})).completion.values
    assert found == {"statement": ["pnl"], "metric": ["revenue", "revenue_rate"]}[kind.name]
    assert read(callers[1], kind.prefix + found[0])["key"] == found[0]


def test_long_lists_come_by_pages(tmp_path: Path) -> None:
    metrics = ", ".join(f"m{number}: {{measure: amount}}" for number in range(PAGE + 5))
    domain = "time: {column: date}\ndimensions: {region: region}\nmeasures: {amount: {places: 2}}\n"
    instance = write_instance(
        tmp_path / "instance",
        facts={"gl": FACTS},
        domains={"gl": f"{domain}metrics: {{{metrics}}}"},
        dimensions="region: {kind: leaf}",
        scenarios="actual: {alias: Actuals, kind: actual}\nbudget: {alias: Budget, kind: budget}",
        profiles=PROFILES,
    )
    load_instance(instance, tmp_path / "state")
    with issuing() as issuer, serving_many((instance, tmp_path / "state"), issuer.url) as server:
        key = issuer.token(sub="finance", groups=["finance"])
        with connected(server.url, ERAS[0], key, Host=HOST) as books:
            first = books.read(lambda client: client.list_resources())
            second = books.read(lambda client: client.list_resources(cursor=first.next_cursor))
            uris = [resource.uri for resource in (*first.resources, *second.resources)]
            assert (
                len(uris)
                == len(set(uris))
                == PAGE + 6 + len([uri for uri in uris if uri.startswith(("ui:", "skill:"))])
            )
            assert second.next_cursor is None
            for cursor in ("0", "-1", "999", "x", "²"):
                fault = refused(books, partial(Client.list_resources, cursor=cursor))
                assert "List the resources without one." in fault.error.message
