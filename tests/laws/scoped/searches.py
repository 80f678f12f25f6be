"""Searches and calls that name something as people do: by words, several names and terms of the instance."""

from collections.abc import Sequence
from typing import Any

from tests.laws.scoped.operands import ASKED, Arguments

QUERIES = (
    *("revenue", "turnover", "heads", "revnue", "pnl", "", "article", "node", "customer"),
    *("umsatz", "Result", "team", "the north", "star", "ageing", "open invoices of X", "fte", "region"),
    *("60", "eu", "Artikel P3", "P", "G", "n", "unassigned", "costumer x"),
)
WAYS = (  # of calling a member
    str.lower,
    str.upper,
    " {} ".format,
    "{}x".format,
    "60{}".format,
    "article {}".format,
    "ARTICLE{}".format,
    "Artilce {}".format,
    "Node {}".format,
    "customer {}".format,
    "Cutsomer {}".format,
)
OF_SEARCHES: dict[str, tuple[str, Arguments]] = {
    "dimension to search": ("search_hierarchy", lambda name: {"dimension": f"of_{name}"}),
    "query of a metric": ("search_hierarchy", lambda name: {"query": f"of_{name}"}),
    "query of a statement": ("search_hierarchy", lambda name: {"query": f"by_{name}"}),
    "term of a metric": ("run_metric", lambda name: {**ASKED, "metrics": ["revenue", f"term_{name}"]}),
    "term to explain": (
        "explain_variance",
        lambda name: {"metric": f"term_{name}", "scenarios": ["actual", "actual@pp"], "by": ["product"]},
    ),
    "term of a formula": (
        "run_metric",
        lambda name: {**ASKED, "metrics": ["revenue"], "formulas": {"x": f"revenue - term_{name}"}},
    ),
    "term to order by": (
        "run_metric",
        lambda name: {**ASKED, "metrics": ["revenue"], "dimensions": ["product"], "order_by": f"Term_{name}"},
    ),
    "term of a condition": (
        "run_metric",
        lambda name: {
            **ASKED,
            "metrics": ["revenue"],
            "dimensions": ["product"],
            "having": [{"column": f"term_{name}", "min": 0}],
        },
    ),
    "query of a term of metrics": ("list_kpis", lambda name: {"query": f"Term_{name}"}),
    "term of a statement": ("run_statement", lambda name: {**ASKED, "statement": f"Said {name}"}),
    "query of a term": ("search_hierarchy", lambda name: {"query": [f"Term_{name}", f"said {name}"]}),
    "query of several metrics": ("search_hierarchy", lambda name: {"query": ["revenue", f"of_{name}"]}),
    "query of words of metrics": ("search_hierarchy", lambda name: {"query": f"revenue of_{name}"}),
}
OF_SEARCHED_MEMBERS: dict[str, tuple[str, Arguments]] = {
    "query": ("search_hierarchy", lambda name: {"query": name}),
    "query on the next page": ("search_hierarchy", lambda name: {"query": name, "offset": 1, "limit": 1}),
    "term of a member": (
        "run_metric",
        lambda name: {**ASKED, "metrics": ["revenue"], "filters": {"product": ["ABC", f"Called {name[:80]}"]}},
    ),
    "query of a member's term": ("search_hierarchy", lambda name: {"query": f"called {name[:80]}"}),
    "query of words with a term": ("search_hierarchy", lambda name: {"query": f"ABC called {name[:80]}"}),
    "query of several names": ("search_hierarchy", lambda name: {"query": ["ABC", name, f"Node {name}"]}),
    "query of words": ("search_hierarchy", lambda name: {"query": f"ABC {name} small"}),
    "query in a tree": ("search_hierarchy", lambda name: {"query": f"Node {name}", "dimension": "tree"}),
}


def terms_naming(keys: Sequence[str], ids: Sequence[str]) -> dict[str, Any]:
    """Return terms of some metrics, statements and members, and of a member that is seen."""
    terms: dict[str, Any] = {f"term_{key}": {"metric": f"of_{key}"} for key in keys}
    terms |= {f"said {key}": {"statement": f"by_{key}"} for key in keys}
    terms |= {f"called {id_[:80]}": {"dimension": "product", "member": id_} for id_ in ids}
    return {**terms, "gem": {"dimension": "product", "member": "ABC"}}
