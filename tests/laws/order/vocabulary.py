"""Random calls of all tools in the words of any books: their dimensions, members, metrics, statements and months."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from operator import mul
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct

from engine.books.books import Shelf
from engine.books.reader import Reader
from engine.model.profiles import EVERYONE
from server.feeds.instance import ServedInstance
from server.tools.prompts import PROMPTS
from tests.laws.order.steps import CUT, budgets
from tests.laws.scoped.calls import LARGE, BudgetedCall

MEMBERS = 12  # of a dimension that filters name
SHOWN = 1500  # combinations of members that a call is broken down by, unless it ranks them
TIME = {"period": 15, "quarter": 5, "year": 2}  # and how many of them a range has
MOVES = ("@py", "@ytd", "@pp", "@ltm", "@last3", "@pm", "@qtd@py")
SCALES = (0, 0, 0, 3, 6)


class Vocabulary(Struct, frozen=True):
    """The words of some books."""

    dimensions: Mapping[str, Sequence[str]]  # of each domain
    counts: Mapping[str, int]  # of the members of each dimension
    members: Mapping[str, Sequence[str]]  # some of each dimension
    metrics: Mapping[str, Sequence[str]]  # of each domain
    statements: Sequence[str]
    scenarios: Sequence[str]
    months: Sequence[str]  # in order

    @classmethod
    def of(cls, instance: ServedInstance, shelf: Shelf, months: Sequence[str]) -> "Vocabulary":
        """Return the words of books, whose rows lie in some months."""
        reader = Reader(shelf.current(), (EVERYONE,))
        listed = [key for key, dimension in reader.dimensions.items() if not dimension.grain]
        members = {key: [*reader.visible_ids(key)] for key in listed}
        catalogue = instance.catalogue
        variants = [f"{key}/{known.key}" for key, base in reader.scenarios.items() for known in base.variants]
        return cls(
            dimensions={
                domain: [
                    key for key in listed if catalogue.dimensions[key].leaf in catalogue.domains[domain].dimensions
                ]
                for domain in reader.domains
            },
            counts={**TIME, **{key: len(ids) for key, ids in members.items()}},
            members={key: ids[:: max(1, len(ids) // MEMBERS)] for key, ids in members.items()},
            metrics={
                domain: [key for key, metric in reader.metrics.items() if metric.domain == domain]
                for domain in reader.domains
            },
            statements=[*reader.statements],
            scenarios=[key for key in (*reader.scenarios, *variants) if has_rows(key, reader)],
            months=months,
        )

    def sides(self) -> st.SearchStrategy[str]:
        """Draw a column: a scenario, perhaps moved in time, or the variance of two."""
        plain = st.sampled_from(self.scenarios)
        moved = st.builds("{}{}".format, plain, st.sampled_from(MOVES))
        return st.one_of(plain, plain, moved, st.builds("var({},{})".format, plain, st.one_of(plain, moved)))

    def columns(self) -> st.SearchStrategy[list[dict[str, str]]]:
        """Draw some columns."""
        return st.lists(self.sides(), min_size=1, max_size=3, unique=True).map(
            lambda keys: [{"scenario": key, "alias": f"C{at}"} for at, key in enumerate(sorted(keys))]
        )

    def shown(self, dimensions: Sequence[str]) -> list[str]:
        """Return the first of some dimensions, as many as make no large report."""
        sizes = accumulate((self.counts[key] for key in dimensions), mul)
        return [key for key, size in zip(dimensions, sizes, strict=True) if size <= SHOWN]

    @property
    def domains(self) -> list[str]:
        """The domains that have metrics."""
        return [domain for domain, metrics in self.metrics.items() if metrics]


def has_rows(scenario: str, reader: Reader) -> bool:
    """Tell whether a scenario, or the base of a variant, has rows in some domain."""
    return any(reader.loads(domain, scenario.split("/", maxsplit=1)[0]) for domain in reader.domains)


@st.composite
def ranges(draw: st.DrawFn, words: Vocabulary) -> dict[str, str]:
    """Draw a month or a range of months."""
    first = draw(st.integers(0, len(words.months) - 1))
    last = min(first + draw(st.sampled_from((0, 0, 1, 2, 5, 11, 14))), len(words.months) - 1)
    return {"period_start": words.months[first], **({"period_end": words.months[last]} if last > first else {})}


@st.composite
def filters(draw: st.DrawFn, words: Vocabulary, domain: str) -> dict[str, Any]:
    """Draw up to two filters of a domain."""
    keys = st.lists(st.sampled_from(words.dimensions[domain]), min_size=1, max_size=2, unique=True)
    kept: dict[str, Any] = {}
    for key in draw(keys) if draw(st.booleans()) else ():
        ids = draw(st.lists(st.sampled_from(words.members[key]), min_size=1, max_size=4)) if words.members[key] else []
        kept[key] = {"exclude": ids} if draw(st.integers(0, 5)) == 1 else ids
    return kept


@st.composite
def reports(draw: st.DrawFn, words: Vocabulary, domain: str) -> dict[str, Any]:
    """Draw what statements and metrics have in common; a dimension may be one that other domains alone have."""
    own = words.dimensions[domain]
    every = (*own, *TIME, *(key for keys in words.dimensions.values() for key in keys if key not in own))
    count = draw(st.sampled_from((1, 2, 2, 0, 2, 3)))
    dimensions = words.shown(draw(st.lists(st.sampled_from(every), min_size=count, max_size=count, unique=True)))
    return {
        "scenarios": draw(words.columns()),
        **draw(ranges(words)),
        "filters": draw(filters(words, domain)),
        "dimensions": dimensions,
        "subtotals": len(dimensions) > 1 and draw(st.booleans()),
        "scale": draw(st.sampled_from(SCALES)),
        **({"summary": True} if draw(st.integers(0, 7)) == 1 else {}),
    }


@st.composite
def statements(draw: st.DrawFn, words: Vocabulary) -> dict[str, Any]:
    """Draw the arguments of a statement."""
    asked = draw(reports(words, draw(st.sampled_from(words.domains))))
    return {**asked, "statement": draw(st.sampled_from(words.statements))}


@st.composite
def metrics(draw: st.DrawFn, words: Vocabulary) -> dict[str, Any]:
    """Draw the arguments of metrics, in part ranked."""
    domain = draw(st.sampled_from(words.domains))
    names = draw(st.lists(st.sampled_from(words.metrics[domain]), min_size=1, max_size=4, unique=True))
    asked = {**draw(reports(words, domain)), "metrics": names}
    if draw(st.integers(0, 2)) == 1:
        ranked = draw(st.sampled_from(words.dimensions[domain]))
        asked["dimensions"] = [ranked, *(key for key in asked["dimensions"] if key != ranked)][:2]
        asked |= {"order_by": draw(st.sampled_from(names)), "top": draw(st.sampled_from((1, 2, 5, 20)))}
        asked["asc"] = draw(st.booleans())
        asked["subtotals"] = False
    return asked


@st.composite
def variances(draw: st.DrawFn, words: Vocabulary) -> dict[str, Any]:
    """Draw the arguments of an explained variance."""
    domain = draw(st.sampled_from(words.domains))
    plain = st.sampled_from(words.scenarios)
    keys = [*words.dimensions[domain], "period", "lines"]
    return {
        "metric": draw(st.sampled_from(words.metrics[domain])),
        "scenarios": [draw(plain), draw(st.one_of(plain, plain.map(lambda key: f"{key}@py")))],
        "by": draw(st.lists(st.sampled_from(keys), min_size=1, max_size=2, unique=True)),
        "depth": draw(st.sampled_from((1, 1, 2))),
        **draw(ranges(words)),
        "filters": draw(filters(words, domain)),
    }


@st.composite
def rows(draw: st.DrawFn, words: Vocabulary) -> dict[str, Any]:
    """Draw the arguments of an inspection."""
    domain = draw(st.sampled_from(words.domains))
    kept = draw(filters(words, domain))
    if draw(st.booleans()):
        kept["metric"] = draw(st.sampled_from(words.metrics[domain]))
    return {
        "source_key": domain,
        "scenario_id": draw(st.sampled_from(words.scenarios)),
        "limit": draw(st.sampled_from((1, 5, 50, 200))),
        **draw(ranges(words)),
        "filters": kept,
    }


@st.composite
def searches(draw: st.DrawFn, words: Vocabulary) -> dict[str, Any]:
    """Draw the arguments of a search."""
    key = draw(st.sampled_from(sorted(words.members)))
    ids = words.members[key]
    query = {"query": draw(st.sampled_from((*ids[:4], "a", "re")))} if draw(st.booleans()) else {}
    return {"dimension": key, "limit": draw(st.sampled_from((1, 3, 20))), **query}


def addresses(words: Vocabulary) -> st.SearchStrategy[str]:
    """Draw the address of a resource."""
    every = [f"tieout://metric/{key}" for keys in words.metrics.values() for key in keys]
    return st.sampled_from([*every, *(f"tieout://statement/{key}" for key in words.statements), "tieout://orientation"])


def book_calls(words: Vocabulary) -> st.SearchStrategy[BudgetedCall]:
    """Draw a call of any tool, mostly one that asks for figures or rows."""
    nothing: st.SearchStrategy[dict[str, Any]] = st.just({})
    scenario = st.sampled_from(words.scenarios).map(lambda key: {"scenario_id": key})
    lists = ("svc_orientation", "list_scenarios", "list_kpis", "list_dimensions", "list_inspection_sources")
    others: list[tuple[str, st.SearchStrategy[dict[str, Any]]]] = [
        *((tool, nothing) for tool in (*lists, "list_load_history", "list_bindings", "resources/list")),
        ("list_variants", scenario),
        ("search_hierarchy", searches(words)),
        ("get_inspection_schema", st.sampled_from(words.domains).map(lambda key: {"source_key": key})),
        ("resources/read", addresses(words).map(lambda uri: {"uri": uri})),
        ("prompts/get", st.sampled_from(sorted(PROMPTS)).map(lambda name: {"name": name})),
        ("completion/complete", st.just({"prompt": min(PROMPTS), "argument": "metric", "value": "re"})),
    ]
    figures = (("run_statement", statements), ("run_metric", metrics), ("run_metric_data", metrics))
    often = [*figures, *figures, ("explain_variance", variances), ("inspect_rows", rows)]
    return st.one_of(
        *(
            st.builds(BudgetedCall, st.just(tool), make(words), budgets if tool in CUT else st.just(LARGE))
            for tool, make in often
        ),
        st.sampled_from(others).flatmap(lambda pair: st.builds(BudgetedCall, st.just(pair[0]), pair[1])),
    )


def figure_calls(words: Vocabulary) -> st.SearchStrategy[BudgetedCall]:
    """Draw a statement or metrics."""
    return st.one_of(
        st.builds(BudgetedCall, st.just("run_statement_data"), statements(words)),
        st.builds(BudgetedCall, st.just("run_metric_data"), metrics(words)),
    )


def months_of(first: int, last: int) -> list[str]:
    """Return the months of some years."""
    return [f"{year}-{month:02}" for year in range(first, last + 1) for month in range(1, 13)]
