"""The ingestion status tools: which loads there were, how they went, which feeds there are, and no secret in any."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from engine.facts.load_modes import LoadMode
from engine.present.answers.budget import tokens
from server.base.interfaces import LoadHistory, StoreDown
from server.base.settings import SHORTEST_ANSWER
from server.feeds.feeds import LoadStatus
from server.ingest.load import BindingFailed
from server.stores.loads import PostgresLoadHistory
from server.stores.postgres import Database
from tests.support.books.fed import BEGIN, FEEDS, Fed, attempt_of, days, fed_instance
from tests.support.books.loads import load_feeds
from tests.support.engines.memory import MemoryLoads
from tests.support.service.servers import connected, free_port, serving

EVERYTHING = "all: {scenarios: {'*': {}}}\nassign: [{subject: somebody, profile: all}]"
URI = "postgresql://reader:s3cr3t%40home@db.example/books"
SECRETS = (URI, "s3cr3t%40home", "s3cr3t@home")
WHOLE = ["product", "tree", "fx", "people"]  # feeds that are loaded whole
TOOL_NAMES = ("list_load_history", "get_load_status", "list_bindings", "get_binding")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the fed books, loaded."""
    folder = tmp_path_factory.mktemp("fed")
    load_all(fed_instance(folder / "small", profiles=EVERYTHING), folder / "state")
    return folder


def load_all(folder: Path, state: Path, loads: LoadHistory | None = None) -> None:
    """Load every feed that has something to read."""
    load_feeds(folder, state, *WHOLE, loads=loads)
    load_feeds(folder, state, "gl", loads=loads, periods="2021-01..2021-02")


@pytest.fixture
def fed(home: Path) -> Fed:
    """The tools over them for somebody who sees everything, with an empty history."""
    return Fed(home / "small", home / "state", environment={"ERP_URI": URI})


def ids(fed: Fed, **asked: Any) -> list[str]:
    """Return the loads that a call lists."""
    return [load["load_id"] for load in fed.ask("list_load_history", **asked)["loads"]]


def test_loads_are_listed_the_most_recent_first(fed: Fed) -> None:
    fed.remember(*(attempt_of(f"load-{number}") for number in (1, 3, 2)))
    assert ids(fed) == ["load-2", "load-3", "load-1"]  # as they began
    assert ids(fed, limit=2) == ["load-2", "load-3"]
    assert fed.ask("list_load_history", limit=2)["truncated"] is True
    assert fed.ask("list_load_history", limit=3)["truncated"] is False


def test_50_loads_are_listed_200_at_most_and_none_below_1(home: Path) -> None:
    fed = Fed(home / "small", home / "state", answer_tokens=1_000_000)
    fed.remember(*(attempt_of(f"load-{number}") for number in range(300)))
    assert len(ids(fed)) == 50
    assert len(ids(fed, limit=200)) == 200
    reduced = fed.ask("list_load_history", limit=201)
    assert len(reduced["loads"]) == 200
    assert [note["code"] for note in reduced["notes"]] == ["limit_reduced"]
    refused = fed.refused("list_load_history", limit=0)
    assert (refused["error_type"], refused["field"], refused["got"]) == ("bad_arguments", "limit", 0)
    assert "1 to 200" in refused["error"]


def test_filters_combine_with_and(fed: Fed) -> None:
    fed.remember(
        attempt_of("load-1", span=days("2021-01-01", "2021-01-31")),
        attempt_of("load-2", span=days("2021-02-01", "2021-02-28"), status=LoadStatus.FAILED_EXTRACT),
        attempt_of("load-3", "budget", span=days("2021-02-01", "2021-02-28")),
        attempt_of("load-4", "people", target="live.people", span=days("2021-02-01", "2021-02-28")),
    )
    assert ids(fed, binding_id="gl") == ["load-2", "load-1"]
    assert ids(fed, dataset_id="live.gl") == ["load-3", "load-2", "load-1"]  # of both feeds
    assert ids(fed, dataset_id="live.gl", period="2021-02") == ["load-3", "load-2"]
    assert ids(fed, dataset_id="live.gl", period="2021-02", status="success") == ["load-3"]
    assert ids(fed, binding_id="gl", period="2021-02", status="success") == []
    assert ids(fed, binding_id="people", dataset_id="live.gl") == []


@pytest.mark.parametrize("period", ["2021-02", "2021-Q1", "2021", "2021-W06", "2021-02-10"])
def test_a_period_of_any_grain_finds_the_loads_that_touched_it_or_may_have(fed: Fed, period: str) -> None:
    fed.remember(
        attempt_of("load-1", span=days("2020-01-01", "2020-12-31")),
        attempt_of("load-2", span=days("2021-02-10", "2021-02-10")),
        attempt_of("load-3", status=LoadStatus.RUNNING),  # of days that nobody knows yet
    )
    assert ids(fed, period=period) == ["load-3", "load-2"]


CLOSED = "actual: {alias: Actuals, kind: actual, closed_through: {gl: 2021-02, people: 2021-01}}"


def test_last_closed_is_that_of_the_domains_that_the_feeds_fill(tmp_path: Path) -> None:
    scenarios = f"{CLOSED}\nbudget: {{alias: B, kind: budget}}\nforecast: {{alias: F, kind: forecast}}\n"
    load_all(fed_instance(tmp_path / "small", profiles=EVERYTHING, scenarios=scenarios), tmp_path / "state")
    fed = Fed(tmp_path / "small", tmp_path / "state", environment={"ERP_URI": URI})
    fed.remember(
        attempt_of("load-1", span=days("2021-02-01", "2021-02-28")),
        attempt_of("load-2", span=days("2021-01-01", "2021-01-31")),
        attempt_of("load-3", "people", target="live.people", span=days("2021-01-01", "2021-01-31")),
    )
    assert ids(fed, dataset_id="live.gl", period="last_closed") == ["load-1"]
    assert ids(fed, binding_id="gl", period="last_closed-1") == ["load-2"]
    assert ids(fed, period="last_closed") == ["load-3", "load-2"]  # the earliest of both domains
    assert ids(fed, binding_id="product", period="last_closed") == []  # fills no domain
    refused = fed.refused("list_load_history", period="last month")
    assert refused["example"] == {"period": "last_closed"}


def test_last_closed_is_refused_where_no_scenario_has_closed(fed: Fed) -> None:
    refused = fed.refused("list_load_history", period="last_closed")
    assert (refused["error_type"], refused["field"], refused["got"]) == ("bad_period", "period", "last_closed")


def test_a_period_that_is_none_is_refused_with_what_one_looks_like(fed: Fed) -> None:
    refused = fed.refused("list_load_history", period="last month")
    assert (refused["error_type"], refused["field"]) == ("bad_period", "period")
    assert "YYYY-MM" in refused["error"]


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ("running", ["load-8"]),
        ("success", ["load-1"]),
        ("failed_connect", ["load-2"]),
        ("failed_interrupted", ["load-7"]),
        ("failed_*", [f"load-{number}" for number in range(7, 1, -1)]),
        ("failed", [f"load-{number}" for number in range(7, 1, -1)]),
    ],
)
def test_a_status_or_the_family_of_failures(fed: Fed, status: str, found: list[str]) -> None:
    failures = [known for known in LoadStatus if known.failed]
    statuses = [LoadStatus.SUCCESS, *failures, LoadStatus.RUNNING]
    fed.remember(*(attempt_of(f"load-{number}", status=known) for number, known in enumerate(statuses, 1)))
    assert ids(fed, status=status) == found


def test_any_other_status_is_refused_with_those_there_are(fed: Fed) -> None:
    refused = fed.refused("list_load_history", status="failed_conect")
    assert (refused["error_type"], refused["field"]) == ("bad_arguments", "status")
    assert refused["did_you_mean"][0] == "failed_connect"
    assert {"running", "success", "failed_*", *(known.value for known in LoadStatus)} <= set(refused["valid"])


def test_a_load_tells_all_that_is_known_of_it_and_nothing_else(fed: Fed) -> None:
    fed.remember(
        attempt_of(
            "load-1",
            mode=LoadMode.REPLACE_PERIODS,
            periods="2021-01..2021-02",
            span=days("2021-01-01", "2021-02-28"),
            due_at=BEGIN,
            status=LoadStatus.FAILED_VALIDATE,
            rows_read=1000,
            rows_rejected=10,
            message="10 of 1000 rows rejected, 0 allowed",
            rejects_file="load-1.csv",
            rejected={"amount is no number": 9, "date is missing": 1},
        ),
        attempt_of("load-2", status=LoadStatus.RUNNING),
    )
    running, failed = fed.ask("list_load_history")["loads"]
    told = {
        "load_id": "load-1",
        "binding_id": "gl",
        "dataset_id": "live.gl",
        "source_id": "files",
        "status": "failed_validate",
        "started_at": "2021-03-01T06:00:00+00:00",
        "finished_at": "2021-03-01T06:01:30+00:00",
        "seconds": 90,
        "mode": "replace_periods",
        "periods": "2021-01..2021-02",
        "days": "2021-01-01..2021-02-28",
        "due_at": "2021-03-01T05:00:00+00:00",
        "rows_read": 1000,
        "rows_rejected": 10,
        "rejects_file": "load-1.csv",
        "rejected": {"amount is no number": 9, "date is missing": 1},
        "error": "10 of 1000 rows rejected, 0 allowed",
    }
    assert failed == told
    assert fed.ask("get_load_status", load_id="load-1") == {**told, "served_now": False, "notes": []}
    assert set(running) == {"load_id", "binding_id", "dataset_id", "source_id", "status", "started_at", "mode"}


def test_a_clock_set_back_makes_no_negative_duration(fed: Fed) -> None:
    fed.remember(attempt_of("load-1", finished_at=BEGIN - timedelta(days=1)))
    assert fed.ask("get_load_status", load_id="load-1")["seconds"] == 0


def test_a_load_says_whether_what_it_brought_is_what_is_served(tmp_path: Path) -> None:
    folder, state, loads = fed_instance(tmp_path / "small", profiles=EVERYTHING), tmp_path / "state", MemoryLoads()
    load_all(folder, state, loads)
    fed = Fed(folder, state, loads=loads)

    def served(binding: str) -> list[bool]:
        return [fed.ask("get_load_status", load_id=load)["served_now"] for load in ids(fed, binding_id=binding)]

    assert [served(key) for key in (*WHOLE, "gl")] == [[True]] * 5
    with pytest.raises(BindingFailed):  # February's row is none of January
        load_feeds(folder, state, "gl", loads=loads, periods="2021-01")
    assert served("gl") == [False, True]
    (folder / "data" / "gl.csv").write_text("date,product,region,amount,amount_group\n2021-02-07,A,EU,30,30\n")
    load_feeds(folder, state, "gl", loads=loads, periods="2021-02")
    load_feeds(folder, state, "product", loads=loads)
    assert served("gl") == [True, False, True]  # January is of the first still
    assert served("product") == [True, False]
    fresh = fed.ask("run_metric_data", metrics=["revenue"], scenarios=[{"scenario": "actual"}], period_start="2021-02")
    assert ids(fed, binding_id="gl")[0] == fresh["freshness"]["gl"]["actual"]["load_id"]


def test_feeds_are_listed_with_their_schedules_and_how_they_were_loaded_last(fed: Fed) -> None:
    fed.remember(attempt_of("load-1"), attempt_of("load-2"), attempt_of("load-3", status=LoadStatus.FAILED_CONNECT))
    feeds = {feed["binding_id"]: feed for feed in fed.ask("list_bindings")["bindings"]}
    assert list(feeds) == list(fed.instance.bindings)
    due = datetime.fromisoformat(feeds["gl"]["schedule"].pop("next_due"))
    now = datetime.now(UTC)
    assert now < due <= now + timedelta(days=1, hours=1)
    assert (due.hour, due.minute, due.utcoffset()) == (5, 15, due.astimezone(ZoneInfo("Europe/Paris")).utcoffset())
    assert feeds["gl"] == {
        "binding_id": "gl",
        "source_id": "files",
        "target": "live.gl",
        "dataset_id": "live.gl",
        "scenario": "actual",
        "mode": "replace_periods",
        "schedule": {"cron": "15 5 * * *", "timezone": "Europe/Paris"},
        "last_attempt": {"load_id": "load-3", "status": "failed_connect", "started_at": "2021-03-01T08:00:00+00:00"},
        "last_success": {"load_id": "load-2", "status": "success", "finished_at": "2021-03-01T07:01:30+00:00"},
    }
    assert feeds["people"] == {
        "binding_id": "people",
        "source_id": "files",
        "target": "live.people",
        "dataset_id": "live.people",
        "mode": "full",
    }


def test_feeds_of_a_source_into_a_table(fed: Fed) -> None:
    def named(**asked: str) -> list[str]:
        return [feed["binding_id"] for feed in fed.ask("list_bindings", **asked)["bindings"]]

    assert named(target="live.gl") == ["budget", "gl", "ledger"]
    assert named(source_id="erp") == ["ledger"]
    assert named(source_id="erp", target="live.people") == []


def test_a_feed_tells_its_whole_configuration(fed: Fed) -> None:
    described = fed.ask("get_binding", binding_id="ledger")
    assert described == {
        "binding_id": "ledger",
        "source_id": "erp",
        "target": "live.gl",
        "dataset_id": "live.gl",
        "scenario": "forecast",
        "mode": "replace_periods",
        "source_kind": "postgresql",
        "source_variable": "ERP_URI",
        "extract": FEEDS["ledger"]["extract"],
        "parameters": {"company": "4711"},
        "mapping": FEEDS["ledger"]["map"],
        "conversion": {
            "rates": "live.fx",
            "kind": "average",
            "from": "currency",
            "on": "date",
            "measure": "amount",
            "into": "amount_group",
        },
        "recent_periods": 2,
        "rejects": {"allow": 7},
        "unknown_members": "extend",
        "allow_empty": False,
        "notes": [],
    }
    files = fed.ask("get_binding", binding_id="budget")
    assert (files["source_kind"], files["file"], files["rejects"]) == ("folder", "budget/*.csv", "fail")
    assert "path" not in str(files)


@pytest.mark.parametrize(
    ("tool", "asked", "expected"),
    [
        ("list_load_history", {"binding_id": "gll"}, {"did_you_mean": ["gl"], "got": "gll"}),
        ("list_load_history", {"dataset_id": "live.peple"}, {"did_you_mean": ["live.people", "live.tree", "live.gl"]}),
        ("list_bindings", {"source_id": "file"}, {"valid": ["erp", "files"], "did_you_mean": ["files"]}),
        (
            "list_bindings",
            {"target": "gl"},
            {"valid": ["live.fx", "live.gl", "live.people", "live.product", "live.tree"]},
        ),
        ("get_binding", {"binding_id": "leger"}, {"did_you_mean": ["ledger"]}),
        ("get_load_status", {"load_id": "load-2"}, {"valid": ["load-1"], "did_you_mean": ["load-1"]}),
    ],
)
def test_an_unknown_name_is_refused_with_those_there_are(
    fed: Fed, tool: str, asked: dict[str, str], expected: dict[str, Any]
) -> None:
    fed.remember(attempt_of("load-1"))
    refused = fed.refused(tool, **asked)
    (field,) = asked
    assert (refused["error_type"], refused["field"], "retryable" in refused) == ("unknown_name", field, False)
    assert {key: refused[key] for key in expected} == expected
    assert refused["error"].endswith((" lists the feeds.", " lists the loads."))


def test_an_attempt_of_a_feed_that_fills_another_table_now_is_not_there(fed: Fed) -> None:
    fed.remember(attempt_of("load-1", target="live.payroll"))
    assert ids(fed) == []
    assert "last_attempt" not in fed.ask("get_binding", binding_id="gl")
    assert fed.refused("get_load_status", load_id="load-1")["error_type"] == "unknown_name"


LEAKY: dict[str, Any] = {
    "extract": "select * from dblink('" + URI + "', 'select ' || :company)"  # noqa: S608 - it is never run
    " where day >= :period_start and password = 'hunter2-hunter2' and key = :api_key -- s3cr3t@home",
    "parameters": {"api_key": "hunter2-hunter2", "company": URI},
    "map": {"region": {"constant": "s3cr3t@home"}, "product": {"column": "article", "values": {URI: "s3cr3t%40home"}}},
}


def test_no_answer_holds_a_credential_wherever_it_was_written(tmp_path: Path, home: Path) -> None:
    folder = fed_instance(
        tmp_path / "small", profiles=EVERYTHING, bindings={**FEEDS, "ledger": {**FEEDS["ledger"], **LEAKY}}
    )
    fed = Fed(folder, home / "state", environment={"ERP_URI": URI})
    fed.remember(attempt_of("load-1", status=LoadStatus.FAILED_CONNECT, message=f"cannot reach {URI}: s3cr3t@home?"))
    asked = {"get_binding": {"binding_id": "ledger"}, "get_load_status": {"load_id": "load-1"}}
    texts = {tool: fed.call(tool, **asked.get(tool, {})) for tool in TOOL_NAMES}
    for refused, _, text in texts.values():
        assert not refused
        assert not any(secret in text for secret in (*SECRETS, "hunter2-hunter2"))
    ledger = texts["get_binding"][1]
    assert ledger["extract"] == (
        "select * from dblink('…', 'select ' || :company) "
        "where day >= :period_start and password = … and key = :api_key -- …"
    )
    assert ledger["parameters"] == {"api_key": "…", "company": "…"}
    assert texts["get_load_status"][1]["error"] == "cannot reach …: …?"
    assert (ledger["source_id"], ledger["source_variable"]) == ("erp", "ERP_URI")


def starting() -> None:
    """Fail as a database does that is not there yet."""
    raise StoreDown("the platform database cannot be reached: it is starting")


def test_without_the_history_feeds_are_told_and_loads_refused_for_now(home: Path) -> None:
    loads = PostgresLoadHistory(Database("postgresql:///nowhere", starting))
    fed = Fed(home / "small", home / "state", loads=loads)
    for tool, asked in (("list_load_history", {}), ("get_load_status", {"load_id": "load-1"})):
        refused = fed.refused(tool, **asked)
        assert (refused["error_type"], refused["retryable"]) == ("unavailable", True)
        assert refused["retry_after_ms"] > 0
        assert all(works in refused["error"] for works in ("list_bindings", "get_binding", "freshness"))
        assert "database" not in refused["error"]
    listed = fed.ask("list_bindings")
    assert len(listed["bindings"]) == len(fed.instance.bindings)
    for answer in (listed, fed.ask("get_binding", binding_id="gl")):
        assert [note["code"] for note in answer["notes"]] == ["history_unavailable"]
        assert "last_attempt" not in str(answer)


def test_a_server_whose_database_is_out_of_reach_still_tells_its_feeds(home: Path, tmp_path: Path) -> None:
    folder = fed_instance(tmp_path / "small", profiles=EVERYTHING.replace("somebody", "dev"))
    nobody = f"postgresql://reader:s3cr3t@127.0.0.1:{free_port()}/books"
    with (
        serving(folder, home / "state", healthy=False, DATABASE_URL=nobody) as server,
        connected(server.url, "auto") as books,
    ):
        refused = books.call("list_load_history")
        assert (refused.is_error, refused.result["error_type"], refused.result["retryable"]) == (
            True,
            "unavailable",
            True,
        )
        listed = books.ask("list_bindings")
        assert [note["code"] for note in listed["notes"]] == ["history_unavailable"]
        assert "s3cr3t" not in server.log.read_text() + refused.text


def test_the_examples_in_the_descriptions_work(fed: Fed) -> None:
    fed.remember(attempt_of("load-1"))
    examples = fed.examples()
    for name in TOOL_NAMES:
        assert fed.ask(name, **examples.get(name, {"load_id": "load-1"}))


@pytest.mark.parametrize("budget", [SHORTEST_ANSWER, 10_000])
def test_an_answer_fits_its_budget_and_counts_what_it_leaves_out(tmp_path: Path, home: Path, budget: int) -> None:
    columns = ("date", "product", "region", "amount", "amount_group")
    wide = {
        **FEEDS["ledger"],
        "extract": f"{FEEDS['ledger']['extract']} and 1 in ({', '.join(map(str, range(3000)))})",
        "map": {column: {"column": column, "values": {f"v{at}": "A" for at in range(400)}} for column in columns[1:3]},
    }
    schedule = "0 5 29 2 *"  # due once in four years, so that two answers tell the same time
    many = {f"feed{at:03}": {**FEEDS["budget"], "schedule": schedule} for at in range(300)}
    folder = fed_instance(tmp_path / "small", profiles=EVERYTHING, bindings={"ledger": wide, **many})
    cut = Fed(folder, home / "state", answer_tokens=budget)
    whole = Fed(folder, home / "state", loads=cut.loads, answer_tokens=10_000_000)
    message = "row 7: 'Ü' is no amount; " * 2000
    for at in range(200):
        said = message if at == 7 else message[:200]
        cut.remember(attempt_of(f"load-{at}", status=LoadStatus.FAILED_VALIDATE, message=said))
    calls: dict[str, dict[str, Any]] = {
        "list_bindings": {},
        "list_load_history": {"limit": 200},
        "get_binding": {"binding_id": "ledger"},
        "get_load_status": {"load_id": "load-7"},
    }
    for tool, asked in calls.items():
        result, all_of_it = cut.ask(tool, **asked), whole.ask(tool, **asked)
        assert tokens(result) <= budget < tokens(all_of_it)
        assert "agent_truncated" not in all_of_it
        left_out = result["agent_truncated"]
        (note,) = result["notes"]
        assert note["code"] == "shortened"
        match tool:
            case "list_bindings" | "list_load_history":
                name = "binding" if tool == "list_bindings" else "load"
                shown, every = result[f"{name}s"], all_of_it[f"{name}s"]
                more = result.get(f"more_{name}s", [])
                assert shown == every[: len(shown)]
                assert more == [known[f"{name}_id"] for known in every[len(shown) :]][: len(more)]
                gone = {f"{name}_details": len(every) - len(shown), f"{name}s": len(every) - len(shown) - len(more)}
                assert left_out == {axis: count for axis, count in gone.items() if count}
            case "get_binding":
                assert len(result["extract"]) + left_out.get("extract_characters", 0) == len(all_of_it["extract"])
                assert result["extract"] == all_of_it["extract"][: len(result["extract"])]
            case "get_load_status":
                assert len(result["error"]) + left_out["error_characters"] == len(message)
