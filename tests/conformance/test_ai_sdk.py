"""Tools, prompts, completions and resources as a client of another author sees them: that of Vercel's AI SDK."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from server.tools.prompts import PROMPTS
from tests.conformance.figures import LOADED_FIRST, PNL, STATEMENT, TEMPLATES
from tests.conformance.running import HERE, PATIENCE_SECONDS, RunningServer, at_home
from tests.conformance.test_inspector import CALLS


@pytest.fixture(scope="module")
def told(node: Path, real: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the client printed after one session with the real server."""
    command: list[str | Path] = [node, HERE / "ai_sdk_client.mjs", real.url, real.key, json.dumps(STATEMENT)]
    folder = tmp_path_factory.mktemp("ai_sdk")
    ran = subprocess.run(
        command, env=at_home(folder), capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_its_tools_are_listed_and_a_statement_has_the_figures_of_the_rows(told: Any) -> None:
    assert [tool["name"] for tool in told["tools"]] == list(CALLS)
    assert [tool["name"] for tool in told["tools"] if "anthropic/alwaysLoad" in tool["_meta"]] == LOADED_FIRST
    shown = {row["key"]: row["values"] for row in told["called"]["structuredContent"]["rows"]}
    assert {key: shown[key] for key in PNL} == PNL


def test_prompts_are_listed_completed_and_written(told: Any) -> None:
    assert [prompt["name"] for prompt in told["prompts"]] == list(PROMPTS)
    assert told["completed"]["completion"]["values"] == ["net_sales", "net_sales_usd"]
    (message,) = told["prompt"]["messages"]
    assert "Call run_metric with metrics [net_sales]" in message["content"]["text"]


def test_resources_are_listed_and_read(told: Any) -> None:
    assert "tieout://metric/net_sales" in [resource["uri"] for resource in told["resources"]]
    assert [kind["uriTemplate"] for kind in told["resourceTemplates"]] == TEMPLATES
    (page,) = told["read"]["contents"]
    assert json.loads(page["text"])["key"] == "net_sales"


def test_a_file_of_a_skill_and_a_result_are_read(told: Any) -> None:
    (page,) = told["skill"]["contents"]
    assert page["mimeType"] == "text/markdown"
    assert page["text"].startswith("---\nname: flux\n")
    (page,) = told["dataset"]["contents"]
    document = json.loads(page["text"])
    assert document["label"] == told["called"]["structuredContent"]["label"]
    assert told["gone"] == "This result can no longer be opened as it was kept. Run the report again."


def test_an_unknown_prompt_is_refused_with_where_to_look(told: Any) -> None:
    assert told["refused"] == "There is no prompt 'nope'. prompts/list lists the prompts."
