"""What is said of arguments that do not fit: a caller that sends the example next is understood."""

import json
from typing import Any

import pytest

from engine.model.errors import BadArguments
from server.tools.toolbox import TOOLS
from server.wire.arguments import read_request

EXPLAINED = {"metric": "ebitda", "scenarios": ["actual", "budget"], "by": ["entity"]}
EXAMPLES: list[dict[str, Any]] = [  # of the tool first, then those of all tools
    {
        "metric": "ebitda",
        "scenarios": ["actual", "budget"],
        "by": ["lines"],
        "source_key": "gl",
        "scenario_id": "actual",
    },
    {
        "scenarios": [{"scenario": "actual", "alias": "Actuals"}],
        "metrics": ["revenue"],
        "filters": {"organisation": ["EUROPE"]},
        "dimensions": ["period"],
        "period_start": "2026-01",
        "period_end": "2026-12",
        "scale": 3,
        "decimals": 1,
        "data_refs": ["ds_"],
        "chart_spec": {"chart_type": "bar", "title": "Revenue by region"},
        "materiality": {"percent": 5},
        "format": "xlsx",
    },
]
METRIC = {"metrics": ["revenue"], "scenarios": [{"scenario": "actual", "alias": "A"}], "period_start": "2026-01"}
ODD: tuple[Any, ...] = ("odd", 7, 7.5, True, [], {}, ["odd"], [7], [{"scenario": "odd"}], {"odd": 7}, [[]], "[[")


def refused(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the error for arguments that do not fit, as it is sent."""
    with pytest.raises(BadArguments) as refusal:
        read_request(TOOLS[tool].shape, arguments, lambda: EXAMPLES)
    error: dict[str, Any] = json.loads(json.dumps(refusal.value.as_data()))
    return error


@pytest.mark.parametrize(("sent", "works"), [("5", 5), ("5.0", 5), ("5e0", 5), (" 5 ", 5), ("5.5", 3), ("five", 3)])
def test_a_number_sent_as_text_is_refused_with_what_works(sent: str, works: int) -> None:
    error = refused("run_metric", {**METRIC, "scale": sent})
    assert error["field"] == "scale"
    assert error["example"] == {"scale": works}


@pytest.mark.parametrize(
    ("sent", "example"),
    [
        ([{"scenario": "actual"}, {"scenario": "forecast", "alias": "F"}], ["actual", "forecast"]),
        ("actual,forecast", ["actual", "forecast"]),
        ([7.5, {}], ["actual", "budget"]),  # nothing to read: the example of the tool
    ],
)
def test_the_scenarios_of_explain_variance_are_texts(sent: object, example: list[str]) -> None:
    error = refused("explain_variance", {**EXPLAINED, "scenarios": sent})
    assert error["field"] in ("scenarios", "scenarios.0")
    assert error["example"] == {"scenarios": example}
    read_request(TOOLS["explain_variance"].shape, {**EXPLAINED, **error["example"]})


@pytest.mark.parametrize(
    ("sent", "example"),
    [
        ("actual", [{"scenario": "actual"}]),
        (["actual", "budget@py"], [{"scenario": "actual"}, {"scenario": "budget@py"}]),
        ("actual, var(actual,budget)", [{"scenario": "actual"}, {"scenario": "var(actual,budget)"}]),
    ],
)
def test_the_scenarios_of_reports_are_columns(sent: object, example: list[dict[str, str]]) -> None:
    error = refused("run_statement", {"scenarios": sent})
    assert error["example"] == {"scenarios": example}


@pytest.mark.parametrize(
    ("name", "sent", "example"),
    [
        ("scale", "0", 0),
        ("period_start", 2026, "2026"),
        ("summary", "true", True),
        ("dimensions", "period, entity", ["period", "entity"]),
        ("filters", {"account": [6010, 6020]}, {"account": ["6010", "6020"]}),
        ("filters", {"account": {"exclude": "6010"}}, {"account": {"exclude": ["6010"]}}),
    ],
)
def test_an_example_says_what_was_asked_where_only_its_form_is_wrong(name: str, sent: object, example: object) -> None:
    assert refused("run_statement", {name: sent})["example"] == {name: example}


@pytest.mark.parametrize(
    ("sent", "field", "example"),
    [
        ({"entity": {"include": ["DE01"]}}, "filters.entity", {"entity": ["DE01"]}),
        ({"entity": {"in": ["DE01", "FR01"]}}, "filters.entity", {"entity": ["DE01", "FR01"]}),
        ({"entity": {"eq": "DE01"}}, "filters.entity", {"entity": ["DE01"]}),
        ({"entity": {"not": ["DE01"]}}, "filters.entity", {"entity": {"exclude": ["DE01"]}}),
        ({"entity": {"ne": "DE01"}}, "filters.entity", {"entity": {"exclude": ["DE01"]}}),
        ({"entity": {"not_in": ["DE01"]}}, "filters.entity", {"entity": {"exclude": ["DE01"]}}),
        ({"exclude": {"entity": ["DE01"]}}, "filters.exclude", {"entity": {"exclude": ["DE01"]}}),
        ({"include": {"entity": "DE01"}}, "filters.include", {"entity": ["DE01"]}),
        ({"entity": {"exclude": ["DE01"], "within": ["EU"]}}, "filters.entity", None),
        ({"entity": {}}, "filters.entity", None),
    ],
)
def test_a_filter_in_the_words_of_another_service(
    sent: dict[str, Any], field: str, example: dict[str, Any] | None
) -> None:
    error = refused("run_metric", {"metrics": ["revenue"], "filters": {**sent, "account": "6010"}})
    key = field.removeprefix("filters.")
    assert (error["field"], error["got"]) == (field, sent[key])
    assert "plain list" in error["error"]
    assert '{"exclude": [members]}' in error["error"]
    if example is None:
        assert "example" not in error
        return
    assert error["example"] == {"filters": {"account": "6010", **example}}  # the other filter stays
    read_request(TOOLS["run_metric"].shape, {"metrics": ["revenue"], **error["example"]})


def test_an_unknown_key_of_a_filter_is_named() -> None:
    error = refused("inspect_rows", {"source_key": "gl", "scenario_id": "actual", "filters": {"entity": {"any": 7}}})
    assert error["error"].startswith("filters.entity takes no 'any'.")


@pytest.mark.parametrize(
    ("tool", "misnamed", "others", "example"),
    [
        ("run_metric", {"metric": "ebitda"}, {}, {"metrics": ["ebitda"]}),
        (
            "explain_variance",
            {"metrics": ["ebitda"]},
            {"scenarios": ["actual", "budget"], "by": ["lines"]},
            {"metric": "ebitda"},
        ),
        ("list_variants", {"scenario": "budget"}, {}, {"scenario_id": "budget"}),
    ],
)
def test_a_misnamed_argument_is_named_with_what_it_means(
    tool: str, misnamed: dict[str, Any], others: dict[str, Any], example: dict[str, Any]
) -> None:
    error = refused(tool, {**misnamed, **others})
    (name,) = misnamed
    assert (error["field"], error["got"], error["did_you_mean"]) == (name, name, list(example))
    assert error["example"] == example
    read_request(TOOLS[tool].shape, {**others, **example})


def test_what_is_missing_beside_an_unknown_argument_is_named_too() -> None:
    error = refused("inspect_rows", {"source": "gl", "colour": "red"})
    assert error["error"] == (
        "There is no argument 'source'. Did you mean 'source_key'? The argument 'scenario_id' is missing."
    )
    assert error["example"] == {"source_key": "gl", "scenario_id": "actual"}


def test_all_that_is_missing_is_named_at_once() -> None:
    error = refused("explain_variance", {"metric": "ebitda"})
    assert error["error"] == "The arguments 'scenarios' and 'by' are missing."
    assert error["example"].keys() == {"scenarios", "by"}
    read_request(TOOLS["explain_variance"].shape, {"metric": "ebitda", **error["example"]})


def test_a_missing_choice_is_named_with_the_choices() -> None:
    error = refused("export_dataset", {"data_ref": "ds_"})
    assert (error["field"], error["valid"]) == ("format", ["json", "xlsx"])


@pytest.mark.parametrize(
    ("tool", "name"), [(tool.name, name) for tool in TOOLS.values() for name in tool.schema["properties"]]
)
def test_an_example_mends_its_argument_in_the_call(tool: str, name: str) -> None:
    for odd in ODD:
        first = refusal_of(tool, {name: odd})
        example = first.example if first else None
        if isinstance(example, dict):
            again = refusal_of(tool, {name: odd, **example})
            assert again is None or str(again.field).split(".")[0] not in example


def refusal_of(tool: str, arguments: dict[str, Any]) -> BadArguments | None:
    """Return the error for arguments, None if they fit."""
    try:
        read_request(TOOLS[tool].shape, arguments, lambda: EXAMPLES)
    except BadArguments as refusal:
        return refusal
    return None


@pytest.mark.parametrize("key", ["str", "Exclusion", "tuple[str, ...]", "exclude"])
def test_a_filter_of_any_name_is_refused_by_its_name(key: str) -> None:
    assert refused("run_statement", {"filters": {key: {"in": ["DE01"]}}})["field"] == f"filters.{key}"
