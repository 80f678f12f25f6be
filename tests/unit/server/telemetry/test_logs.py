"""Logs: one event one line, and never a secret on it, whoever logs what."""

import json
import logging
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest

from server.base.credentials import MARK
from server.telemetry.logs import LONGEST, LogRedactor, bound
from tests.support.fixtures import LOGGED_KEY as KEY
from tests.support.fixtures import LOGGED_PASSWORD as PASSWORD
from tests.support.fixtures import Lines

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl"


@pytest.fixture
def events(lines: Lines, request: pytest.FixtureRequest) -> Callable[[], list[dict[str, Any]]]:
    """What the log says as JSON."""
    if request.node.callspec.params["lines"] == "text":
        pytest.fail("ask for lines")
    return lambda: [json.loads(line) for line in lines()]


only_json = pytest.mark.parametrize("lines", ["json"], indirect=True)
log = logging.getLogger("tieout.tests")


def log_a_fault(words: str) -> None:
    """Log an exception with its traceback."""

    def fail() -> None:
        raise RuntimeError(words)

    try:
        fail()
    except RuntimeError:
        log.exception("failed")


@only_json
def test_an_event_is_a_line_with_its_time_in_utc_level_logger_and_fields(events: Callable[[], Any]) -> None:
    log.info("loaded %d rows", 7, extra={"binding": "gl", "rows": 7, "nothing": None, "took": [1.5, True]})
    (event,) = events()
    at = datetime.fromisoformat(event.pop("timestamp"))
    assert at.utcoffset() == timedelta(0)
    assert abs(datetime.now(UTC) - at) < timedelta(minutes=1)
    assert event == {
        "level": "info",
        "logger": "tieout.tests",
        "event": "loaded 7 rows",
        "binding": "gl",
        "rows": 7,
        "took": [1.5, True],
    }


@pytest.mark.parametrize("lines", ["text"], indirect=True)
def test_text_is_for_people(lines: Lines) -> None:
    log.warning("odd", extra={"who": "Ann Ünal", "said": 'a "word"', "scenarios": ["actual", "var(a,b)"], "none": ""})
    (line,) = lines()
    when, rest = line.split(" ", 1)
    assert when.endswith("Z")
    assert rest == (r'warning tieout.tests odd who="Ann Ünal" said="a \"word\"" scenarios=[actual var(a,b)] none=""')


def test_everybodys_events_go_the_same_way(lines: Lines) -> None:
    for name in ("uvicorn.error", "mcp.server.lowlevel", "somebody.else"):
        logging.getLogger(name).warning("from %s", name, extra={"color_message": "in colour"})
    logging.getLogger("mcp.server").info("of every request")
    with warnings.catch_warnings():
        warnings.simplefilter("always", DeprecationWarning)  # not what the garbage of other tests left open
        warnings.warn("deprecated thing", DeprecationWarning, stacklevel=1)
    said = lines()
    assert len(said) == 4
    assert all(name in line for name, line in zip(("uvicorn", "mcp", "somebody", "deprecated"), said, strict=True))
    assert "in colour" not in "".join(said)


def test_whatever_is_logged_is_one_line(lines: Lines) -> None:
    hostile = "one\ntwo\r\nthree\x1b[31mred\u2028four\x85five"
    log.info(hostile, extra={"said": hostile, "more": [hostile, {"deep": hostile}]})
    log_a_fault(hostile)
    said = lines()
    assert len(said) == 2
    assert all(line.isprintable() for line in said)
    assert "RuntimeError" in said[1]
    assert "test_logs.py" in said[1]  # where it was raised


def test_a_thread_that_fails_says_so_in_the_log(lines: Lines) -> None:
    def fail() -> None:
        raise RuntimeError("by itself")

    failing = threading.Thread(target=fail, name="doomed")
    failing.start()
    failing.join()
    (line,) = lines()
    assert "thread doomed failed" in line
    assert "by itself" in line


def test_what_is_bound_stands_on_every_line_of_the_block(lines: Lines) -> None:
    with bound(request_id="r-1"):
        log.info("inside")
        logging.getLogger("somebody.else").warning("inside as well")
    log.info("outside")
    assert ["r-1" in line for line in lines()] == [True, True, False]


@pytest.mark.parametrize(
    "secret",
    [
        f"Authorization: Bearer {KEY[:20]}-of-another",
        f"authorization=Basic {KEY[::-1]}",
        f"token {JWT} was refused",
        "connecting to postgresql://tieout:MARKER-1@db:5432/books?sslmode=require",
        "connecting to postgresql://tieout:MARKER/w@rd@db/books",
        "redis://:MARKER@cache:6379/0",
        "host=db user=tieout password=MARKER dbname=books",
        "host=db password='MARKER with spaces' dbname=books",
        '{"password": "MARKER", "access_token": "MARKER"}',
        "client_secret=MARKER&grant_type=x",
        "GET /api/artifacts/get/af_12?e=99&s=MARKER HTTP/1.1",
        "https://host/x?a=1&signature=MARKER&b=2",
        f"the key is {KEY}, and {quote(PASSWORD, '')} is {PASSWORD}",
    ],
)
def test_what_has_the_shape_of_a_secret_is_struck_out_wherever_it_stands(lines: Lines, secret: str) -> None:
    log.info(secret)
    log.info("said %s", secret)
    log.info("field", extra={"said": secret, "deep": {"list": [secret]}, "thing": RuntimeError(secret)})
    log_a_fault(secret)
    said = "\n".join(lines())
    assert said.replace(r"\u2026", MARK).count(MARK) >= 4
    for marker in ("MARKER", KEY, KEY[:20], KEY[::-1], JWT, "sw0rd", quote(PASSWORD, "")):
        assert marker not in said


def test_fields_named_after_secrets_are_never_said(lines: Lines) -> None:
    named = ["authorization", "token", "access_token", "password", "secret", "client_secret", "cookie", "signature"]
    named += ["dsn", "dev_key", "signing_key", "api_key", "credentials"]
    log.info("fields", extra=dict.fromkeys(named, "MARKER") | {"headers": {"Authorization": "MARKER"}})
    (line,) = lines()
    assert "MARKER" not in line
    assert line.replace(r"\u2026", MARK).count(MARK) == len(named) + 1


@pytest.mark.parametrize(
    "said",
    ["there is no token", "basic checks", "key=revenue", "http://127.0.0.1:8768/mcp", "var(actual,budget)", "a@py"],
)
def test_what_is_no_secret_stays(said: str) -> None:
    redaction = LogRedactor([KEY, "", "short"])
    fields = {"key": said, "rows": 3, "ok": True, "none": None}
    assert redaction.value(fields) == fields


def test_a_value_that_would_not_fit_a_line_is_cut(lines: Lines) -> None:
    log.info("long", extra={"plan": "x" * 10 * LONGEST})
    (line,) = lines()
    assert len(line) < LONGEST + 300
    assert f"({10 * LONGEST} characters)" in line


@pytest.mark.parametrize(
    "hostile",
    ["a." * 10**6, "x://" * 10**6, "-eyJ" + "a" * 10**6, "-eyJaaaaaaa" * 10**5, "password=" * 10**5, 'token="' * 10**5],
)
def test_no_text_takes_long_to_look_through(hostile: str) -> None:
    program = "import sys; from server.telemetry.logs import LogRedactor; LogRedactor().text(sys.stdin.read())"
    subprocess.run([sys.executable, "-c", program], input=hostile, text=True, check=True, timeout=20)


def test_the_password_of_a_uri_that_is_known_is_struck_out_however_it_is_written() -> None:
    redaction = LogRedactor(["postgresql://tieout:a%20b-c@h/db", ""])
    assert redaction.text("it refused 'a b-c', that is a%20b-c") == f"it refused '{MARK}', that is {MARK}"
    assert redaction.text("a-plain-name") == "a-plain-name"


def test_lines_of_many_threads_do_not_mix() -> None:
    program = (
        "import sys, threading, logging\nfrom server.telemetry.logs import log_to\nlog_to(sys.stderr, 'json')\n"
        "def say(): [logging.getLogger('t').info('x' * 5000) for _ in range(100)]\n"
        "all = [threading.Thread(target=say) for _ in range(8)]\n[t.start() for t in all]\n[t.join() for t in all]"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**os.environ}
    ).stderr.splitlines()
    assert len(said) == 800
    assert {len(json.loads(line)["event"]) for line in said} == {5000}
