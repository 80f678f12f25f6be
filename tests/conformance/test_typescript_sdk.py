"""Tools to load first, skills and kept results as the TypeScript SDK's client has them: both releases, both transports.

The tests of the Python SDK's client are those of tests/integration/server.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.figures import LOADED_FIRST, PNL, SKILLS, STATEMENT
from tests.conformance.running import HERE, PATIENCE_SECONDS, TIEOUT, Environment, RunningServer, at_home
from tests.conformance.test_inspector import CALLS

NO_SKILL = "There is no resource '{}'. resources/list lists those that there are, skills/list the skills."
REFUSED = {
    "absent": NO_SKILL.format("skill://tieout/closing/SKILL.md"),
    "outside": NO_SKILL.format("skill://tieout/flux/../tie-out/SKILL.md"),
    "gone": "This result can no longer be opened as it was kept. Run the report again.",
}


@pytest.fixture(scope="module", params=["HTTP", "stdio"])
def told(
    request: pytest.FixtureRequest,
    node: Path,
    real: RunningServer,
    tiny_books: Environment,
    tmp_path_factory: pytest.TempPathFactory,
) -> Any:
    """What the client printed after a session with each of its releases."""
    bridge = {"command": str(TIEOUT), "args": ["stdio"], "env": tiny_books}
    server = {"url": real.url, "key": real.key} if request.param == "HTTP" else bridge
    ran = subprocess.run(
        [node, HERE / "sdk_client.mjs", json.dumps(server), json.dumps(STATEMENT)],
        env=at_home(tmp_path_factory.mktemp("sdk")),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_SECONDS,
    )
    assert ran.returncode == 0, ran.stderr
    sessions = json.loads(ran.stdout)
    assert len(sessions) == 2
    return sessions


def test_it_is_told_which_tools_to_load_first(told: Any) -> None:
    for session in told:
        assert session["tools"] == list(CALLS)
        assert session["loaded"] == LOADED_FIRST


def test_it_finds_the_skills_and_every_file_has_its_digest(told: Any) -> None:
    for session in told:
        assert session["extensions"]["io.modelcontextprotocol/skills"] == {}
        assert [skill["frontmatter"]["name"] for skill in session["skills"]] == SKILLS
        assert (session["got"], session["others"]) == (session["skills"], [])


def test_a_kept_result_has_the_figures_of_the_report(told: Any) -> None:
    for session in told:
        assert session["dataset"]["label"] == session["statement"]["label"]
        shown = {row["key"]: row["values"] for row in session["statement"]["rows"]}
        assert {key: shown[key] for key in PNL} == PNL


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_there_is_refused_with_what_to_do(told: Any, case: str) -> None:
    for session in told:
        assert session[case]["code"] == -32602
        assert session[case]["message"].endswith(REFUSED[case])
