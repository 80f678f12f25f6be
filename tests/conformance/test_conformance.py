"""The MCP conformance suite, both versions and both protocol eras, read check by check.

A scenario's own verdict is not used: one that checked nothing counts as passed, and one that failed may still say "1
passed" of the wire format. Instead the table below says of each scenario that applies how many checks succeed and
which do not, and why; anything else, a new success included, fails here until somebody has looked at it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.conformance.running import HERE, Checks, RunningServer, conformance

Results = Callable[[str, str], Mapping[str, Checks]]

OLD, NEW_2025, NEW_2026 = "0.1.16, 2025-11-25", "0.2.0-alpha.12, 2025-11-25", "0.2.0-alpha.12, 2026-07-28"
RUNS = {
    OLD: ("conformance-2025", "--suite", "all", "--spec-version", "2025-11-25"),
    NEW_2025: ("conformance-2026", "--requirements", "2025-11-25"),
    NEW_2026: ("conformance-2026", "--requirements", "2026-07-28"),
}
REAL, STDIO, FIXTURE_TOOLS = "real", "over_stdio", "with_fixture_tools"  # fixtures of conftest
FAILURE, SKIPPED, INFO = "FAILURE", "SKIPPED", "INFO"


@dataclass(frozen=True, slots=True)
class ScenarioOutcome:
    """How a scenario ends: how many checks succeed, and each that does not, with its status and the reason."""

    successes: int
    others: Mapping[str, tuple[str, str]] = field(default_factory=dict)


NO_SUBSCRIPTIONS = (SKIPPED, "we advertise no list changes and no subscriptions")
STATELESS = {
    # Two of the checks need a diagnostic tool that asks the client for something; ours never ask.
    "ServerRejectsUndeclaredCapability": (FAILURE, "untestable: our error result for an unknown tool is read as a run"),
    "MissingCapabilityHttp400": (FAILURE, "Not testable, it says: no tool of ours needs a client's capability"),
    "ServerSendsSubscriptionAck": NO_SUBSCRIPTIONS,
    "ServerTagsSubscriptionId": NO_SUBSCRIPTIONS,
    "ServerHonorsNotificationFilter": NO_SUBSCRIPTIONS,
    "ServerSendsPromptsListChangedOnSubscription": NO_SUBSCRIPTIONS,
    "ServerSendsToolsListChangedOnSubscription": NO_SUBSCRIPTIONS,
}
NO_SESSION = {"ServerSessionIdVisibleAscii": (INFO, "stateless: there is no session id")}
JSON_ANSWERS = {"ServerSSEStreamsFunctional": (INFO, "we answer in JSON; streams are optional")}

EXPECTED = {
    (REAL, OLD): {
        "server-initialize": ScenarioOutcome(1),
        "ping": ScenarioOutcome(1),
        "tools-list": ScenarioOutcome(1),
        "resources-list": ScenarioOutcome(1),
        "prompts-list": ScenarioOutcome(1),
        "dns-rebinding-protection": ScenarioOutcome(2),
    },
    (REAL, NEW_2025): {
        "server-initialize": ScenarioOutcome(2, NO_SESSION),
        "ping": ScenarioOutcome(2),
        "tools-list": ScenarioOutcome(3),
        "resources-list": ScenarioOutcome(2),
        "prompts-list": ScenarioOutcome(2),
        "dns-rebinding-protection": ScenarioOutcome(2),
    },
    (REAL, NEW_2026): {
        "server-stateless": ScenarioOutcome(23, STATELESS),  # 2 of the 23 need FIXTURE_TOOLS to mean anything
        "tools-list": ScenarioOutcome(4),
        "resources-list": ScenarioOutcome(2),
        "sep-2164-resource-not-found": ScenarioOutcome(4),
        "prompts-list": ScenarioOutcome(2),
        "dns-rebinding-protection": ScenarioOutcome(2),
        "caching": ScenarioOutcome(8),
        "http-header-validation": ScenarioOutcome(14),
        "server-sse-multiple-streams": ScenarioOutcome(1, JSON_ANSWERS),
    },
    # Statuses, headers and hosts are of HTTP: what judges them is not asked of the bridge.
    (STDIO, NEW_2025): {
        "server-initialize": ScenarioOutcome(2, NO_SESSION),
        "ping": ScenarioOutcome(2),
        "tools-list": ScenarioOutcome(3),
        "resources-list": ScenarioOutcome(2),
        "prompts-list": ScenarioOutcome(2),
    },
    (STDIO, NEW_2026): {
        "tools-list": ScenarioOutcome(4),
        "resources-list": ScenarioOutcome(2),
        "sep-2164-resource-not-found": ScenarioOutcome(4),
        "prompts-list": ScenarioOutcome(2),
        "caching": ScenarioOutcome(8),
    },
    # Only here do these mean anything: without the tool, our error result for an unknown tool passes them all.
    (FIXTURE_TOOLS, OLD): {"tools-call-simple-text": ScenarioOutcome(1), "tools-call-error": ScenarioOutcome(1)},
    (FIXTURE_TOOLS, NEW_2025): {"tools-call-simple-text": ScenarioOutcome(2), "tools-call-error": ScenarioOutcome(2)},
    (FIXTURE_TOOLS, NEW_2026): {
        "tools-call-simple-text": ScenarioOutcome(2),
        "tools-call-error": ScenarioOutcome(2),
        "server-stateless": ScenarioOutcome(23, STATELESS),
    },
}

LEFT_OUT = {  # scenario, or the start of several: why it says nothing about a server of our kind
    "tools-call-image": "answers are one JSON text; we send no images",
    "tools-call-audio": "answers are one JSON text; we send no audio",
    "tools-call-embedded-resource": "answers are one JSON text; we embed no resources",
    "tools-call-mixed-content": "answers are one JSON text",
    "tools-call-with-progress": "answers are JSON, in which the SDK drops progress",
    "tools-call-with-logging": "we log nothing to clients; deprecated in 2026-07-28",
    "logging-set-level": "we log nothing to clients; deprecated in 2026-07-28",
    "tools-call-sampling": "we ask clients nothing",
    "tools-call-elicitation": "we ask clients nothing",
    "elicitation-": "we ask clients nothing",
    "input-required-result-": "we ask clients nothing",
    "completion-complete": "a fixture prompt; the client of the AI SDK completes ours",
    "json-schema-2020-12": "asks whether keywords of a fixture schema survive; ours are plain, --strict looks at them",
    "http-custom-header-server-validation": "no parameter of ours is mirrored into a header (x-mcp-header)",
    "resources-read-": "fixture resources; sep-2164-resource-not-found covers the absent ones",
    "resources-templates-read": "reads a fixture template; the Inspector reads ours",
    "resources-subscribe": "we have no subscriptions",
    "resources-unsubscribe": "we have no subscriptions",
    "prompts-get-": "fixture prompts; the Inspector gets ours",
    "server-session-lifecycle": "stateless: there are no sessions",
    "server-sse-polling": "we answer in JSON; resumable streams are optional, and gone in 2026-07-28",
    "server-sse-multiple-streams": "looks at streams of a session (2025-11-25); checks nothing without one",
    "tasks-": "an extension that we do not advertise",
}


@pytest.fixture(scope="session")
def results(node: Path, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The checks of each scenario of a run, which runs once."""
    known: dict[tuple[str, str], Mapping[str, Checks]] = {}

    def of(server: str, run: str) -> Mapping[str, Checks]:
        if (server, run) not in known:
            served: RunningServer = request.getfixturevalue(server)
            known[server, run] = conformance(node, served, tmp_path_factory.mktemp("suite"), *RUNS[run])
        return known[server, run]

    return of


def test_the_lock_file_pins_versions_and_names_no_index() -> None:
    packages = json.loads((HERE / "package-lock.json").read_bytes())["packages"]
    assert all("version" in package and "integrity" in package for path, package in packages.items() if path)
    assert not [path for path, package in packages.items() if "resolved" in package]


@pytest.mark.parametrize(
    ("server", "run", "scenario"),
    [(server, run, scenario) for (server, run), scenarios in EXPECTED.items() for scenario in scenarios],
)
def test_a_scenario_ends_as_expected(server: str, run: str, scenario: str, results: Results) -> None:
    expected = EXPECTED[server, run][scenario]
    checks = results(server, run)[scenario]
    others = {check["name"]: check["status"] for check in checks if check["status"] != "SUCCESS"}
    told = {check["name"]: check.get("errorMessage") for check in checks if check["status"] != "SUCCESS"}
    assert others == {name: status for name, (status, _) in expected.others.items()}, told
    assert len(checks) == expected.successes + len(expected.others)


@pytest.mark.parametrize("run", RUNS)
def test_every_scenario_is_judged_or_left_out_for_a_reason(run: str, results: Results) -> None:
    judged = {name for server in (REAL, FIXTURE_TOOLS) for name in EXPECTED[server, run]}
    unjudged = set(results(REAL, run)) - judged
    assert not {name for name in unjudged if not name.startswith(tuple(LEFT_OUT))}


@pytest.mark.parametrize("run", RUNS)
def test_it_is_the_server_that_refuses_a_foreign_host(run: str, results: Results) -> None:
    refused, accepted = results(REAL, run)["dns-rebinding-protection"]
    assert (refused["details"]["hostHeader"], refused["details"]["statusCode"]) == ("evil.example.com", 421)
    assert accepted["details"]["statusCode"] == 200


@pytest.mark.parametrize("run", RUNS)
def test_a_fault_inside_a_tool_is_an_error_result_that_tells_nothing(run: str, results: Results) -> None:
    result = results(FIXTURE_TOOLS, run)["tools-call-error"][0]["details"]["result"]
    assert result["structuredContent"]["error_type"] == "internal"
    assert "password" not in str(result)


def test_hostile_requests_leave_no_fault_in_the_log(results: Results, real: RunningServer) -> None:
    assert all(results(REAL, run) for run in RUNS)
    log = (real.folder / "err").read_text()
    assert not [line for line in log.splitlines() if "ERROR" in line or "Traceback" in line]
