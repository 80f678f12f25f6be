"""A law of the door: amounts of files stand in the output of a command and in its report, and nowhere else."""

import re
from pathlib import Path
from typing import Any

import pytest

from server.feeds.feeds import LoadStatus
from tests.support.books.small import write_instance
from tests.support.service.daemons import ONCE_A_YEAR, attempts, running
from tests.support.service.forks import tieout
from tests.support.service.servers import connected, serving

pytestmark = pytest.mark.usefixtures("history")
HEAD = "date,account,amount\n"
DOMAIN = """
    time: {column: date}
    dimensions: {account: account}
    measures: {amount: {places: 2}}
    metrics:
      revenue: {measure: amount}
"""
LEDGER = """date,account,amount
2021-01-05,1,739117.31
2021-01-05,1,
2021-01-05,2,-482915.625
2021-01-06,2,96x1773
2021-01-06,Sum,743636.68
"""
CREDITS = "date,account,debit,credit\n2021-01-05,1,,-268317.49\n2021-01-05,2,268317.49,\n"
BLANK = {"numbers": {"blank": "none"}}
ALLOWED = {"rejects": {"allow": {"decimals": 1, "number": 1}}, **BLANK}
SKIP = {"skip": {"equals": {"account": ["Sum"]}}}
REFUSES = {"totals": True, "on_fail": "refuse"}
# Feeds that load and feeds that fail, each for another reason, with the rows of their files.
FEEDS: dict[str, tuple[str, dict[str, Any]]] = {
    "loads": (LEDGER, {**ALLOWED, **SKIP, "control_totals": {"totals": True}}),
    "total": (f"{HEAD}2021-01-05,1,615243.87\n2021-01-06,Sum,619763.24\n", {**SKIP, "control_totals": REFUSES}),
    "fine": (f"{HEAD}2021-01-05,1,573829.125\n", {}),
    "no_number": (f"{HEAD}2021-01-05,1,864213.5O\n2021-01-05,1,318277.46\n", {}),
    "two_ways": (f"{HEAD}2021-01-05,1,928.467\n", {}),
    "unwritten": ("date;account;amount\n05.01.2021;1;351.846,29\n", {}),
    "otherwise": (f"{HEAD}2021-01-05,1,147298.63\n", {"numbers": {"decimal": ","}}),
    "credits": (CREDITS, {**BLANK, "amount": {"debit": "debit", "credit": "credit"}}),
    "unbalanced": (
        f"{HEAD}2021-01-05,1,417635.92\n2021-01-05,2,-413116.55\n",
        {"control_totals": {"balanced": True, "on_fail": "refuse"}},
    ),
}
SUMS = ("999838.365", "4519.37")  # of what `loads` reads; what three controls differ by
NEEDLES = frozenset(
    re.sub(r"\D", "", text).strip("0")
    for text in (*re.split(r"[\n,;]", "\n".join(rows for rows, _ in FEEDS.values())), *SUMS, "351846.29")
    if re.fullmatch(r"-?\d{2,}[.x]\d+O?", text)
)
# Times as Python, the tools and the log write them, and ids of loads.
NO_AMOUNT = re.compile(
    r"datetime\.\w+\([^)]*\)|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d([.,]\d+)?|\d{8}T\d{6}Z-\w+-[0-9a-f]{8}\b"
)


@pytest.fixture
def books(tmp_path: Path) -> Path:
    """Books whose feeds are due at once."""
    instance = write_instance(
        tmp_path / "small",
        facts=dict.fromkeys(("gl", *FEEDS), "date"),
        domains={"gl": DOMAIN},
        dimensions="account: {kind: leaf}",
        bindings={
            key: {"target": "live.gl", "scenario": "actual", "schedule": ONCE_A_YEAR, **keys}
            for key, (_, keys) in FEEDS.items()
        },
    )
    (instance / "profiles.yaml").unlink()  # the one user sees everything
    for key, (text, _) in FEEDS.items():
        (instance / "data" / f"{key}.csv").write_text(text)
    return instance


def amounts_in(said: str) -> set[str]:
    """Return the amounts that a text holds, in whatever notation; the digits of a time or of an id are none."""
    digits = [re.sub(r"\D", "", token) for token in re.findall(r"\d[\d.,'x ]*\d", NO_AMOUNT.sub("|", said))]
    return {needle for needle in NEEDLES if any(needle in one for one in digits)}


def test_no_record_answer_or_log_holds_an_amount_of_a_file(books: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with running(books, state, "daemon", "--once") as daemon:
        daemon.process.wait(timeout=300)
    done = {each.binding: each for each in attempts(books, state)}
    assert set(done) == set(FEEDS)
    assert {key for key, each in done.items() if each.status is LoadStatus.SUCCESS} == {"loads"}
    assert all(each.message for key, each in done.items() if key != "loads")
    again = [
        tieout("load", key, "--due", "2021-01-01T05:00:00", "--instance", books, SVC_STATE_DIR=str(state))
        for key in ("loads", "total", "unwritten")
    ]
    children = "".join(one.stdout + one.stderr for one in again)
    assert "control loads.csv: 5 rows; amount 5 = 1 loaded + 1 blank + 2 rejected + 1 left out" in children
    with serving(books, state) as server, connected(server.url, "auto") as client:
        loads = client.ask("list_load_history", limit=100)["loads"]
        for load in loads:
            client.ask("get_load_status", load_id=load["load_id"])
        client.ask("list_bindings")
        for key in FEEDS:
            client.ask("get_binding", binding_id=key)
        answers = b"\n".join(client.responses).decode()
        served = server.log.read_text()
    assert len(loads) == len(FEEDS) + len(again)
    listed = tieout("loads", "--instance", books, SVC_STATE_DIR=str(state))
    told = {
        "the daemon": daemon.log.read_text(),
        "its loads": children,
        "the history": "\n".join(map(repr, attempts(books, state))),
        "the tools": answers,
        "the server": served,
        "tieout loads": listed.stdout,
    }
    assert [who for who, text in told.items() if not text] == []
    assert {who: found for who, text in told.items() if (found := amounts_in(text))} == {}


def test_the_amounts_are_found_where_they_stand(books: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    for key in ("loads", "total", "unwritten"):
        ran = tieout("load", key, "--instance", books, SVC_STATE_DIR=str(state))
        assert amounts_in(ran.stdout + ran.stderr), "whoever loads is told"
    reports = "".join(path.read_text() for path in (state / "controls").glob("*.txt"))
    assert {"73911731", "999838365", "451937"} <= amounts_in(reports)
    times = "datetime.datetime(2026, 11, 30, 3, 51, 846000) 2026-11-30T19:28:46.7 20261130T184828Z-total-a0351846"
    assert amounts_in(times) == set()
