"""Draws the charts of instances/demo/charts.json on the demo books, in both themes, for docs/gallery.md."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from engine.door import Door, ReportArguments, open_books
from engine.model.requests import ChartSpec
from engine.present.charts.charts import Chart, chart
from engine.report.report import Report
from engine.report.transform import units_of
from sandbox.job import Job
from sandbox.pool import Pool
from sandbox.render import Renderer

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "instances" / "demo"
CHARTS = DEMO / "charts.json"
PAGE = ROOT / "docs" / "gallery.md"
PICTURES = ROOT / "docs" / "gallery"
HEAD = """# The charts

`make gallery` draws the nine charts of `eval_chart_transform` on the demo books. Below each chart are the call that
answers its question, the `transform_code` and `chart_spec` that were sent with its `data_ref`, and the summary that
comes back with the picture. `instances/demo/charts.json` has all of them.
"""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A chart of the gallery: a question, the call that answers it, and what is made of the answer."""

    question: str
    tool: str
    arguments: Mapping[str, Any]
    transform_code: str
    chart_spec: Mapping[str, Any]

    @property
    def spec(self) -> ChartSpec:
        """What is asked of the chart."""
        spec: dict[str, Any] = {
            key: tuple(part) if isinstance(part, list) else part for key, part in self.chart_spec.items()
        }
        return ChartSpec(**spec)

    def report(self, door: Door) -> Report:
        """Return the answer to the question."""
        asked: ReportArguments = {
            "scenarios": {column["alias"]: column["scenario"] for column in self.arguments["scenarios"]},
            "period": (self.arguments["period_start"], self.arguments["period_end"]),
            "dimensions": self.arguments.get("dimensions", ()),
        }
        if self.tool == "run_statement":
            return door.statement(self.arguments["statement"], **asked)
        return door.metric(*self.arguments["metrics"], **asked)


def exhibits() -> list[Exhibit]:
    """Return the charts of the gallery."""
    return [Exhibit(**one) for one in json.loads(CHARTS.read_text(encoding="utf-8"))["charts"]]


def drawn(exhibit: Exhibit, door: Door, pool: Pool) -> dict[str, Chart]:
    """Return the chart of an exhibit in each theme; its script runs in jail, as that of a caller does."""
    report = exhibit.report(door)
    outcome = pool.run(Job(code=exhibit.transform_code, frames=(report.frame.write_ipc_stream(None).getvalue(),)))
    if outcome.failure is not None:
        raise SystemExit(f"{exhibit.question}: {outcome.failure.message}")
    names = [column.name for column in outcome.columns]
    frame = pl.DataFrame(outcome.rows, names, orient="row", infer_schema_length=None)
    units = units_of(frame, [report])
    return {theme: chart(replace(exhibit.spec, theme=theme), frame, units) for theme in ("light", "dark")}


def section(exhibit: Exhibit, summary: str) -> str:
    """Return the part of the page on one chart."""
    kind = exhibit.spec.chart_type
    return f"""
## {kind}

**{exhibit.question}**

![{exhibit.spec.title}](gallery/{kind}-light.svg)

![{exhibit.spec.title}, dark](gallery/{kind}-dark.svg)

{summary}

<details><summary>How it is asked</summary>

`{exhibit.tool}`

```json
{as_json(exhibit.arguments)}
```

`transform_code`

```python
{exhibit.transform_code}
```

`chart_spec`

```json
{as_json(exhibit.chart_spec)}
```

</details>
"""


def as_json(fields: Mapping[str, Any]) -> str:
    """Return an object with a line for each of its fields."""
    lines = (f"  {json.dumps(key)}: {json.dumps(part, ensure_ascii=False)}" for key, part in fields.items())
    return "{\n" + ",\n".join(lines) + "\n}"


def main() -> None:
    """Draw every chart and write the page."""
    door, page = open_books(DEMO), [HEAD]
    PICTURES.mkdir(exist_ok=True)
    with Pool() as pool, Renderer() as renderer:
        for exhibit in exhibits():
            charts = drawn(exhibit, door, pool)
            for theme, made in charts.items():
                picture = renderer.render(made.vega_lite, "svg")
                (PICTURES / f"{made.chart_type}-{theme}.svg").write_bytes(picture + b"\n")
            page.append(section(exhibit, charts["light"].summary))
    PAGE.write_text("".join(page), encoding="utf-8")


if __name__ == "__main__":
    main()
