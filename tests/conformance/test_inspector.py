"""The MCP Inspector's command line against the real server, in both protocol eras.

Most runs share a process; one of each era, and the client entry that the server prints, has a process of its own.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from server.tools.prompts import PROMPTS
from server.tools.tool import built
from server.tools.toolbox import TOOLS
from tests.conformance.figures import LOADED_FIRST, PNL, SCENARIOS, SKILLS, STATEMENT, TEMPLATES
from tests.conformance.running import InspectorRun, RunningServer, inspect, inspector_runs
from tests.support.machine.programs import missing

ERAS = ("legacy", "modern")
MODERN_ONLY = "io.modelcontextprotocol/serverInfo"  # in _meta of every modern result, of no legacy one
OK, AUTH_REQUIRED, TOOL_ERROR = 0, 3, 5
METRIC = {"metrics": ["net_sales"], "scenarios": SCENARIOS[:1], "period_start": "2006", "dimensions": ["entity"]}
CALLS: dict[str, dict[str, Any]] = {
    "svc_orientation": {},
    "list_scenarios": {},
    "list_kpis": {},
    "list_dimensions": {},
    "list_variants": {"scenario_id": "budget"},
    "search_hierarchy": {"query": "sales", "dimension": "department"},
    "run_statement": STATEMENT,
    "run_statement_data": STATEMENT,
    "run_metric": METRIC,
    "run_metric_data": METRIC,
    "explain_variance": {
        "metric": "net_sales",
        "scenarios": ["actual", "budget"],
        "by": ["entity"],
        "period_start": "2006",
    },
    "list_inspection_sources": {},
    "get_inspection_schema": {"source_key": "finance"},
    "inspect_rows": {"source_key": "finance", "scenario_id": "actual", "filters": {"metric": "net_sales"}},
    "list_load_history": {"dataset_id": "live.finance", "period": "2006"},
    "get_load_status": {},  # its load is known once figures were asked for
    "list_bindings": {"target": "live.finance"},
    "get_binding": {"binding_id": "finance"},
    "eval_chart_transform": {},  # as is its reference
    "export_dataset": {},  # as is its reference, and the file below
    "get_file_download": {},
}
RENDERING = {name: tool.widget for name, tool in TOOLS.items() if tool.widget}
OF_ANOTHER_CALL = ("get_load_status", "eval_chart_transform", "export_dataset", "get_file_download")
CHART = {
    "transform_code": "result = df.filter(pl.col('scenario') == 'actual', pl.col('unit') == df['unit'][0])",
    "chart_spec": {"chart_type": "horizontal_bar", "title": "Profit and loss", "x": "label", "y": "value"},
}
REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "an unknown statement": ("run_statement", {"statement": "nope"}, "unknown_name"),
    "an ill-typed argument": ("list_variants", {"scenario_id": 5}, "bad_arguments"),
    "an unknown argument": ("list_dimensions", {"domain": "finance"}, "bad_arguments"),
    "a missing argument": ("list_variants", {}, "bad_arguments"),
    "an unknown load": ("get_load_status", {"load_id": "nope"}, "unknown_name"),
    "an unknown feed": ("get_binding", {"binding_id": "nope"}, "unknown_name"),
    "an unknown metric": ("run_metric_data", METRIC | {"metrics": ["nope"]}, "unknown_name"),
    "no scenario": ("run_metric_data", METRIC | {"scenarios": []}, "bad_arguments"),
    "a period that is none": ("run_statement_data", STATEMENT | {"period_start": "2006-13"}, "bad_period"),
}
Inspector = Callable[..., InspectorRun]


@pytest.fixture(scope="module")
def inspector(node: Path, real: RunningServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspector]:
    """The Inspector's command line before the real server."""
    with inspector_runs(node, tmp_path_factory.mktemp("inspector")) as run:
        yield lambda era, *arguments, key=real.key: run(*before(real, era, key), *arguments)


def before(server: RunningServer, era: str, key: str) -> list[str]:
    there = ["--server-url", server.url, "--transport", "http", "--header", f"Authorization: Bearer {key}"]
    return [*there, "--stored-auth-only", "--protocol-era", era]


def call(tool: str, arguments: dict[str, Any]) -> list[str]:
    return ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments)]


def arguments_of(tool: str, era: str, inspector: Inspector) -> dict[str, Any]:
    """Return what a tool is called with; loads, references and files come out of other calls."""
    if tool not in OF_ANOTHER_CALL:
        return CALLS[tool]
    called = inspector(era, *call("run_statement", STATEMENT)).printed["result"]
    report, details = called["structuredContent"], called["_meta"]["tieout/details"]
    if tool == "eval_chart_transform":
        return {"data_refs": [report["data_ref"]], **CHART}
    export = {"data_ref": report["data_ref"], "format": "json"}
    if tool == "get_file_download":
        made = inspector(era, *call("export_dataset", export)).printed["result"]["structuredContent"]
        return {"file_id": made["file_id"]}
    return export if tool == "export_dataset" else {"load_id": details["freshness"]["finance"]["actual"]["load_id"]}


@pytest.mark.parametrize("era", ERAS)
def test_the_tool_schemas_are_portable(era: str, node: Path, real: RunningServer, tmp_path: Path) -> None:
    listed = inspect(node, tmp_path, *before(real, era, real.key), "--method", "tools/list", "--strict")
    assert (listed.exit_code, listed.complaint) == (OK, "")
    tools = listed.printed["result"]["tools"]
    assert [tool["name"] for tool in tools] == list(CALLS)
    assert [tool["name"] for tool in tools if "anthropic/alwaysLoad" in tool["_meta"]] == LOADED_FIRST


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("tool", CALLS)
def test_a_tool_answers_with_two_equal_copies(tool: str, era: str, inspector: Inspector) -> None:
    called = inspector(era, *call(tool, arguments_of(tool, era, inspector)))
    assert called.exit_code == OK, called.complaint
    result = called.printed["result"]
    assert (MODERN_ONLY in result.get("_meta", {})) == (era == "modern")
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]


@pytest.mark.parametrize("era", ERAS)
def test_a_statement_shows_the_figures_of_the_rows_that_were_loaded(era: str, inspector: Inspector) -> None:
    report = inspector(era, *call("run_statement", STATEMENT)).printed["result"]["structuredContent"]
    shown = {row["key"]: row["values"] for row in report["rows"]}
    assert {key: shown[key] for key in PNL} == PNL


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("tool", RENDERING)
def test_a_tool_leads_to_the_view_of_its_result(tool: str, era: str, inspector: Inspector) -> None:
    if RENDERING[tool] not in built():
        missing("the views are not built; run: make widgets")
    found = inspector(era, "--method", "tools/call", "--tool-name", tool, "--app-info").printed["appInfo"]
    assert found == {
        "hasApp": True,
        "toolName": tool,
        "resourceUri": RENDERING[tool].uri,
        "csp": {"connectDomains": [], "resourceDomains": []},
        "prefersBorder": True,
        "resourceMimeType": "text/html;profile=mcp-app",
    }


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("case", REFUSED)
def test_a_refused_call_is_an_error_result(case: str, era: str, inspector: Inspector) -> None:
    tool, arguments, error_type = REFUSED[case]
    called = inspector(era, *call(tool, arguments))
    assert called.exit_code == TOOL_ERROR
    result = called.printed["result"]
    assert result["isError"]
    assert result["structuredContent"]["error_type"] == error_type
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert json.loads(called.complaint)["error"]["code"] == "tool_is_error"


@pytest.mark.parametrize("era", ERAS)
def test_an_unknown_tool_is_not_found(era: str, inspector: Inspector) -> None:
    called = inspector(era, *call("nope", {}))
    assert called.exit_code == TOOL_ERROR
    assert json.loads(called.complaint)["error"]["code"] == "tool_not_found"


@pytest.mark.parametrize("era", ERAS)
def test_a_wrong_key_is_told_from_a_failed_call(era: str, inspector: Inspector) -> None:
    listed = inspector(era, "--method", "tools/list", key="wrong")
    assert listed.exit_code == AUTH_REQUIRED
    assert json.loads(listed.complaint)["error"]["code"] == "auth_required"


def test_the_printed_client_entry_works_with_the_key(node: Path, real: RunningServer, tmp_path: Path) -> None:
    entry = tmp_path / "mcp.json"
    entry.write_text((real.folder / "out").read_text().partition("mcp.json entry:")[2].replace("KEY", real.key))
    there = ("--config", entry, "--server", "tieout")
    listed = inspect(node, tmp_path, *there, "--method", "tools/list", catalog=False)
    assert listed.exit_code == OK, listed.complaint
    assert len(listed.printed["result"]["tools"]) == len(CALLS)


@pytest.mark.parametrize("era", ERAS)
def test_prompts_and_resources_are_listed_and_read(era: str, inspector: Inspector) -> None:
    prompts = inspector(era, "--method", "prompts/list").printed["result"]["prompts"]
    assert [prompt["name"] for prompt in prompts] == list(PROMPTS)
    asked = ("--prompt-name", "tie_out", "--prompt-args", "metric=net_sales", "period=2006-01")
    (message,) = inspector(era, "--method", "prompts/get", *asked).printed["result"]["messages"]
    assert "Call run_metric with metrics [net_sales]" in message["content"]["text"]
    uris = [resource["uri"] for resource in inspector(era, "--method", "resources/list").printed["result"]["resources"]]
    assert "tieout://metric/net_sales" in uris
    (page,) = inspector(era, "--method", "resources/read", "--uri", "tieout://metric/net_sales").printed["result"][
        "contents"
    ]
    assert json.loads(page["text"])["key"] == "net_sales"
    templates = inspector(era, "--method", "resources/templates/list").printed["result"]["resourceTemplates"]
    assert [template["uriTemplate"] for template in templates] == TEMPLATES


@pytest.mark.parametrize("era", ERAS)
def test_every_skill_passes_the_checks_of_the_inspector(era: str, inspector: Inspector) -> None:
    """It fetches each file, and compares sizes, digests and the frontmatter with the entry."""
    listed = inspector(era, "--method", "skills/list").printed["result"]["skills"]
    assert [skill["frontmatter"]["name"] for skill in listed] == SKILLS
    for skill in listed:
        got = inspector(era, "--method", "skills/get", "--uri", skill["uri"])
        assert (got.exit_code, got.printed["result"]["skill"]) == (OK, skill)
        checked = inspector(era, "--method", "skills/get", "--uri", skill["uri"], "--verify")
        assert checked.exit_code == OK, checked.printed


@pytest.mark.parametrize("era", ERAS)
def test_a_kept_result_is_read_at_its_address(era: str, inspector: Inspector) -> None:
    report = inspector(era, *call("run_statement", STATEMENT)).printed["result"]["structuredContent"]
    uri = f"tieout://dataset/{report['data_ref']}"
    (page,) = inspector(era, "--method", "resources/read", "--uri", uri).printed["result"]["contents"]
    assert json.loads(page["text"])["label"] == report["label"]
    asked = {"data_ref": report["data_ref"], "format": "json"}
    _, link = inspector(era, *call("export_dataset", asked)).printed["result"]["content"]
    assert link == {"type": "resource_link", "uri": uri, "name": report["data_ref"], "mimeType": "application/json"}
    gone = inspector(era, "--method", "resources/read", "--uri", "tieout://dataset/ds_none")
    assert "Run the report again" in gone.complaint
