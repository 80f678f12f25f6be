"""Books with more of everything than an answer can hold: metrics, dimensions, scenarios, statements, prose."""

from pathlib import Path

from engine.books.books import Shelf
from engine.books.search import keep_index
from engine.instance.read import STORE
from server.feeds.instance import read_instance
from tests.support.books.loads import load_instance
from tests.support.books.small import write_instance

METRICS, DIMENSIONS, SCENARIOS, VARIANTS, STATEMENTS = 500, 600, 300, 600, 400
DESCRIPTION = "What this figure is, said as a finance team says it, at the length that such descriptions have."
PROSE = "These books are described at length, by many people, over many years. " * 1000
PROFILES = """
everyone: {operations: true, scenarios: {'*': {}}}
assign: [{subject: dev, profile: everyone}]
"""


def metric(number: int) -> str:
    """Return one metric: most sum the measure over a region, some divide two others; not all are described."""
    words = f"{{label: Measure number {number:03}, favourable: up"
    described = f", description: '{DESCRIPTION}'" if number % 5 else ""
    if number % 10 == 9:
        return f"m{number:03}: {words}, formula: m000 / m001{described}}}"
    return f"m{number:03}: {words}, measure: amount, where: {{d000: [EU]}}{described}}}"


def scenarios() -> str:
    """Return the scenarios: actual and budget, whose variants are many, then many forecasts and comparisons."""
    adjust = "adjust: [{where: {d000: [EU]}, factor: 0.9}]"
    variants = ", ".join(f"v{number:03}: {{label: What if number {number:03}, {adjust}}}" for number in range(VARIANTS))
    lines = [
        "actual: {alias: Actuals, kind: actual}",
        f"budget: {{alias: Budget, kind: budget, variants: {{{variants}}}}}",
        *(f"f{number:03}: {{alias: Forecast {number:03}, kind: forecast}}" for number in range(SCENARIOS - 2)),
        "comparisons:",
        *(f"  - [actual, f{number:03}]" for number in range(100)),
    ]
    return "\n".join(lines)


def wide_instance(folder: Path) -> Path:
    """Write and load such books; the state is in their folder."""
    keys = [f"d{number:03}" for number in range(DIMENSIONS)]
    metrics = "\n".join(f"  {metric(number)}" for number in range(METRICS))
    cut_by = ", ".join(f"{key}: {key}" for key in keys)
    instance = write_instance(
        folder / "wide",
        facts={
            "gl": f"date scenario amount {' '.join(keys)}\n2021-01-05 actual 12.34 {' '.join(['EU'] * DIMENSIONS)}",
            "people": "date scenario heads d000\n2021-01-05 actual 6 EU",
        },
        domains={
            "gl": f"time: {{column: date}}\ndimensions: {{{cut_by}}}\nmeasures: {{amount: {{places: 2}}}}\n"
            f"inspect_enabled: true\nmetrics:\n{metrics}\n",
            "people": """
            time: {column: date}
            dimensions: {d000: d000}
            measures: {heads: {type: number, places: 0}}
            inspect_enabled: true
            metrics:
              headcount: {measure: heads, over_time: closing, description: Employees at the close.}
              per_head: {formula: gl.m000 / headcount, description: A measure for each employee.}
            """,
        },
        dimensions="\n".join(f"{key}: {{kind: leaf, label: Dimension {key}}}" for key in keys),
        scenarios=scenarios(),
        statements={f"s{number:03}": "  - {metric: m000}\n  - {metric: m009}\n" for number in range(STATEMENTS)},
        profiles=PROFILES,
    )
    (instance / "orientation.md").write_text(PROSE)
    state = instance / ".tieout"
    load_instance(instance, state)
    keep_index(Shelf(read_instance(instance).catalogue, state / STORE).current())  # as `tieout load` does
    return instance
