"""What an answer within its budget leaves out, found by comparing it with the whole answer."""

from itertools import zip_longest
from typing import Any

from engine.present.answers.budget import tokens_of
from tests.support.answers.reader import filled_in
from tests.support.service.servers import Called

Json = dict[str, Any]


def size(called: Called) -> int:
    """Return how long an answer is as the model reads it, in tokens."""
    return tokens_of(called.text.encode())


def missing(cut: Json, whole: Json) -> Json:
    """Return what of a whole answer is not in the one that was cut, by axis; tested answer by answer below."""
    if "rows" in whole and ("statement" in whole or "metrics" in whole):  # several currencies have no head for all
        return missing_of_report(filled_in(cut), filled_in(whole))
    sections = ("records", "hierarchy_nodes", "metrics", "statements")
    lists = [name for name in sections if "records" in whole and name in whole]
    gone = {name: len(whole[name]) - len(cut[name]) for name in lists}
    if "orientation" in whole:
        gone = missing_of_orientation(cut, whole)
    elif "domains" in whole and "metrics" in whole["domains"][0]:
        gone = missing_of_metrics(cut["domains"], whole["domains"])
    elif not lists:
        gone = missing_of_lists(cut, whole)
    return {axis: count for axis, count in gone.items() if count}


def missing_of_report(cut: Json, whole: Json) -> Json:
    """Return how many lines and members of a report are not shown."""
    places: dict[bool, set[tuple[str, ...]]] = {False: set(), True: set()}
    for is_cut, result in ((False, whole), (True, cut)):
        for part in (*result["columns"], *result["rows"]):
            if part.get("members"):
                places[is_cut].add(tuple(part["members"].values()))
    assert places[True] <= places[False]
    lines = len(whole["rows"]) - len(cut["rows"]) if "statement" in whole else 0
    gone = {"lines": lines, "members": len(places[False]) - len(places[True])}
    return {axis: count for axis, count in gone.items() if count}


def missing_of_metrics(cut: list[Json], whole: list[Json]) -> Json:
    """Return how much of a list of metrics is not shown, and hold what is shown against the whole."""
    shown = {metric["key"]: metric for domain in cut for metric in domain["metrics"]}
    known = {metric["key"]: metric for domain in whole for metric in domain["metrics"]}
    bare = {key for domain in cut for key in domain.get("more_metrics", ())}
    for key, metric in shown.items():
        assert {"description": known[key]["description"], **metric} == known[key]
    assert shown.keys() | bare <= known.keys()
    assert not shown.keys() & bare
    assert list(shown) == list(known)[: len(shown)]  # from the end
    described = [key for key, metric in known.items() if metric["description"]]
    return {
        "descriptions": sum("description" not in shown.get(key, {}) for key in described),
        "metric_details": len(known) - len(shown),
        "loaded_through": sum("loaded_through" not in domain for domain in cut),
        "metrics": len(known) - len(shown) - len(bare),
        "dimension_keys": sum(len(domain["dimension_keys"]) for domain in whole)
        - sum(len(domain["dimension_keys"]) for domain in cut),
        "domains": len(whole) - len(cut),
    }


def missing_of_lists(cut: Json, whole: Json) -> Json:
    """Return how much of some plain lists is not shown, and hold what is shown against the whole."""
    gone: Json = {}
    for name, entries in whole.items():
        if isinstance(entries, list) and name not in ("notes", "rows"):
            more = cut.get(f"more_{name}", [])
            assert cut[name] == entries[: len(cut[name])]
            below = entries[len(cut[name]) : len(cut[name]) + len(more)]
            assert more == [entry[next(iter(entry))] if name != "columns" else entry["name"] for entry in below]
            gone[name] = len(entries) - len(cut[name]) - len(more)
            if name != "comparisons":
                gone[f"{name.removesuffix('s')}_details"] = len(entries) - len(cut[name])
    return gone


def missing_of_orientation(cut: Json, whole: Json) -> Json:
    """Return how much of an orientation is not shown: prose, names, and entries of its lists."""
    gone = {"prose_characters": len(whole["orientation"]) - len(cut["orientation"])}
    for name in ("dimensions", "scenarios", "scope"):
        if isinstance(whole.get(name), dict):
            gone[name] = first_of(cut[name], whole[name])
    none: Json = {}
    named = [
        (shown, known["metrics"])
        for shown, known in zip_longest(map_of(cut["domains"]), whole["domains"], fillvalue=none)
        if isinstance(known["metrics"], dict)
    ]
    gone["metrics"] = sum(first_of(shown, known) for shown, known in named)
    bare = [
        {**result, "domains": [{**domain, "metrics": None} for domain in result["domains"]]} for result in (cut, whole)
    ]
    return gone | missing_of_lists(*bare)


def map_of(domains: list[Json]) -> list[Json]:
    """Return the names of the metrics of each domain."""
    return [domain["metrics"] for domain in domains]


def first_of(cut: Json, whole: Json) -> int:
    """Hold names against all of them, which they begin; return how many are missing."""
    assert list(cut.items()) == list(whole.items())[: len(cut)]
    return len(whole) - len(cut)


def rows_held(cut: Json, whole: Json) -> bool:
    """Hold a preview of rows against all of them; return whether it has fewer."""
    fewer = len(cut["rows"]) < cut["row_count"]
    assert cut["agent_truncated"] is fewer
    assert cut["row_count"] == whole["row_count"] == len(whole["rows"])
    assert cut["rows"] == whole["rows"][: len(cut["rows"])]
    assert cut.get("contribution_total") == whole.get("contribution_total")
    return bool(fewer)
