"""The tools on the demo as a model meets them: listed, described with calls that work, and answering in shape."""

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from server.stores.memory import is_reference
from server.tools.examples import no_example
from server.tools.toolbox import TOOLS
from tests.support.answers.drills import calls, digits, exactly
from tests.support.service.servers import McpBooks

NAMES = [
    "svc_orientation",
    "list_scenarios",
    "list_kpis",
    "list_dimensions",
    "list_variants",
    "search_hierarchy",
    "run_statement",
    "run_statement_data",
    "run_metric",
    "run_metric_data",
    "explain_variance",
    "list_inspection_sources",
    "get_inspection_schema",
    "inspect_rows",
    "list_load_history",
    "get_load_status",
    "list_bindings",
    "get_binding",
    "eval_chart_transform",
    "export_dataset",
    "get_file_download",
]
OF_ANOTHER_CALL = ("eval_chart_transform",)  # whose example draws a result of run_metric
ONE_VALUE = {  # tools whose example is one argument: their descriptions have none, their refusals do
    "list_variants": "scenario_id",
    "get_inspection_schema": "source_key",
    "list_bindings": "target",
    "get_binding": "binding_id",
}
REPORT_KEYS = {
    "statement",
    "label",
    "period",
    "currency",
    "columns",
    "rows",
    "drill",
    "notes",
    "freshness",
    "data_ref",
}


def test_the_tools_are_listed_in_order_read_only_and_described(demo: McpBooks) -> None:
    tools = demo.tools()
    assert [tool.name for tool in tools] == NAMES
    for tool in tools:
        assert tool.title
        assert tool.annotations.read_only_hint is (tool.name not in ("eval_chart_transform", "export_dataset"))
        assert tool.annotations.destructive_hint is False
        assert tool.output_schema is None
        Draft202012Validator.check_schema(tool.input_schema)
        removed = {"out", "report_id", "position"}
        assert not removed & set(tool.input_schema.get("properties", {}))
        fields = tool.input_schema.get("properties", {})
        assert all(("description" in known) is not tool.name.endswith("_data") for known in fields.values())
        if tool.name.endswith("_data"):  # its twin describes them
            assert list(fields) == list(TOOLS[tool.name.removesuffix("_data")].schema["properties"])


EXEMPLARY = [
    name
    for name in NAMES
    if TOOLS[name].example is not no_example and not TOOLS[name].is_twin and name not in (*OF_ANOTHER_CALL, *ONE_VALUE)
]


@pytest.mark.parametrize("name", EXEMPLARY)
def test_the_example_in_a_description_works(demo: McpBooks, name: str) -> None:
    tool = next(tool for tool in demo.tools() if tool.name == name)
    example = demo.examples()[name]
    Draft202012Validator(tool.input_schema).validate(example)
    called = demo.call(name, **example)
    assert not called.is_error, called.result
    assert all(note["code"] != "unknown_member" for note in called.result.get("notes", []))


@pytest.mark.parametrize(("name", "argument"), ONE_VALUE.items())
def test_the_value_of_an_only_argument_is_in_the_refusal_and_not_in_the_description(
    demo: McpBooks, name: str, argument: str
) -> None:
    assert name not in demo.examples()
    refused = demo.call(name, **{argument: 7})
    assert refused.is_error
    assert not demo.call(name, **refused.result["example"]).is_error


def test_the_form_of_filters_is_described_once_and_judged_everywhere(demo: McpBooks) -> None:
    schemas = {tool.name: tool.input_schema["properties"] for tool in demo.tools()}
    assert "anyOf" in schemas["run_metric"]["filters"]["additionalProperties"]
    for name in ("run_metric_data", "run_statement_data"):
        assert schemas[name]["filters"] == {"type": "object"}
        assert schemas[name]["scenarios"] == {"type": "array", "items": {"type": "object"}}
    wrong = {"filters": {"organisation": 7}}
    for name in ("run_metric", "run_metric_data", "explain_variance", "inspect_rows"):
        assert "additionalProperties" not in schemas[name]["filters"] or name == "run_metric"
        refused = demo.call(name, **{**demo.examples()[name.removesuffix("_data")], **wrong}).result
        assert refused["field"] == "filters.organisation"
        assert refused["error"] == demo.call("run_metric", **{**demo.examples()["run_metric"], **wrong}).result["error"]


def test_the_example_of_a_chart_draws_the_example_of_metrics(demo: McpBooks) -> None:
    examples = demo.examples()
    metrics, example = examples["run_metric"], examples["eval_chart_transform"]
    report = demo.ask("run_metric", **metrics)
    chart = demo.ask("eval_chart_transform", **example | {"data_refs": [report["data_ref"]]})
    alias = metrics["scenarios"][0]["scenario"]
    at = next(at for at, column in enumerate(report["columns"]) if column["alias"] == alias)
    shown = {row["label"]: row["values"][at] for row in report["rows"] if row["kind"] != "total"}
    assert {region: value for region, name, value in chart["rows"] if name == alias} == shown
    assert chart["unit"] == report["columns"][at]["unit"]


def test_the_load_behind_a_figure_is_described_and_in_the_history(demo: McpBooks) -> None:
    called = demo.call("run_statement_data", statement="pnl", period_start="2026-09")
    known = called.meta["tieout/details"]["freshness"]["gl"]["actual"]
    load = demo.ask("get_load_status", load_id=known["load_id"])
    assert (load["binding_id"], load["dataset_id"], load["status"]) == ("gl", "live.gl", "success")
    assert load["served_now"] is True
    assert load["rows_read"] == load["rows_landed"] > 0
    history = demo.ask("list_load_history", dataset_id="live.gl", period="2026-09")
    assert [known["load_id"] for known in history["loads"]] == [load["load_id"]]
    feeds = {feed["binding_id"]: feed for feed in demo.ask("list_bindings")["bindings"]}
    assert feeds["gl"]["last_success"]["load_id"] == load["load_id"]
    assert all(feed["last_attempt"]["status"] == "success" for feed in feeds.values())


@pytest.mark.parametrize("name", ["run_statement", "run_metric"])
def test_rendering_variants_tell_the_model_to_let_the_widget_show_the_table(demo: McpBooks, name: str) -> None:
    words = {tool.name: tool.description for tool in demo.tools()}
    assert "do not copy it into Markdown, unless asked or where no widget is available" in words[name]
    assert "do not copy" not in words[f"{name}_data"]


def test_orientation_prefers_the_full_profit_and_loss_where_it_is_seen(demo: McpBooks) -> None:
    result = demo.ask("svc_orientation")
    assert "For a general P&L request use the statement full_pnl" in result["orientation"]
    assert "unless the user or a report default chooses another" in result["orientation"]


def test_orientation_names_what_a_report_is_asked_by_in_1500_tokens(demo: McpBooks) -> None:
    called = demo.call("svc_orientation")
    result = called.result
    from bpe_openai import get_encoding  # noqa: PLC0415 - it reads every vocabulary, which others are spared

    assert len(get_encoding("o200k_base").encode(called.text)) <= 1500
    scenarios = {known["id"]: known["alias"] for known in demo.ask("list_scenarios")["scenarios"]}
    assert {key: known["alias"] for key, known in result["scenarios"].items()} == scenarios
    dimensions = {known["key"]: known["label"] for known in demo.ask("list_dimensions")["dimensions"]}
    assert result["dimensions"] == dimensions
    for domain, known in zip(result["domains"], demo.ask("list_kpis")["domains"], strict=True):
        assert domain["key"] == known["domain"]
        assert domain["metrics"] == {metric["key"]: metric["label"] for metric in known["metrics"]}
        assert known["loaded_through"]["actual"][:7] <= result["scenarios"]["actual"]["last"]
    statement = demo.ask("run_statement")
    assert result["default"]["statement"] == statement["statement"]
    assert result["default"]["scenarios"] == list(dict.fromkeys(column["scenario"] for column in statement["columns"]))
    assert {"full_pnl", "pnl", "kpis", "balance_sheet"} == {known["key"] for known in result["statements"]}


def test_scenarios_come_with_ready_made_comparisons_that_are_valid_references(demo: McpBooks) -> None:
    result = demo.ask("list_scenarios")
    assert {"id", "alias", "name", "kind", "status"} <= set(result["scenarios"][0])
    assert [scenario["id"] for scenario in result["scenarios"]] == ["actual", "budget", "forecast"]
    references = [{"scenario": known["scenario"], "alias": known["alias"]} for known in result["comparisons"]]
    assert {"var(actual,budget)", "var_pct(actual,budget)", "actual@py"} <= {known["scenario"] for known in references}
    shown = demo.ask("run_statement_data", statement="pnl", scenarios=references, period_start="2026-09")
    assert [column["alias"] for column in shown["columns"]] == [known["alias"] for known in references]


def test_metrics_tell_what_they_count_and_which_dimensions_cut_them(demo: McpBooks) -> None:
    domains = {known["domain"]: known for known in demo.ask("list_kpis")["domains"]}
    assert set(domains) == {"gl", "people", "sales"}
    assert "journal" in domains["gl"]["axis_only_dimensions"]
    assert "journal" not in domains["gl"]["dimension_keys"]
    metrics = {known["key"]: known for domain in domains.values() for known in domain["metrics"]}
    assert {"key", "label", "format", "domain", "description"} <= set(metrics["revenue"])
    assert metrics["gross_margin"]["formula"] == "gross_profit / revenue"
    assert (metrics["headcount"]["over_time"], metrics["gross_margin"]["additive"]) == ("closing", False)
    assert metrics["revenue"]["where"] == {"pnl": ["REVENUE"]}
    assert [metrics[key].get("sign") for key in ("revenue", "cost_of_sales")] == ["negate", None]
    assert metrics["revenue_per_head"]["domains"] == ["gl", "people"]
    assert "account" not in metrics["revenue_per_head"]["dimension_keys"]
    assert "entity" in metrics["revenue_per_head"]["dimension_keys"]
    assert domains["people"]["loaded_through"]["actual"] == "2026-10"  # the open month
    for domain in domains.values():
        broken_down = demo.ask(
            "run_metric_data",
            metrics=[domain["metrics"][0]["key"]],
            scenarios=[{"scenario": "actual", "alias": "A"}],
            period_start="2026-09",
            dimensions=[domain["dimension_keys"][0]],
        )
        assert broken_down["rows"]


def test_dimensions_are_listed_without_members(demo: McpBooks) -> None:
    dimensions = {known["key"]: known for known in demo.ask("list_dimensions")["dimensions"]}
    assert dimensions["organisation"] == {
        "key": "organisation",
        "label": "Organisation",
        "kind": "ragged",
        "leaf_dimension": "entity",
    }
    assert dimensions["date"]["grain"] == "date"
    assert dimensions["product_line"]["kind"] == "derived"


def test_variants_are_references_that_can_be_shown(demo: McpBooks) -> None:
    (variant,) = demo.ask("list_variants", scenario_id="budget")["variants"]
    columns = [{"scenario": "budget", "alias": "Budget"}, variant]
    result = demo.ask("run_metric_data", metrics=["revenue"], scenarios=columns, period_start="2026")
    budget, downside = result["rows"][-1]["values"]
    assert downside == pytest.approx(budget * 0.92)
    unknown = demo.ask("list_variants", scenario_id="nobody")
    assert (unknown["variants"], unknown["notes"][0]["code"]) == ([], "unknown_scenario")


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("EUROPE", None),
        ("europe", None),
        ("ÉUROPE", None),
        ("Europ", None),
        ("Eurpoe", "close spelling"),
    ],
)
def test_members_are_found_whatever_case_accent_or_slip(demo: McpBooks, query: str, why: str | None) -> None:
    result = demo.ask("search_hierarchy", query=query, dimension="organisation")
    hit = result["hierarchy_nodes"][0]
    assert (hit["dimension"], hit["id"], hit.get("why")) == ("organisation", "EUROPE", why)
    shown = demo.ask(
        "run_metric_data",
        metrics=["revenue"],
        scenarios=[{"scenario": "actual", "alias": "A"}],
        period_start="2026-09",
        filters={hit["dimension"]: hit["id"]},
    )
    assert shown["rows"][-1]["values"][0] > 0


def test_listing_and_limits_are_those_of_the_specification(demo: McpBooks) -> None:
    (search,) = [tool for tool in demo.tools() if tool.name == "search_hierarchy"]
    said = search.input_schema["properties"]["limit"]["description"]
    assert re.findall(r"[\d,]*\d", said) == ["10,000", "200", "100", "50", "20"]
    listed = demo.ask("search_hierarchy", dimension="customer")
    assert len(listed["records"]) == 200
    assert listed["more_records"] is True
    assert (listed["next_offset"], listed["records"][0].keys()) == (200, {"dimension", "id", "name"})
    page = demo.ask("search_hierarchy", dimension="customer", offset=150, limit=100)
    assert page["records"][:50] == listed["records"][150:]
    last = demo.ask("search_hierarchy", dimension="customer", offset=1999)
    assert (last["more_records"], "next_offset" in last) == (False, False)
    margin = demo.ask("search_hierarchy", query="gross margin")
    assert margin["metrics"][0]["key"] == "gross_margin"
    found = demo.ask("search_hierarchy", query="a")
    assert (len(found["records"]), len(found["hierarchy_nodes"])) == (50, 20)
    few = demo.ask("search_hierarchy", query="a", limit=3)
    assert (len(few["records"]), len(few["hierarchy_nodes"])) == (3, 3)
    most = demo.ask("search_hierarchy", dimension="customer", limit=20_000)
    assert [note["code"] for note in most["notes"]] == ["limit_reduced", "shortened"]
    assert most["more_records"] is True
    assert len(most["records"]) + most["agent_truncated"]["records"] == 2000


def test_a_source_describes_the_columns_and_filters_that_its_rows_take(demo: McpBooks) -> None:
    sources = [known["source_key"] for known in demo.ask("list_inspection_sources")["sources"]]
    assert "gl" in sources
    schema = demo.ask("get_inspection_schema", source_key="gl")
    assert [column["name"] for column in schema["columns"]][:3] == ["date", "journal", "account"]
    assert {"key": "journal", "label": "Journal", "kind": "leaf"} in schema["filters"]
    assert schema["max_limit"] == 10_000
    shown = demo.ask("inspect_rows", source_key="gl", scenario_id="actual", columns=["text"], limit=1)
    assert [column["name"] for column in shown["columns"]] == ["text"]


def test_the_rows_behind_a_cell_add_up_to_it(demo: McpBooks) -> None:
    columns = [{"scenario": "actual", "alias": "A"}, {"scenario": "var(actual,budget)", "alias": "V"}]
    asked = {"statement": "full_pnl", "scenarios": columns, "period_start": "2026-09", "dimensions": ["entity"]}
    result = demo.ask("run_statement_data", **asked, filters={"entity": ["SG01", "AT01"]})
    lines = {row["key"]: row for row in result["rows"]}
    for key in ("pnl.REVENUE", "ebitda", "headcount", "cash"):
        for column, value in zip(result["columns"], lines[key]["values"], strict=True):
            sides = [(sign, demo.ask("inspect_rows", **call)) for sign, _, call in calls(lines[key], column)]
            totals = [digits(side["contribution_total"]) for _, side in sides]
            signed = [total if sign == "+" else -total for (sign, _), total in zip(sides, totals, strict=True)]
            assert sum(signed) == exactly(value)


def test_a_report_says_how_far_it_can_be_trusted(demo: McpBooks) -> None:
    called = demo.call("run_statement", period_start="2026-09", period_end="2026-10")
    result, details = called.result, called.meta["tieout/details"]
    assert set(result) == REPORT_KEYS
    assert result["statement"] == "full_pnl"
    assert result["period"] == {"start": "2026-09", "end": "2026-10"}
    known = result["freshness"]["gl"]["actual"]
    assert (known["through"][:7], known["open"]) == ("2026-10", "2026-10")
    loaded = details["freshness"]["gl"]["actual"]
    assert {key: loaded[key] for key in known} == known
    assert {"loaded_at", "load_id"} <= loaded.keys()
    assert {"catalogue_version", "data_version"} <= details.keys()
    assert is_reference(result["data_ref"])
    assert [column["name"] for column in details["dataset"]["columns"]][-3:] == ["value", "exact", "unit"]


def lines_foot(rows: list[dict[str, Any]]) -> int:
    """Check that the children of every rolled up line add up to it, and return how many parents there were."""
    parents = 0
    for at, row in enumerate(rows):
        below = rows[at + 1 :]
        end = next((place for place, other in enumerate(below) if other["level"] <= row["level"]), len(below))
        children = [other for other in below[:end] if other["level"] == row["level"] + 1]
        if children:
            parents += 1
            total = sum(round(child["values"][0] * 100) * child.get("into_parent", 1) for child in children)
            assert total == round(row["values"][0] * 100), row["key"]
    return parents


def test_lines_of_a_rollup_foot_to_the_line_above(demo: McpBooks) -> None:
    columns = [{"scenario": "actual", "alias": "A"}]
    result = demo.ask("run_statement_data", statement="balance_sheet", scenarios=columns, period_start="2026-09")
    assert lines_foot(result["rows"]) >= 5


def test_what_does_not_fit_is_left_out_and_counted_totals_stay(demo: McpBooks) -> None:
    called = demo.call(
        "run_metric_data",
        metrics=["sales_amount"],
        scenarios=[{"scenario": "actual", "alias": "A"}, {"scenario": "actual@py", "alias": "P"}],
        period_start="2026-01",
        period_end="2026-09",
        dimensions=["customer"],
    )
    result, rows = called.result, called.meta["tieout/details"]["dataset"]["row_count"]
    assert result["rows"][-1]["label"] == "Total"
    assert (result["agent_truncated"]["members"] + len(result["rows"])) * 2 == rows  # of two scenarios
    assert len(json.dumps(result)) < 40_000
    whole = demo.ask("run_statement_data", period_start="2026-01", period_end="2026-09", dimensions=["cost_centre"])
    assert {"lines", "members"} == set(whole["agent_truncated"])
    assert sum(column.get("is_total", False) for column in whole["columns"]) == 5


def test_a_report_too_long_even_in_totals_names_what_to_ask_for(demo: McpBooks) -> None:
    alias = "{} months before " + "\N{SNOWMAN}" * 170
    columns = [{"scenario": f"actual@pp{back}", "alias": alias.format(back)} for back in range(2, 99)]
    called = demo.call("run_statement_data", scenarios=columns, period_start="2026-09")
    assert (called.is_error, called.result["error_type"]) == (True, "bad_arguments")
    assert "Ask for fewer scenarios or a shorter range" in called.result["error"]
