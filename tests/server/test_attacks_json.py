"""Attacks by JSON: arguments of odd kinds, things said twice, texts that are none, in both protocol eras."""

import json
from base64 import b64encode

import httpx2
import pytest

from tests.support.serving import KEY, Server

LONGEST = 6000  # characters of any refusal, whatever was sent
HEADERS = {
    "Authorization": f"Bearer {KEY}",
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
}


INVALID = -32602
VERSIONS = ("2025-11-25", "2026-07-28")  # of either era
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": VERSIONS[1],
    "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def posted(server: Server, arguments: str, version: str = VERSIONS[0], tool: str = "run_statement") -> httpx2.Response:
    """Post a call with raw JSON arguments, of a tool whose name is raw JSON text."""
    params = f'{{"name":"{tool}","arguments":{arguments},"_meta":{json.dumps(ENVELOPE)}}}'
    body = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}'
    name = b64encode(json.loads(f'"{tool}"').encode(errors="replace")).decode()
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": "tools/call", "Mcp-Name": f"=?base64?{name}?="}
    return httpx2.post(server.url, content=body.encode(), headers=HEADERS | headers)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ('{"scale": 1e400}', "scale"),
        ('{"scale": -1e400}', "scale"),
        ('{"scale": 3.0}', "scale"),
        ('{"scale": true}', "scale"),
        ('{"scale": "3"}', "scale"),
        ('{"scale": [3]}', "scale"),
        (f'{{"scale": {"9" * 400}}}', "scale"),
        (f'{{"decimals": -{"9" * 40}}}', "decimals"),
        ('{"statement": 7}', "statement"),
        ('{"statement": {"$ne": ""}}', "statement"),
        ('{"filters": {"product": {"$ne": ""}}}', "filters.product"),
        ('{"filters": {"product": [["A"]]}}', "filters.product"),
        (f'{{"filters": {{"product": {"[" * 100}{"]" * 100}}}}}', "filters.product"),
        ('{"scenarios": "actual"}', "scenarios"),
        ('{"scenarios": {"scenario": "actual"}}', "scenarios"),
        ('{"scenarios": [null]}', "scenarios.0"),
        ('{"__proto__": {"statement": "pnl"}}', "__proto__"),
        ('{"": 1}', "arguments"),
    ],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_arguments_of_odd_kinds_are_refused_with_what_to_send(
    small_server: Server, arguments: str, field: str, version: str
) -> None:
    answer = posted(small_server, arguments, version)
    assert answer.status_code == 200
    error = answer.json()["result"]["structuredContent"]
    assert answer.json()["result"]["isError"] is True
    assert (error["error_type"], error["field"]) == ("bad_arguments", field)
    assert len(answer.content) < LONGEST * 2


@pytest.mark.parametrize(
    "arguments",
    [
        '{"statement": "\\ud800"}',
        '{"statement": "a\\udc00b"}',
        '{"\\ud800": 1}',
        f'{{"scale": {"9" * 5000}}}',
        f'{{"filters": {"[" * 100_000}{"]" * 100_000}}}',
        "{" * 1000,
        "[]",
        '"x"',
    ],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_no_call_is_answered_as_that(small_server: Server, arguments: str, version: str) -> None:
    answer = posted(small_server, arguments, version)
    assert answer.json()["error"]["code"] in (-32700, -32600, INVALID)
    assert len(answer.content) < LONGEST
    assert posted(small_server, '{"statement": "pnl"}').status_code == 200
    log = small_server.log.read_text()
    assert "Traceback" not in log
    assert "outcome=internal" not in log


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ('{"statement": "pnl", "statement": "cash"}', "statement"),
        ('{"filters": {"product": "A", "product": "B"}}', "product"),
        ('{"scenarios": [{"scenario": "actual", "alias": "A", "alias": "B"}]}', "alias"),
        ('{"scale": 3, "sc\\u0061le": 6}', "scale"),
    ],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_said_twice_is_refused(small_server: Server, arguments: str, key: str, version: str) -> None:
    answer = posted(small_server, arguments, version)
    assert answer.json()["error"] == {
        "code": INVALID,
        "message": f"The key '{key}' stands twice in one object. Give each key once, several ids as a list.",
    }


def test_a_tool_of_half_a_character_is_no_call(small_server: Server) -> None:
    answer = posted(small_server, "{}", VERSIONS[1], tool="\\ud800")
    assert answer.json()["error"]["message"]
    assert "Traceback" not in small_server.log.read_text()


def test_no_line_of_the_log_is_written_by_a_caller(small_server: Server) -> None:
    posted(small_server, '{"scenarios": [{"scenario": "actual\\nINJECTED level=error"}]}')
    posted(small_server, "{}", tool="list_kpis\\nINJECTED level=error")
    assert "INJECTED" not in small_server.log.read_text()
