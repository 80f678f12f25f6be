"""Facts with twenty columns as one CSV file, in an instance that has loaded none of them."""

from pathlib import Path

import duckdb

from tests.support.books.small import write_instance

DIMENSIONS = tuple(f"d{at}" for at in range(8))
MEASURES = tuple(f"m{at}" for at in range(6))
TEXTS = tuple(f"t{at}" for at in range(4))
NAMES = ("date", "scenario", *DIMENSIONS, *MEASURES, *TEXTS)  # twenty
MEMBERS = 500  # of each dimension
DOMAIN = f"""
time: {{column: date}}
dimensions: {{{", ".join(f"{key}: {key}" for key in DIMENSIONS)}}}
measures: {{{", ".join(f"{key}: {{places: 2}}" for key in MEASURES)}}}
inspect_enabled: true
inspect_columns: [{", ".join(TEXTS)}]
metrics: {{amount: {{measure: m0}}}}
"""
ROWS = f"""
copy (
    select
        date '2024-01-01' + (n % 730)::integer as date,
        case when n % 3 = 0 then 'budget' else 'actual' end as scenario,
        {", ".join(f"'M' || hash(n * {place + 1}) % {MEMBERS} as {key}" for place, key in enumerate(DIMENSIONS))},
        {", ".join(f"(n * {at + 7} % 1000000 / 100)::decimal(18, 2) as {key}" for at, key in enumerate(MEASURES))},
        {", ".join(f"'text ' || n % {10 ** (place + 2)} as {key}" for place, key in enumerate(TEXTS))}
    from range({{rows}}) as every(n)
) to '{{file}}' (header true)
"""


def write_wide(home: Path, rows: int) -> None:
    """Write the instance and its file of some rows; the folder `members` is a state in which nothing is loaded."""
    instance = write_instance(
        home / "instance",
        facts={"gl": f"{' '.join(NAMES)}\n2024-01-01 actual {' '.join(['M0'] * 8 + ['1'] * 6 + ['t'] * 4)}"},
        domains={"gl": DOMAIN},
        dimensions="".join(f"{key}: {{kind: leaf}}\n" for key in DIMENSIONS),
        scenarios="actual: {alias: Actuals, kind: actual}\nbudget: {alias: Budget, kind: budget}\n",
    )
    duckdb.execute(ROWS.format(rows=rows, file=instance / "data" / "gl.csv"))
    (home / "members").mkdir(exist_ok=True)
