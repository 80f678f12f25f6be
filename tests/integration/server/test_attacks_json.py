"""Attacks by JSON: what is no message, or could be taken for two, is told what to mend, and the server goes on."""

import json
from collections.abc import Iterator

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.wire.message import DEEPEST, MOST_DIGITS, UnreadableMessage, read_message
from tests.support.service.operations import metric
from tests.support.service.raw_http import Raw
from tests.support.service.servers import DEADLINE, KEY, Server
from tests.support.service.users import call

MODERN = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "run_metric_data"}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "attacker", "version": "1"},
}
HEADERS = {
    "Authorization": f"Bearer {KEY}",
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
}
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-9999, 9999) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=3),
    max_leaves=8,
)


def asked(arguments: str) -> str:
    """Return a call of run_metric_data whose arguments stand as they are given."""
    return call("run_metric_data", arguments)


@pytest.fixture(params=["legacy", "modern"])
def era(request: pytest.FixtureRequest) -> str:
    """Either protocol era."""
    return str(request.param)


def send(server: Server, body: str | bytes, era: str) -> httpx2.Response:
    """Send a body in an era."""
    if isinstance(body, str) and era == "modern":
        body = body.replace('"params":{', f'"params":{{"_meta":{json.dumps(META)},', 1)
    headers = HEADERS | (MODERN if era == "modern" else {})
    return httpx2.post(server.url, content=body, headers=headers, timeout=DEADLINE)


@pytest.fixture(autouse=True)
def goes_on(small_server: Server) -> Iterator[None]:
    """After each attack others are served, and nothing failed inside."""
    faults = metric(small_server, "tieout_calls_total", tool="run_metric_data", outcome="internal")
    yield
    answer = httpx2.post(small_server.url, content=call("list_scenarios"), headers=HEADERS, timeout=DEADLINE)
    assert answer.json()["result"]["isError"] is False
    assert metric(small_server, "tieout_calls_total", tool="run_metric_data", outcome="internal") == faults
    assert "Traceback" not in small_server.log.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"filters":' + "[" * 40_000 + "]" * 40_000 + "}", "nested deeper than 32 levels. Nest them as"),
        ('{"filters":' + "[" * 500 + "]" * 500 + "}", "nested deeper than 32 levels"),
        ('{"filters":' + '{"a":' * 2000 + "1" + "}" * 2000 + "}", "nested deeper than 32 levels"),
        ('{"filters":{"a":"\\\\","b":"]}\\"","c":' + "[" * 2000 + "]" * 2000 + "}}", "nested deeper than 32 levels"),
        ('{"scale":' + "9" * 1_000_000 + "}", "more than 400 digits. Give it with fewer"),
        ('{"scale":1e' + "9" * 1_000_000 + "}", "more than 400 digits"),
        ('{"scale":0.' + "9" * 1_000_000 + "}", "more than 400 digits"),
        ('{"metrics":["revenue"],"metrics":["headcount"]}', "'metrics' stands twice in one object. Give it once"),
        ('{"filters":{"region":["EU"],"region":["US"]}}', "'region' stands twice"),
        ('{"metrics":["\\ud800"]}', "half a character (an unpaired surrogate). Send whole"),
        ('{"\\uDC00":1}', "half a character"),
        ('{"metrics":[' + '"a",' * 40_000 + '"a"]}', "more than 25000 values. Ask for less"),
        ("{" + ",".join(f'"k{number}":1' for number in range(40_000)) + "}", "more than 25000 values"),
        ('{"metrics":["' + "k" * 1_000_000 + '"]}', "more than 262144 characters"),
        ('{"' + "k" * 1_000_000 + '":1}', "a name more than 256"),
        ("[]", "The arguments of a call are a JSON object"),
        ('"metrics"', "The arguments of a call are a JSON object"),
    ],
    ids=lambda case: case[:24],
)
def test_arguments_that_cannot_be_read_are_an_error_that_says_what_to_mend(
    small_server: Server, era: str, arguments: str, said: str
) -> None:
    answer = send(small_server, asked(arguments), era)
    assert answer.status_code == 200
    result = answer.json()["result"]
    assert (answer.json()["id"], result["isError"]) == (1, True)
    found = result["structuredContent"]
    assert (found["error_type"], found["field"], "retryable" in found) == ("bad_arguments", "arguments", False)
    assert said in found["error"]
    assert json.loads(result["content"][0]["text"]) == found
    assert len(answer.content) < 2000


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (f"[{asked('{}')}]", 400, "no JSON object. Send one JSON-RPC message"),
        ("[]", 400, "no JSON object"),
        ("", 400, "no JSON object"),
        ("{", 400, "no JSON object"),
        ("null", 400, "no JSON object"),
        (asked("{}") + asked("{}"), 400, "no JSON object"),
        ("\ufeff" + asked("{}"), 400, "no JSON object"),
        (asked("{}").encode("utf-16"), 400, "no JSON object"),
        (asked('{"metrics":["é"]}').encode("latin-1"), 400, "no JSON object"),
        (asked('{"a":' * 40_000), 400, "no JSON object"),
        (asked('{"a":' * 100_000), 400, "more than 50000 commas and brackets. Ask for less"),
        (asked('{"a":' + "[" * 100_000 + "]" * 100_000 + "}"), 400, "more than 50000 commas and brackets"),
        (asked('{"a":[' + "[[[1]]]," * 500_000 + "1]}"), 400, "more than 50000 commas and brackets"),
        (asked('{"a":[' + '{"a":1},' * 500_000 + "1]}"), 400, "more than 50000 commas and brackets"),
        (asked('{"a":' + "[" * 2000 + '"' + '\\"' * 100_000), 400, "no JSON object"),
        (asked('{"a":' + "[" * 2000 + '"' + '\\"' * 100_000 + "\\"), 400, "no JSON object"),
        (asked("{}").replace("tools/call", "x" * 300_000), 400, "its method text as long"),
        (asked("{}").replace("tools/call", "ping\\ud800"), 400, "half a character"),
        (asked("{}").replace('"id":1', '"id":{"a":1}'), 400, "The id of a message is text"),
        (asked("{}").replace('"id":1', '"id":null'), 400, "The id of a message is text"),
        (asked("{}").replace('"id":1', '"id":true'), 400, "The id of a message is text"),
        (asked("{}").replace('"id":1', f'"id":{"9" * 4000}'), 400, "The id of a message is text"),
        (asked("{}").replace('"id":1', f'"id":"{"i" * 300_000}"'), 400, "The id of a message is text"),
        (asked("{}").replace('"id":1,', '"id":"\\ud800",'), 400, "half a character"),
        (call("x" * 300_000), 400, "a name more than 256"),
        (asked('{"metrics":["' + "k" * 4_300_000 + '"]}'), 413, "larger than 4194304 bytes. Ask for less"),
    ],
    ids=lambda case: str(case)[:24],
)
def test_what_is_no_message_is_refused_and_told_why(
    small_server: Server, era: str, body: str | bytes, status: int, said: str
) -> None:
    answer = send(small_server, body, era)
    assert answer.status_code == status
    assert said in answer.json()["error"]["message"]
    assert answer.json()["id"] is None
    assert len(answer.content) < 1000


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_other_kinds_of_content_are_refused(small_server: Server, kind: str) -> None:
    headers = HEADERS | {"Content-Type": kind}
    assert httpx2.post(small_server.url, content=asked("{}"), headers=headers).status_code in (400, 415)


def test_a_body_in_pieces_is_bounded_like_one_that_says_its_length(small_server: Server) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(80):
            yield b" " * 65_536

    answer = httpx2.post(small_server.url, content=pieces(), headers=HEADERS, timeout=DEADLINE)
    assert answer.status_code == 413


def test_a_client_that_leaves_in_the_middle_of_its_message_is_nobodys_fault(small_server: Server) -> None:
    lines = [f"{name}: {value}" for name, value in HEADERS.items()]
    host = small_server.url.removeprefix("http://").removesuffix("/mcp")
    head = "\r\n".join(["POST /mcp HTTP/1.1", f"Host: {host}", "Content-Length: 5000", *lines])
    Raw(small_server.url).send(f'{head}\r\n\r\n{{"jsonrpc":"2.0",')
    assert " error " not in small_server.log.read_text()


def nested(levels: int) -> bytes:
    """Return a call whose arguments are nested to a depth."""
    inner = levels - 1  # the arguments themselves are the first
    return asked('{"filters":' + "[" * inner + "]" * inner + "}").encode()


def test_the_bounds_themselves_are_taken() -> None:
    assert read_message(nested(DEEPEST)).fault is None
    assert read_message(nested(DEEPEST + 1)).fault is not None
    assert read_message(asked(f'{{"scale":{"9" * MOST_DIGITS}}}').encode()).fault is None
    assert read_message(asked(f'{{"scale":{"9" * (MOST_DIGITS + 1)}}}').encode()).fault is not None


@given(PLAIN)
def test_a_message_that_can_be_read_goes_on_as_it_is(arguments: object) -> None:
    body = asked(json.dumps({"filters": arguments})).encode()
    message = read_message(body)
    assert (message.body, message.fault) == (body, None)


@given(st.binary(max_size=200) | st.text(alphabet='{}[]":,\\u0d8ea1e-. ', max_size=200).map(str.encode))
def test_any_bytes_are_a_message_or_none(body: bytes) -> None:
    try:
        message = read_message(body)
    except UnreadableMessage as why:
        said = str(why)
        assert said.endswith(".")
        return
    assert isinstance(json.loads(message.body), dict)
