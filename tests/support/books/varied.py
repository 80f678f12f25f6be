"""Calls of the same books that vary one input at a time: what the key of a memo forgets shows in their order."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from engine.books.books import READS, Shelf
from server.base.interfaces import Principal
from server.caller.caller import Callers
from server.caller.feeds import Feeds
from server.feeds.instance import read_instance
from server.tools.toolbox import TOOLS
from server.wire.arguments import read_request
from tests.support.answers.calls import LISTS
from tests.support.books.holders import WORKSHOP, keeping_in
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance
from tests.support.engines.memory import MemoryLoads

Json = dict[str, Any]
Call = tuple[str, Json]
ENTITIES, PRODUCTS = ("DE", "FR", "US", "CA"), ("P0", "P1", "P2")
GL = """
time: {column: date, missing: keep}
dimensions: {entity: entity, product: product, ccy: ccy}
measures: {amount: {places: 2}, stock: {type: number, places: 0}, pounds: {places: 2, currency: ccy}}
balances:
  first: {where: {product: [P0]}, grain: month}
  other: {where: {product: [P1, P2]}, grain: day}
inspect_enabled: true
metrics:
  revenue: {measure: amount, favourable: up}
  costs: {measure: amount, where: {product: [P2]}, sign: negate}
  weighed: {measure: amount, where: {tree: [WORLD]}}
  closing: {measure: stock, over_time: closing, balance: first}
  opening: {measure: stock, over_time: opening, balance: first}
  late: {measure: stock, over_time: closing, balance: other}
  mean_stock: {measure: stock, over_time: {average: {of: month}}, balance: first}
  known: {measure: stock, over_time: {last_known: always}, balance: first}
  buyers: {over_members: {count_distinct: entity}}
  mean: {measure: amount, over_members: average}
  most: {measure: amount, over_members: max}
  share: {formula: costs / revenue}
  pounds: {measure: pounds}
  both: {measure: amount, where: {product: [P0, P1], tree: [EU]}}
  gone: {measure: amount, where: {product: [P9]}}
  added: {measure: stock}
"""
PEOPLE = """
time: {column: date, grain: month, missing: keep}
dimensions: {entity: entity}
measures: {heads: {type: number, places: 0}, hours: {type: number, places: 0}}
inspect_enabled: true
metrics:
  heads: {measure: heads}
  known: {measure: hours}
  per_hour: {formula: heads / known}
"""
DIMENSIONS = """
entity: {kind: leaf, members: live.entity}
band: {kind: derived, from: entity, attribute: band}
tree: {kind: ragged, leaf_dimension: entity, nodes: live.tree}
parts: {kind: ragged, leaf_dimension: entity, nodes: live.parts}
product: {kind: leaf}
ccy: {kind: leaf}
period: {kind: leaf, grain: month}
quarter: {kind: leaf, grain: quarter}
"""
TABLES = {
    "entity": "id name band\nDE Germany core\nFR France core\nUS States new\nCA Canada new",
    "tree": "node parent weight name\nWORLD - 1 World\nEU WORLD 1 Europe\nNA WORLD 0.5 America\n"
    "DE EU 1 -\nFR EU -1 -\nUS NA 1 -\nCA NA 1 -",
    "parts": "node parent weight name\nONE - 1 One\nTWO - 1 Two\nDE ONE 0.5 -\nDE TWO 0.5 -\nFR ONE 1 -",
}
STATEMENTS = {
    "pnl": "- {header: Head}\n- {metric: gl.revenue}\n- {metric: gl.costs}\n- {metric: people.heads}\n"
    "- {formula: {key: net, label: Net, is: gl.revenue - gl.costs}}\n",
    "nodes": "- {rollup: {metric: gl.revenue, dimension: tree, node: WORLD}, key: nodes}\ncovers: {tree: EU}\n",
    "named": "- {metric: gl.revenue, label: L}\n- {metric: gl.costs, label: L}\n",
    "renamed": "- {metric: gl.revenue, label: M}\n- {metric: gl.costs, label: L, style: total}\n",
    "americas": "- {rollup: {metric: gl.revenue, dimension: tree, node: WORLD}, key: nodes}\ncovers: {tree: NA}\n",
    "of_some": "- {rollup: {metric: gl.both, dimension: tree, node: WORLD}, key: nodes}\ncovers: {tree: WORLD}\n",
    "of_all": "- {rollup: {metric: gl.revenue, dimension: tree, node: WORLD}, key: nodes}\ncovers: {tree: WORLD}\n",
    "of_costs": "- {rollup: {metric: gl.costs, dimension: tree, node: WORLD}, key: nodes}\ncovers: {tree: EU}\n",
    "stocks": "- {metric: gl.closing}\n- {metric: gl.opening}\n- {metric: gl.late}\n- {metric: gl.known}\n",
}
SCENARIOS = """
actual: {alias: Actuals, kind: actual, closed_through: 2026-02}
budget:
  alias: Budget
  kind: budget
  variants:
    low: {label: Low, adjust: [{where: {entity: [DE]}, factor: 0.5, measures: [amount]}]}
    high: {label: High, adjust: [{where: {entity: [DE]}, factor: 2, measures: [amount]}]}
forecast: {alias: Forecast, kind: forecast}
"""
PROFILES = """
everyone: {operations: true, scenarios: {'*': {}}}
some: {scenarios: {'*': {dimensions: {entity: {allow: [DE, FR]}}}}}
other: {scenarios: {actual: {dimensions: {entity: {allow: [FR, US]}}}, budget: {}}}
counters: {scenarios: {'*': {domains: {allow: [people]}}}}
sellers:
  members: all
  scenarios: {'*': {domains: {allow: [gl]}, dimensions: {product: {allow: [P0, P1]}, tree: {allow: [EU]}}}}
assign:
  - {subject: few, profile: counters}
  - {subject: sold, profile: sellers}
  - {subject: all, profile: everyone}
  - {subject: some, profile: some}
  - {subject: other, profile: other}
"""
WHO = tuple(map(Principal, ("all", "some", "other")))
MORE = tuple(map(Principal, ("few", "sold")))  # a caller of one domain, and one of some products
BASE: Json = {
    "metrics": ["gl.revenue"],
    "scenarios": [{"scenario": "actual"}],
    "dimensions": ["entity"],
    "period_start": "2026-01",
    "period_end": "2026-03",
}
LINES: Json = {key: BASE[key] for key in ("scenarios", "dimensions", "period_start", "period_end")} | {
    "statement": "pnl"
}
DIMENSION_LISTS: Sequence[Sequence[str]] = (
    *([], ["product"], ["tree"], ["band"], ["period"], ["quarter"]),
    *(["product", "entity"], ["entity", "product"], ["entity", "period"], ["period", "entity"], ["tree", "product"]),
    *(["band", "entity"], ["product", "period", "entity"]),
)
FILTERS: Sequence[Json] = (
    {"entity": ["DE"]},
    {"entity": ["DE", "FR"]},
    {"entity": ["FR"]},
    {"entity": {"exclude": ["DE"]}},
    {"tree": ["EU"]},
    {"tree": ["NA"]},
    {"product": ["P0"]},
    {"product": ["P1"]},
    {"product": ["P0"], "entity": ["FR"]},
    {"period": ["2026-01", "2026-03"]},
)
REFERENCES = (
    *("budget", "forecast", "budget/low", "budget/high", "actual@py", "actual@pp", "actual@ytd", "budget@ytd"),
    *("actual+forecast", "actual+budget", "var(actual,budget)", "var_pct(actual,budget)", "var(budget,actual)"),
    *("var(actual,actual@py)", "budget@py"),
)
PERIODS = (
    *(("2026-01", "2026-01"), ("2026-02", "2026-03"), ("2025-12", "2026-03"), ("2026-Q1", "2026-Q1"), ("2025", "2026")),
    ("2026-01-10", "2026-02-20"),
)


def facts() -> Iterator[str]:
    """Yield rows of the ledger: not every member in every month, and some without a date."""
    yield "date scenario entity product ccy amount stock pounds"
    cells = product(("actual", "budget", "forecast"), ("2025-01", "2025-12", "2026-01", "2026-02", "2026-03"), ENTITIES)
    for at, (scenario, month, entity) in enumerate(cells):
        if (scenario, month) == ("budget", "2026-03"):
            continue
        for number, item in enumerate(PRODUCTS):
            if (at + number) % 4:
                day, amount = 5 + (at + number) % 20, at * 7 + number
                members = f"{entity} {item} {('EUR', 'GBP')[at % 2]}"
                yield f"{month}-{day:02} {scenario} {members} {amount}.25 {at + number} {at}.00"
    yield "- actual DE P0 EUR 5.00 1 1.00"
    yield "- actual FR P0 EUR 7.00 1 1.00"
    yield "- budget US P1 EUR 6.00 2 1.00"
    yield "2026-01-07 actual - P0 EUR 3.00 1 1.00"
    yield "2026-01-07 actual DE P3 EUR 4.00 1 1.00"


def people() -> Iterator[str]:
    """Yield the people of each entity."""
    yield "date scenario entity heads hours"
    for at, (scenario, month, entity) in enumerate(product(("actual", "budget"), ("2026-01", "2026-02"), ENTITIES[:3])):
        yield f"{month} {scenario} {entity} {at + 1} {at * 2 + 1}"
    yield "- actual DE 3 4"


def varied_books(folder: Path) -> Path:
    """Write and load the books; return the instance."""
    instance = write_instance(
        folder / "books",
        facts={"gl": "\n".join(facts()), "people": "\n".join(people())},
        domains={"gl": GL, "people": PEOPLE},
        dimensions=DIMENSIONS,
        tables=TABLES,
        statements=STATEMENTS,
        scenarios=SCENARIOS,
        profiles=PROFILES,
    )
    load_instance(instance, folder / "state")
    return instance


class VariedBooks:
    """The books, opened, and what callers are answered from them."""

    def __init__(self, folder: Path, instance: Path | None = None) -> None:
        self.folder = instance or varied_books(folder)
        self.instance = read_instance(self.folder)
        self._state, self._files = folder / "state", folder / "files"
        self.open()

    def open(self, reads: int = READS) -> None:
        """Open them anew, with nothing worked out before; memos go when the next version was read so often."""
        self.shelf = Shelf(self.instance.catalogue, self._state / "store", reads=reads)
        keeping = keeping_in(self._files)
        self._callers = Callers(
            self.instance, self.shelf, Feeds.of({}, MemoryLoads(), {}), keeping, WORKSHOP, 100_000, 1_000
        )

    def load_other_members(self) -> None:
        """Load another name of an entity, and one more entity, which comes first by its id."""
        names = "id,name,band\nAT,Austria,new\nDE,Deutschland,core\nFR,France,core\nUS,States,new\nCA,Canada,new\n"
        (self.folder / "data" / "entity.csv").write_text(names)
        tree = (self.folder / "data" / "tree.csv").read_text()
        (self.folder / "data" / "tree.csv").write_text(tree.replace("FR,EU,-1", "FR,NA,-1"))
        load_instance(self.folder, self._state)

    def ask(self, call: Call, who: Principal) -> Mapping[str, Any]:
        """Return what a caller is answered; raises a refusal."""
        tool = TOOLS[call[0]]
        answer = tool.answer(self._callers.of(who, lambda: None), read_request(tool.shape, call[1]))
        answer.render_block()
        return answer.result


def metric(**other: Any) -> Call:
    """Return the call of metrics with one input changed."""
    return "run_metric", BASE | other


def statement(**other: Any) -> Call:
    """Return the call of a statement with one input changed."""
    return "run_statement", LINES | other


def calls() -> Iterator[Call]:
    """Yield each call: one that all others vary, and these."""
    for vary in (metric, statement):
        yield vary()
        yield from (vary(dimensions=list(names)) for names in DIMENSION_LISTS)
        yield from (vary(filters=chosen) for chosen in FILTERS)
        yield from (vary(dimensions=[], filters=chosen) for chosen in FILTERS)
        yield from (vary(scenarios=[{"scenario": name}]) for name in REFERENCES)
        yield from (vary(period_start=start, period_end=end) for start, end in PERIODS)
        yield from (vary(dimensions=["period"], period_start=start, period_end=end) for start, end in PERIODS[:4])
        yield vary(period_start="undated", period_end="undated")
        yield vary(dimensions=["entity", "product"], subtotals=True)
        yield vary(dimensions=["entity", "period"], subtotals=True)
        yield vary(scale=3)
        yield vary(decimals=1)
        yield vary(scenarios=[{"scenario": "actual", "alias": "A"}, {"scenario": "budget", "alias": "B"}])
    for names in (["costs"], ["weighed"], ["closing"], ["opening"], ["late"], ["mean_stock"], ["known"], ["buyers"]):
        yield metric(metrics=[f"gl.{name}" for name in names])
        yield metric(metrics=[f"gl.{name}" for name in names], dimensions=["product", "period"])
        yield metric(metrics=[f"gl.{name}" for name in names], dimensions=["tree"], filters={"product": ["P0"]})
    yield from (metric(metrics=[f"gl.{name}" for name in names]) for names in (["mean"], ["most"], ["share"]))
    yield metric(metrics=["gl.costs", "gl.revenue"])
    yield metric(metrics=["gl.revenue", "gl.costs"], order_by="costs@actual", top=1)
    yield metric(metrics=["gl.revenue", "gl.costs"], order_by="revenue@actual", top=2, asc=True)
    yield metric(metrics=["people.heads"])
    months = ["2026-01", "2026-02", "2026-03"]
    for chosen in ({}, {"quarter": ["2026-Q1"]}, {"period": months}, {"quarter": ["2025-Q4"]}):
        yield metric(dimensions=["quarter", "period"], filters=chosen, period_start="2025-10")
    yield from (metric(formulas={"double": f"{times} * revenue"}) for times in (2, 3, 2))
    yield from (statement(statement=key, dimensions=names) for key in ("nodes", "stocks") for names in ([], ["entity"]))
    sides = {"scenarios": ["actual", "budget"], "period_start": "2026-01", "period_end": "2026-03"}
    yield from (
        ("explain_variance", {**sides, "metric": name, "by": by})
        for name, by in (("gl.revenue", ["entity"]), ("gl.revenue", ["product", "entity"]), ("gl.share", ["tree"]))
    )
    rows = {"source_key": "gl", "scenario_id": "actual", "period_start": "2026-01", "period_end": "2026-03"}
    yield from (("inspect_rows", {**rows, "filters": chosen}) for chosen in ({}, *FILTERS[:4], {"metric": "costs"}))
    yield from (("inspect_rows", {**rows, "filters": {"metric": name}}) for name in ("closing", "gl.known", "mean"))
    for _ in range(2):
        yield from LISTS.values()
        yield from (("search_hierarchy", {"query": text}) for text in ("DE", "Frnace"))
        yield from (("search_hierarchy", {"dimension": key}) for key in ("entity", "tree", "band"))
        yield metric(metrics=["gl.reveneu"])


def more_calls() -> Iterator[Call]:
    """Yield calls that vary what the others leave as it is."""
    yield from (
        statement(statement=key) for key in ("named", "renamed", "americas", "of_costs", "of_some", "of_all", "pnl")
    )
    for names in (["gl.closing"], ["gl.revenue"], ["people.heads"], ["people.per_hour"], ["gl.pounds"], ["gl.both"]):
        for reference in ("actual", "budget", "budget/low", "actual+budget"):
            yield metric(metrics=names, scenarios=[{"scenario": reference}], dimensions=[])
    for chosen in FILTERS:
        yield metric(filters=chosen, dimensions=["period"])
        yield metric(metrics=["gl.costs", "gl.weighed"], filters=chosen)
        yield metric(metrics=["gl.added"], filters=chosen)
    yield from (metric(metrics=[f"gl.{name}"]) for name in ("gone", "added", "both"))
    yield from (metric(filters={"tree": members}, dimensions=[]) for members in (["DE"], ["DE", "FR"]))
    yield metric(dimensions=["parts"])
    for without in (["FR"], ["FR", "nobody"]):
        yield metric(dimensions=["tree"], filters={"tree": {"exclude": without}})
    yield metric(metrics=["known"], formulas={"twice": "2 * known"})
    for name in ("gl.revenue", "people.heads"):
        yield metric(metrics=[name], period_start="undated", period_end="undated", dimensions=[])
    blend = {"scenarios": [{"scenario": "actual+budget"}]}
    yield from (metric(**blend, period_start=period, period_end=period) for period in ("undated", "2026-01"))
    yield from LISTS.values()
    yield from (("list_kpis", {"domain": domain}) for domain in ("gl", "people"))
