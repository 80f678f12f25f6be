"""Charts over the wire: the first of a server, one of a small result, one of 10 MB; beside the script by itself.

The time of a chart is that of the whole call: opening what was kept, the script in jail, the chart, keeping its table.
"""

import json
from functools import partial
from time import perf_counter
from typing import Any

import httpx2
import polars as pl

from benches.books import demo_books
from benches.overhead import HEADERS
from benches.timing import Work, in_turns, report
from engine.door import open_books
from tests.support.service.servers import SERVE, serving

ROUNDS = 41
STARTS = 3
PATIENCE = 120.0  # seconds, of the client
ROWS = 150_000
Asked = dict[str, Any]
ACTUAL, BUDGET = {"Actuals": "actual"}, {"Actuals": "actual", "Budget": "budget"}
SMALL: Asked = {"metrics": ["revenue"], "columns": BUDGET, "period": ("2026-01", "2026-09"), "dimensions": ["period"]}
LARGE: Asked = {"metrics": ["sales_amount", "units"], "columns": ACTUAL, "period": ("2024-01", "2026-09")}
LARGE |= {"dimensions": ["customer", "period"]}
CODE = "t = df.filter(pl.col('period').is_not_null()).group_by('period').agg(pl.col('value').sum()).sort('period')"
SCRIPT = f"{CODE}\nresult = t"
SPEC = {"chart_type": "bar", "title": "By month", "x": "period", "y": "value", "unit": "EUR"}


def post(client: httpx2.Client, url: str, tool: str, arguments: Asked) -> Asked:
    """Call a tool."""
    called = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    answer = client.post(url, json=called).raise_for_status().json()["result"]
    if answer["isError"]:
        raise SystemExit(json.dumps(answer["structuredContent"]))
    return dict(answer["structuredContent"])


def kept(client: httpx2.Client, url: str, asked: Asked) -> str:
    """Run metrics and return the reference of the result."""
    scenarios = [{"scenario": key, "alias": alias} for alias, key in asked["columns"].items()]
    start, end = asked["period"]
    call = {"metrics": asked["metrics"], "dimensions": asked["dimensions"], "scenarios": scenarios}
    return str(post(client, url, "run_metric_data", {**call, "period_start": start, "period_end": end})["data_ref"])


def chart(reference: str, **spec: str) -> Asked:
    """Return the arguments of a chart."""
    return {"data_refs": [reference], "transform_code": SCRIPT, "chart_spec": {**SPEC, **spec}}


def plainly(frame: pl.DataFrame) -> None:
    """Run the script in this process."""
    exec(SCRIPT, {"pl": pl, "df": frame})  # noqa: S102 - our own, beside which the jail stands


def main(_: int) -> None:
    """Measure and print; the books are small, for a chart reads no facts."""
    books = demo_books(ROWS)
    door = open_books(books.instance, state=books.state)
    asked = {"small": SMALL, "large": LARGE}
    frames = {
        name: door.metric(
            *one["metrics"], scenarios=one["columns"], period=one["period"], dimensions=one["dimensions"]
        ).frame
        for name, one in asked.items()
    }
    sizes = {name: f"{frame.height:,} rows, {frame.estimated_size('mb'):.1f} MB" for name, frame in frames.items()}
    print(json.dumps(sizes))
    with httpx2.Client(headers=HEADERS, timeout=PATIENCE) as client:
        firsts = []
        for _ in range(STARTS):
            with serving(books.instance, books.state, command=SERVE) as server:
                reference = kept(client, server.url, SMALL)
                begun = perf_counter()
                post(client, server.url, "eval_chart_transform", chart(reference))
                firsts.append((perf_counter() - begun) * 1000)
        print(f"the first chart of a server, {STARTS} of them: {', '.join(f'{first:.0f} ms' for first in firsts)}")
        with serving(books.instance, books.state, command=SERVE) as server:
            draw = partial(post, client, server.url, "eval_chart_transform")
            references = {name: kept(client, server.url, one) for name, one in asked.items()}
            contestants: dict[str, Work] = {
                f"chart, {name} result": partial(draw, chart(one)) for name, one in references.items()
            }
            contestants["chart and SVG, small result"] = partial(draw, chart(references["small"], render="artifact"))
            contestants |= {f"script alone, {name} result": partial(plainly, one) for name, one in frames.items()}
            report(in_turns(contestants, ROUNDS), "script alone, large result")
