"""What the parent makes of a reply: of our own the same outcome, of anything else nothing."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.job import MESSAGE, MOST_CHARACTERS, MOST_ROWS, WHOLE, Failure, JobResult, OutputColumn
from sandbox.reply import ForgedReply, decode, encode

TABLE = JobResult(
    columns=(
        OutputColumn("month", "date"),
        OutputColumn("amount", "number", 2),
        OutputColumn("count", "integer"),
        OutputColumn("late", "boolean"),
        OutputColumn("spark", "list"),
        OutputColumn("__proto__", "text"),
    ),
    rows=(("2025-01-31", 1.5, WHOLE, True, (1, None, "x"), "größe"), (None, 2, -3, None, (), "")),
    printed="a\nb",
)
GOOD = json.loads(encode(TABLE))


def reply(**changed: object) -> bytes:
    """Return a good reply with some parts changed."""
    return json.dumps(GOOD | changed).encode()


def test_an_outcome_survives_the_way() -> None:
    assert decode(encode(TABLE)) == TABLE


def test_a_failure_survives_the_way() -> None:
    failed = JobResult(failure=Failure.of("failed", "line 1: nothing"), printed="so far")
    assert decode(encode(failed)) == failed


def test_a_message_is_short_and_printable() -> None:
    failure = Failure.of("failed", "\x1b[2J" + "x" * 10_000)
    assert len(failure.message) == MESSAGE
    assert failure.message.isprintable()


@pytest.mark.parametrize(
    "forged",
    [
        b"",
        b"\xff",
        b"[" * 100_000,
        b"null",
        b"9" * 5_000,
        b'{"printed":"","printed":"","columns":[],"rows":[]}',
        b'{"ok": true}',
        reply(more=1),
        reply(rows=None),
        reply(rows=[[]]),
        reply(rows=[["2025-01-31"]]),
        reply(rows=[["2025-02-30", 1, 1, True, [], ""]]),
        reply(rows=[["x", 1, 1, True, [], ""]]),
        reply(rows=[[None, True, 1, True, [], ""]]),
        reply(rows=[[None, "1", 1, True, [], ""]]),
        reply(rows=[[None, 1, 1.0, True, [], ""]]),
        reply(rows=[[None, 1, WHOLE + 1, True, [], ""]]),
        reply(rows=[[None, float("nan"), 1, True, [], ""]]),
        reply(rows=[[None, 1, 1, 1, [], ""]]),
        reply(rows=[[None, 1, 1, True, [[]], ""]]),
        reply(rows=[[None, 1, 1, True, {}, ""]]),
        reply(rows=[[None, 1, 1, True, [], "\ud800"]]),
        reply(rows=[[None, 1, 1, True, [], "x" * (MOST_CHARACTERS + 1)]]),
        reply(rows=[[None] * 6] * (MOST_ROWS + 1)),
        reply(rows=[[None, 1, 1, True, [0] * 100_000, ""]]),
        reply(columns=[["a", "number", 0]] * 6),
        reply(columns=[["a", "object", 0]]),
        reply(columns=[["a", [], 0]]),
        reply(columns=[["a"]]),
        reply(columns=[["a", "number"]], rows=[]),
        *(reply(columns=[["a", "number", count]], rows=[]) for count in (True, 1.0, -1, MOST_ROWS + 1, None)),
        reply(columns=["ab"]),
        reply(columns=[[1, "number", 0]]),
        reply(columns=[["", "text", 0]], rows=[]),
        reply(columns=[["a\0", "text", 0]], rows=[]),
        reply(columns=[["\ud800", "text", 0]], rows=[]),
        reply(columns=[["t", "datetime", 0]], rows=[["0001-01-01T00:00:00+14:00"]]),
        reply(columns=[["t", "datetime", 0]], rows=[["9999-12-31T23:59:59-14:00"]]),
        reply(printed=1),
        reply(printed="x" * 100_000),
        encode(TABLE).replace(b"1.5", b"1e999"),
        b'{"printed":"","kind":"refused","message":1}',
        b'{"printed":"","kind":"root","message":""}',
        b'{"printed":"","kind":[],"message":""}',
    ],
)
def test_a_forged_reply_is_none(forged: bytes) -> None:
    with pytest.raises(ForgedReply):
        decode(forged)


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(noise: bytes) -> None:
    with pytest.raises(ForgedReply):
        decode(noise)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.sampled_from(["columns", "rows", "printed"]), JSON)
def test_whatever_is_read_is_plain(part: str, value: object) -> None:
    try:
        read = decode(reply(**{part: value}))
    except ForgedReply:
        return
    assert decode(encode(read)) == read
