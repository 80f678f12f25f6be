"""Envelopes of messages over HTTP: what is wrong with one is told in a sentence that says what to send."""

import json
from typing import Any

import httpx2
import pytest

from tests.support.service.servers import DEADLINE, KEY, Server

HEADERS = {
    "Authorization": f"Bearer {KEY}",
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
}
LIST: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
NEWEST, VERSION = "2026-07-28", "io.modelcontextprotocol/protocolVersion"
META = {VERSION: NEWEST, "io.modelcontextprotocol/clientCapabilities": {}}


def send(server: Server, message: Any, **headers: str) -> httpx2.Response:
    """Send a message with the usual headers and others."""
    sent = HEADERS | {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx2.post(server.url, content=json.dumps(message), headers=sent, timeout=DEADLINE)


def error_of(answer: httpx2.Response) -> dict[str, Any]:
    """Return the error of an answer, whose message is a short text of sentences without words of a library."""
    error: dict[str, Any] = answer.json()["error"]
    assert error["message"].endswith(".")
    assert "\n" not in error["message"]
    assert "pydantic" not in answer.text
    assert len(error["message"]) < 300
    return error


def without(name: str) -> dict[str, Any]:
    """Return a message without a member."""
    return {key: part for key, part in LIST.items() if key != name}


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (without("jsonrpc"), 'jsonrpc of a message is the text "2.0". Send'),
        ({**LIST, "jsonrpc": "1.0"}, 'the text "2.0"'),
        ({**LIST, "jsonrpc": 2.0}, 'the text "2.0"'),
        ({}, 'the text "2.0"'),
        (without("method"), "has no method. Send one as"),
        ({**without("method"), "result": 5}, "has no method"),
        ({**without("method"), "error": {"code": "x"}}, "has no method"),
        ({"jsonrpc": "2.0", "result": {}}, "has no method"),
        ({**LIST, "params": [1]}, "The params of a message are a JSON object. Send"),
        ({**LIST, "params": "x"}, "The params of a message are a JSON object"),
        ({**LIST, "method": "tools/call"}, "A call names its tool. Send params as"),
        ({**LIST, "method": "tools/call", "params": {}}, "A call names its tool"),
        ({**LIST, "method": "tools/call", "params": {"name": 7}}, "A call names its tool"),
    ],
)
def test_a_message_that_is_no_json_rpc_is_told_what_to_send(small_server: Server, message: Any, said: str) -> None:
    answer = send(small_server, message)
    assert answer.status_code == 400
    assert said in error_of(answer)["message"]
    assert answer.json()["id"] == message.get("id")


@pytest.mark.parametrize("version", ["1999-01-01", "latest", "", "2025-11-26"])
def test_a_protocol_version_that_is_not_served_is_told_those_that_are(small_server: Server, version: str) -> None:
    answer = send(small_server, LIST, MCP_Protocol_Version=version)
    assert answer.status_code == 400
    error = error_of(answer)
    assert f"The protocol version '{version}' is not served. Send MCP-Protocol-Version with one of" in error["message"]
    assert "2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05" in error["message"]
    assert error["data"] == {"supported": [NEWEST], "requested": version}


def test_a_protocol_version_to_come_is_told_the_same_in_the_envelope_of_today(small_server: Server) -> None:
    message = {**LIST, "params": {"_meta": {**META, VERSION: "2031-01-01"}}}
    answer = send(small_server, message, MCP_Protocol_Version="2031-01-01", Mcp_Method="tools/list")
    assert (answer.status_code, answer.json()["id"]) == (400, 1)
    assert "'2031-01-01' is not served. Send" in error_of(answer)["message"]
    other = send(small_server, message, MCP_Protocol_Version="2032-01-01", Mcp_Method="tools/list")
    assert "header does not match" in other.json()["error"]["message"]  # which is the first thing to mend


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
def test_a_page_of_another_origin_is_told_which_may_call(small_server: Server, origin: str) -> None:
    answer = send(small_server, LIST, Origin=origin)
    assert answer.status_code == 403
    own = small_server.url.removesuffix("/mcp")
    assert own in error_of(answer)["message"]
    assert "or send no Origin." in error_of(answer)["message"]
    assert send(small_server, LIST, Origin=own).status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/jsonx", "application/x-www-form-urlencoded", ""])
def test_another_kind_of_content_is_told_which_to_send(small_server: Server, kind: str) -> None:
    answer = send(small_server, LIST, Content_Type=kind)
    assert answer.status_code == 415
    assert "Send Content-Type: application/json." in error_of(answer)["message"]


@pytest.mark.parametrize(
    ("message", "headers", "status"),
    [
        (LIST, {"Content_Type": "application/json; charset=utf-8"}, 200),
        ({**LIST, "params": None}, {}, 200),
        (without("id"), {}, 202),
        ({**without("method"), "result": {}}, {}, 202),
        ({**without("method"), "error": {"code": 1, "message": "no"}}, {}, 202),
        (LIST, {"MCP_Protocol_Version": "2024-11-05"}, 200),
        ({**LIST, "params": {"_meta": META}}, {"MCP_Protocol_Version": NEWEST, "Mcp_Method": "tools/list"}, 200),
    ],
)
def test_what_the_sdk_takes_is_taken(small_server: Server, message: Any, headers: dict[str, str], status: int) -> None:
    assert send(small_server, message, **headers).status_code == status
