"""The peers: how each is installed, what its model says, and how it is asked."""

import json
import subprocess
import venv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from benches.books import ROOT
from tests.support.answers.calls import Call

HOMES = ROOT / "out" / "benches" / "peers"
LINES = {
    "revenue": "Revenue",
    "cost_of_sales": "Cost of sales",
    "personnel": "Personnel",
    "other_opex": "Other operating expenses",
    "depreciation": "Depreciation",
    "financial": "Financial result",
    "taxes": "Income taxes",
}
FORMULAS = {  # of measures above them
    "revenue_variance": "revenue_actual - revenue_budget",
    "gross_profit": "revenue - cost_of_sales",
    "opex": "personnel + other_opex",
    "ebitda": "gross_profit - opex",
    "operating_result": "ebitda - depreciation",
    "net_result": "operating_result - financial - taxes",
}
BOTH = ("actual", "budget")


@dataclass(frozen=True, slots=True)
class PeerQuestion:
    """A question: as Tieout takes it, by what it names, and as SQL that gives the true figures."""

    tieout: Call
    measures: Sequence[str]
    first: str  # day
    last: str
    company: str | None  # whose postings count; None for those of all
    scenarios: Sequence[str]
    grain: str | None  # of the rows; None if each is a scenario
    truth: str


Ask = Callable[[PeerQuestion], str]


def bsl_call(asked: PeerQuestion) -> Call:
    """Return a question as boring-semantic-layer takes it."""
    filters = [
        {"field": "scenario", "operator": "in", "values": list(asked.scenarios)},
        {"field": "date", "operator": ">=", "value": asked.first},
        {"field": "date", "operator": "<=", "value": asked.last},
        *([{"field": "company", "operator": "=", "value": asked.company}] if asked.company else []),
    ]
    call = {"model_name": "ledger", "measures": list(asked.measures), "filters": filters, "get_chart": False}
    if asked.grain is None:
        return "query_model", {**call, "dimensions": ["scenario"]}
    return "query_model", {**call, "dimensions": ["date"], "time_grain": f"TIME_GRAIN_{asked.grain.upper()}"}


def sidemantic_call(asked: PeerQuestion) -> Call:
    """Return a question as Sidemantic takes it."""
    days = f"ledger.date between date '{asked.first}' and date '{asked.last}'"
    of_company = f" and ledger.company = '{asked.company}'" if asked.company else ""
    where = f"{days} and ledger.scenario in {named(asked.scenarios)}{of_company}"
    by = f"ledger.date__{asked.grain}" if asked.grain else "ledger.scenario"
    metrics = [f"ledger.{measure}" for measure in asked.measures]
    return "run_query", {"dimensions": [by], "metrics": metrics, "where": where, "order_by": [by]}


def metricflow_call(asked: PeerQuestion) -> Mapping[str, Any]:
    """Return a question as MetricFlow's MetricFlowQueryRequest.create takes it."""
    by = f"metric_time__{asked.grain}" if asked.grain else "posting__scenario"
    where = [f"{{{{ Dimension('posting__scenario') }}}} in {named(asked.scenarios)}"]
    if asked.company:
        where.append(f"{{{{ Dimension('posting__company') }}}} = '{asked.company}'")
    return {
        "metric_names": list(asked.measures),
        "group_by_names": [by],
        "order_by_names": [by],
        "where_constraints": where,
        "time_constraint_start": asked.first,
        "time_constraint_end": asked.last,
    }


def named(scenarios: Sequence[str]) -> str:
    """Return scenarios as a list in SQL."""
    return f"({', '.join(repr(scenario) for scenario in scenarios)})"


BSL_SERVER = f"""
import sys, ibis
from boring_semantic_layer import to_semantic_table
from boring_semantic_layer.agents.backends.mcp import MCPSemanticModel
def total(line, sign=1, scenario=None):
    def measure(t):
        where = t.line == line
        return sign * t.amount.sum(where=where if scenario is None else where & (t.scenario == scenario))
    return measure
bases = {{key: total(line, -1 if key == "revenue" else 1) for key, line in {LINES}.items()}}
bases |= {{f"revenue_{{side}}": total("Revenue", -1, side) for side in {BOTH}}}
day = {{"expr": lambda t: t.date, "is_time_dimension": True, "smallest_time_grain": "TIME_GRAIN_DAY"}}
ledger = to_semantic_table(ibis.duckdb.connect(sys.argv[1], read_only=True).table("ledger"), name="ledger")
ledger = ledger.with_dimensions(scenario=lambda t: t.scenario, company=lambda t: t.company, date=day)
ledger = ledger.with_measures(cash=total("Cash"), **bases)
for key, formula in {FORMULAS}.items():
    def measure(t, formula=formula):
        return eval(formula, {{}}, {{name: getattr(t, name) for name in formula.split()[::2]}})
    ledger = ledger.with_measures(**{{key: measure}})
MCPSemanticModel({{"ledger": ledger}}, name="ledger").run(show_banner=False)
"""


def sidemantic_model() -> str:
    """Return the model of Sidemantic; JSON is YAML."""

    def total(key: str, line: str, sign: str = "", *filters: str) -> dict[str, Any]:
        wanted = [f"{{model}}.line = '{line}'", *filters]
        return {"name": key, "agg": "sum", "sql": f"{sign}amount", "filters": wanted}

    sides = [total(f"revenue_{side}", "Revenue", "-", f"{{model}}.scenario = '{side}'") for side in BOTH]
    bases = [total(key, line, "-" if key == "revenue" else "") for key, line in LINES.items()]
    cash = total("cash", "Cash") | {"non_additive_dimension": "date"}
    formulas = [{"name": key, "type": "derived", "sql": formula} for key, formula in FORMULAS.items()]
    dimensions = [
        {"name": "scenario", "type": "categorical", "sql": "scenario"},
        {"name": "line", "type": "categorical", "sql": "line"},
        {"name": "company", "type": "categorical", "sql": "company"},
        {"name": "date", "type": "time", "granularity": "day", "sql": "date"},
    ]
    metrics = [*bases, *sides, cash, *formulas]
    model = {"name": "ledger", "table": "ledger", "dimensions": dimensions, "metrics": metrics}
    return json.dumps({"models": [model]}, indent=1)


METRICFLOW_API = """
import json, sys
from datetime import datetime
from pathlib import Path
from dbt_metricflow.cli.cli_configuration import CLIConfiguration
from metricflow.engine.metricflow_engine import MetricFlowQueryRequest
cli, project = CLIConfiguration(), Path(sys.argv[1])
cli.setup(dbt_profiles_path=project, dbt_project_path=project)
for line in sys.stdin:
    asked = json.loads(line)
    asked |= {end: datetime.fromisoformat(asked[end]) for end in ("time_constraint_start", "time_constraint_end")}
    table = cli.mf.query(MetricFlowQueryRequest.create(**asked)).result_df
    rows = [dict(zip(table.column_names, row)) for row in table.rows]
    print(json.dumps({"rows": rows}, default=str), flush=True)
"""


def metricflow_model() -> Mapping[str, Any]:
    """Return the semantic models, metrics and time spine of MetricFlow."""

    def total(key: str, where: str, sign: str = "") -> dict[str, Any]:
        return {"name": key, "agg": "sum", "expr": f"case when {where} then {sign}amount end"}

    revenue = "line = 'Revenue'"
    measures = [total(key, f"line = '{line}'", "-" if key == "revenue" else "") for key, line in LINES.items()]
    measures += [total(f"revenue_{side}", f"{revenue} and scenario = '{side}'", "-") for side in BOTH]
    last = {"non_additive_dimension": {"name": "date", "window_choice": "max"}}
    measures.append(total("cash", "line = 'Cash'") | last)
    names = [measure["name"] for measure in measures]
    simple = [{"name": key, "label": key, "type": "simple", "type_params": {"measure": key}} for key in names]
    derived = [
        {
            "name": key,
            "label": key,
            "type": "derived",
            "type_params": {"expr": formula, "metrics": [{"name": part} for part in formula.split()[::2]]},
        }
        for key, formula in FORMULAS.items()
    ]
    ledger = {
        "name": "ledger",
        "model": "ref('ledger')",
        "defaults": {"agg_time_dimension": "date"},
        "entities": [{"name": "posting", "type": "primary", "expr": "date"}],
        "dimensions": [
            {"name": "date", "type": "time", "type_params": {"time_granularity": "day"}},
            {"name": "scenario", "type": "categorical"},
            {"name": "company", "type": "categorical"},
        ],
        "measures": measures,
    }
    day = [{"name": "day", "granularity": "day"}]
    spine = {"name": "days", "time_spine": {"standard_granularity_column": "day"}, "columns": day}
    return {"version": 2, "models": [spine], "semantic_models": [ledger], "metrics": simple + derived}


def serve_bsl(home: Path, database: Path) -> Sequence[str | Path]:
    """Return the command of boring-semantic-layer's MCP server."""
    script = home / "server.py"
    script.write_text(BSL_SERVER, encoding="utf-8")
    return [home / "bin" / "python", script, database]


def serve_sidemantic(home: Path, database: Path) -> Sequence[str | Path]:
    """Return the command of Sidemantic's MCP server."""
    models = home / "models"
    models.mkdir(exist_ok=True)
    (models / "ledger.yml").write_text(sidemantic_model(), encoding="utf-8")
    return [home / "bin" / "sidemantic", "server", "mcp", models, "--db", database]


def serve_metricflow(home: Path, database: Path) -> Sequence[str | Path]:
    """Return the command that reads requests and prints what MetricFlow's engine answers; JSON is YAML."""
    project = home / "project"
    (project / "models").mkdir(parents=True, exist_ok=True)
    target = {"type": "duckdb", "path": str(database), "config_options": {"access_mode": "READ_ONLY"}}
    files = {
        "dbt_project.yml": {"name": "ledger", "version": "1.0", "profile": "ledger", "model-paths": ["models"]},
        "profiles.yml": {"ledger": {"target": "file", "outputs": {"file": target}}},
        "models/ledger.yml": metricflow_model(),
    }
    for name, content in files.items():
        (project / name).write_text(json.dumps(content, indent=1), encoding="utf-8")
    for table in ("ledger", "days"):  # the relations stand for themselves; dbt runs neither
        (project / "models" / f"{table}.sql").write_text("select 1", encoding="utf-8")
    subprocess.run(
        [home / "bin" / "dbt", "parse", "--profiles-dir", "."], cwd=project, check=True, capture_output=True, text=True
    )
    script = home / "api.py"
    script.write_text(METRICFLOW_API, encoding="utf-8")
    return [home / "bin" / "python", script, project]


@dataclass(frozen=True, slots=True)
class Peer:
    """A product that is asked beside Tieout."""

    packages: Sequence[str]
    opened: Callable[["Peer", Path], AbstractContextManager[Ask]]  # of the DuckDB file

    @property
    def title(self) -> str:
        """Its name and version."""
        return self.packages[0].replace("[mcp]", "").replace("==", " ")

    @property
    def home(self) -> Path:
        """The environment that it is installed into."""
        return HOMES / self.title.replace(" ", "-")

    def install(self) -> None:
        """Install it once. Raises CalledProcessError."""
        if not (self.home / "installed").exists():
            print(f"installing {', '.join(self.packages)} …")
            venv.create(self.home, with_pip=True, clear=True)
            pip: list[str | Path] = [self.home / "bin" / "python", "-m", "pip", "install", "--quiet", *self.packages]
            subprocess.run(pip, check=True, capture_output=True, text=True)
            (self.home / "installed").touch()


@contextmanager
def over_mcp(command: Sequence[str | Path], log: Path, call: Callable[[PeerQuestion], Call]) -> Iterator[Ask]:
    """Start an MCP server on stdio and yield a function that asks it."""
    program, *arguments = map(str, command)
    started = StdioServerParameters(command=program, args=arguments)
    with (
        log.open("w") as errors,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(stdio_client(started, errlog=errors))) as client,
    ):

        def ask(question: PeerQuestion) -> str:
            answer = portal.call(client.call_tool, *call(question))
            return "".join(getattr(part, "text", "") for part in answer.content)

        yield ask


@contextmanager
def over_pipe(command: Sequence[str | Path], log: Path) -> Iterator[Ask]:
    """Start MetricFlow's engine and yield a function that sends it a line and reads one."""
    with (
        log.open("w") as errors,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True) as engine,
    ):
        assert engine.stdin is not None  # noqa: S101 - both are pipes
        assert engine.stdout is not None  # noqa: S101 - both are pipes
        sent, said = engine.stdin, engine.stdout

        def ask(question: PeerQuestion) -> str:
            print(json.dumps(metricflow_call(question)), file=sent, flush=True)
            return said.readline()

        yield ask
        sent.close()


PEERS = (
    Peer(
        ("boring-semantic-layer[mcp]==0.3.18", "ibis-framework[duckdb]==11.0.0", "pandas==2.3.3", "duckdb==2.0.0"),
        lambda peer, database: over_mcp(serve_bsl(peer.home, database), peer.home / "log", bsl_call),
    ),
    Peer(
        ("sidemantic[mcp]==0.13.0", "duckdb==2.0.0"),
        lambda peer, database: over_mcp(serve_sidemantic(peer.home, database), peer.home / "log", sidemantic_call),
    ),
    Peer(
        ("dbt-metricflow==0.13.0", "dbt-core==1.10.23", "dbt-duckdb==1.10.1", "duckdb==2.0.0"),
        lambda peer, database: over_pipe(serve_metricflow(peer.home, database), peer.home / "log"),
    ),
)
