// Short answers as hosts leave them that strip what was rendered: what they leave out is filled in, cell by cell.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readTable } from "../../financial-table/table";
import type { Table } from "../../financial-table/table";
import { calls } from "../../shared/drill";
import { periodName, rangeWords } from "../../shared/periods";
import type { Fields } from "../../shared/shape";

const SIDES = [{ scenario_id: "actual", filters: { scenario: "actual+forecast" } }, { scenario_id: "forecast", filters: { scenario: "actual+forecast" } }, { sign: "-", scenario_id: "budget" }];
const STATEMENT = {
  statement: "pnl",
  label: "Profit and loss",
  period: { start: "2026-01", end: "2026-09" },
  currency: "EUR",
  scale: 3,
  columns: [
    { alias: "A", scenario: "actual" },
    { alias: "PY", scenario: "actual@py", period: { start: "2025-01", end: "2025-09" } },
    { alias: "V", scenario: "var(actual,budget@py)" },
    { alias: "V%", scenario: "var_pct(actual+forecast,budget)", unit: "fraction", drill: { sides: SIDES } },
  ],
  rows: [
    { key: "h1", label: "Income", kind: "header" },
    { key: "revenue", label: "Revenue", values: [1250.4, "12345678901234567.89", null, 0.5] },
    { key: "cogs", label: "Costs", favourable: "down", level: 1, into_parent: -1, values: [-3, 0, 7, -0.025] },
    { key: "margin", unit: "fraction", operands: ["gross_profit", "revenue"], values: [0.4217, 0.4, -0.005, -0.0117] },
    { key: "per_head", label: "Per head", unit: "EUR each", favourable: "none", operands: ["pnl.revenue", { source_key: "hr", filters: { metric: "headcount", organisation: "(all)" } }], values: [12.345, 12, 0.5, 0.1] },
    { key: "stated", label: "Stated", drill: null, values: [5, 5, 5, 5] },
  ],
  drill: { tool: "inspect_rows", source_key: "gl", period_start: "2026-01", period_end: "2026-09", scenario_id: "{column.scenario}", filters: { metric: "pnl.{row.key}", entity: "DE01" } },
  freshness: { gl: { actual: "2026-10-31", budget: { through: "2026-12-31", open: "2026-10..2026-12" } } },
  data_ref: "ds_1",
};
const BY_QUARTER = {
  ...STATEMENT,
  columns: [
    { alias: "A", scenario: "actual", members: { quarter: "2026-Q1" }, labels: { quarter: "2026 Q1 (Jan–Mar 2026)" } },
    { scenario: "actual", is_total: true, drill: { period_start: "2026-Q1", period_end: "2026-Q3" } },
  ],
  rows: [{ key: "revenue", label: "Revenue", values: [1, 2] }],
  drill: { ...STATEMENT.drill, period_start: "{column.members.quarter}", period_end: "{column.members.quarter}" },
};
const METRICS = {
  metrics: [{ key: "revenue", label: "Revenue" }, { key: "margin", label: "Margin", unit: "fraction", operands: ["gross_profit", "revenue"] }],
  scenarios: [{ alias: "Actuals", scenario: "actual" }, { alias: "V", scenario: "var(actual,budget)" }],
  period: { start: "2026-09", end: "2026-09" },
  currency: "EUR",
  dimensions: ["customer"],
  rows: [
    { key: "C1", label: "Ahlert", values: [30, 1, 0.5, 0.01] },
    { key: "C2", values: [20, -1, 0.25, null] },
    { key: "(others)", kind: "others", holds: 12, label: "(others)", drill: { filters: { customer: { exclude: ["C1", "C2"] } } }, values: [5, 0, 0.1, 0] },
    { label: "Total", values: [55, 0, 0.4, 0] },
  ],
  drill: { tool: "inspect_rows", source_key: "gl", period_start: "2026-09", period_end: "2026-09", scenario_id: "{scenario.scenario}", filters: { metric: "{metric.key}", customer: "{row.key}" } },
  agent_truncated: { members: 12 },
};

function read(found: unknown, asked?: Fields): Table {
  const table = readTable(found, asked);
  assert.ok(table);
  return table;
}

const texts = ({ lines }: Table): readonly (readonly string[])[] => lines.map(({ label, cells }) => [label, ...cells.map(({ text }) => text)]);

const behind = ({ lines, across: columns }: Table, row: number, column: number): unknown =>
  calls(lines[row]?.drill, columns[column]?.drill).map(({ sign, args }) => [sign, args]);

test("a statement's cells have their texts: units, scales and signs by default where nothing is said", () => {
  const table = read(STATEMENT);
  assert.equal(table.caption, "Profit and loss, Jan 2026 – Sep 2026, in EUR thousands");
  assert.deepEqual(texts(table), [
    ["Income", "", "", "", ""],
    ["Revenue", "1,250", "12,345,678,901,234,568", "", "+50.0%"],
    ["Costs", "(3)", "–", "+7", "−2.5%"],
    ["margin", "42.2%", "40.0%", "−0.5 pp", "−1.2%"],
    ["Per head", "12.35", "12.00", "+0.50", "+10.0%"],
    ["Stated", "5", "5", "+5", "+500.0%"],
  ]);
  assert.deepEqual(table.lines.map(({ cells }) => cells.map(({ good }) => good)), [
    [0, 0, 0, 0],
    [0, 0, 0, 1],
    [0, 0, -1, 1],
    [0, 0, -1, -1],
    [0, 0, 0, 0],
    [0, 0, 1, 1],
  ]);
  assert.deepEqual(table.lines.map(({ level, unit, kind }) => [level, unit, kind]), [
    [0, "", "header"],
    [0, "", "node"],
    [1, "", "node"],
    [0, "", "node"],
    [0, "EUR each", "node"],
    [0, "", "node"],
  ]);
  assert.deepEqual(table.across.map(({ titles: heading, window, comparison }) => [heading, window, comparison]), [
    [["A"], "", "figure"],
    [["PY"], "Jan 2025 – Sep 2025", "figure"],
    [["V"], "", "variance"],
    [["V%"], "", "share"],
  ]);
  assert.deepEqual(table.freshness.map(({ scenario, through, open }) => [scenario, through, open]), [
    ["actual", "2026-10-31", ""],
    ["budget", "2026-12-31", "2026-10..2026-12"],
  ]);
});

test("a statement's cells have their calls: shifts, sides, operands, and none where no rows can be shown", () => {
  const table = read(STATEMENT);
  const whole = { source_key: "gl", period_start: "2026-01", period_end: "2026-09" };
  const filters = { metric: "pnl.revenue", entity: "DE01" };
  assert.deepEqual(behind(table, 1, 0), [["+", { ...whole, scenario_id: "actual", filters }]]);
  assert.deepEqual(behind(table, 1, 1), [["+", { ...whole, scenario_id: "actual@py", filters }]]);
  assert.deepEqual(behind(table, 1, 2), [
    ["+", { ...whole, scenario_id: "actual", filters }],
    ["-", { ...whole, scenario_id: "budget@py", filters }],
  ]);
  assert.deepEqual(behind(table, 1, 3), [
    ["+", { ...whole, scenario_id: "actual", filters: { ...filters, scenario: "actual+forecast" } }],
    ["+", { ...whole, scenario_id: "forecast", filters: { ...filters, scenario: "actual+forecast" } }],
    ["-", { ...whole, scenario_id: "budget", filters }],
  ]);
  assert.deepEqual(behind(table, 3, 0), [
    ["+", { ...whole, scenario_id: "actual", filters: { entity: "DE01", metric: "gross_profit" } }],
    ["+", { ...whole, scenario_id: "actual", filters: { entity: "DE01", metric: "revenue" } }],
  ]);
  assert.deepEqual(behind(table, 4, 0), [
    ["+", { ...whole, scenario_id: "actual", filters }],
    ["+", { ...whole, source_key: "hr", scenario_id: "actual", filters: { metric: "headcount", entity: "DE01", organisation: "(all)" } }],
  ]);
  assert.deepEqual(behind(table, 5, 0), []);
  assert.deepEqual(behind(table, 0, 0), []);
});

test("a breakdown by periods has their labels, and its total the whole range", () => {
  const table = read(BY_QUARTER);
  assert.deepEqual(table.across.map(({ titles: heading, isTotal, isPeriod }) => [heading, isTotal, isPeriod]), [
    [["A", "2026 Q1 (Jan–Mar 2026)"], false, true],
    [["actual", "Total"], true, false],
  ]);
  const filters = { metric: "pnl.revenue", entity: "DE01" };
  const whole = { source_key: "gl", scenario_id: "actual", filters };
  assert.deepEqual(behind(table, 0, 0), [["+", { ...whole, period_start: "2026-Q1", period_end: "2026-Q1" }]]);
  assert.deepEqual(behind(table, 0, 1), [["+", { ...whole, period_start: "2026-Q1", period_end: "2026-Q3" }]]);
});

test("the total of balances over periods keeps the label that says which close it is", () => {
  const label = "Total (balances: close of Sep 2026)";
  const [quarter, total] = BY_QUARTER.columns;
  const across = read({ ...BY_QUARTER, columns: [quarter, { ...total, label }] }).across;
  assert.deepEqual(across.map(({ titles }) => titles), [["A", "2026 Q1 (Jan–Mar 2026)"], ["actual", label]]);
  const rows = [{ key: "2026-09", label: "Sep 2026", values: [7] }, { label, values: [7] }];
  const down = read({ ...METRICS, metrics: METRICS.metrics.slice(0, 1), scenarios: METRICS.scenarios.slice(0, 1), dimensions: ["period"], rows });
  assert.deepEqual(down.lines.map((line) => [line.label, line.kind]), [["Sep 2026", "member"], [label, "total"]]);
});

test("a line of another currency says it as its unit, in the scale of the answer", () => {
  const money = [
    { key: "in_euro", label: "In euro", values: [1, 1, 0, 0] },
    { key: "in_dollars", label: "In dollars", unit: "CAD thousands", values: [2, 2, 0, 0] },
    { key: "sum", label: "Sum", unit: "mixed", values: [3, 3, 0, 0] },
  ];
  const { caption, lines } = read({ ...STATEMENT, rows: money });
  assert.equal(caption, "Profit and loss, Jan 2026 – Sep 2026, in EUR thousands");
  assert.deepEqual(lines.map(({ label, unit }) => [label, unit]), [["In euro", ""], ["In dollars", "CAD thousands"], ["Sum", "mixed"]]);
  const plain = read({ ...STATEMENT, scale: 0, rows: money.slice(0, 1) });
  assert.equal(plain.caption, "Profit and loss, Jan 2026 – Sep 2026, in EUR");
  const none = read({ ...STATEMENT, currency: undefined, rows: money.slice(2) });
  assert.equal(none.caption, "Profit and loss, Jan 2026 – Sep 2026, in mixed"); // as the server says it
});

test("metrics stand across with each scenario, members down, the rest and the total last", () => {
  const table = read(METRICS);
  assert.equal(table.caption, "Revenue, Margin, Sep 2026, in EUR");
  assert.deepEqual(table.across.map(({ titles: heading, unit, rank }) => [heading, unit, rank]), [
    [["Revenue", "Actuals"], "", "revenue@Actuals"],
    [["Revenue", "V"], "", "revenue@V"],
    [["Margin", "Actuals"], "", "margin@Actuals"],
    [["Margin", "V"], "", "margin@V"],
  ]);
  assert.deepEqual(texts(table), [
    ["Ahlert", "30", "+1", "50.0%", "+1.0 pp"],
    ["C2", "20", "−1", "25.0%", ""],
    ["(others)", "5", "–", "10.0%", "–"],
    ["Total", "55", "–", "40.0%", "–"],
  ]);
  assert.deepEqual(table.lines.map(({ kind, style }) => [kind, style]), [["member", "member"], ["member", "member"], ["others", "member"], ["total", "total"]]);
  assert.deepEqual([table.rowsAre, table.leftOut], ["Customer", { members: 12 }]);
  const whole = { source_key: "gl", period_start: "2026-09", period_end: "2026-09", scenario_id: "actual" };
  assert.deepEqual(behind(table, 0, 0), [["+", { ...whole, filters: { metric: "revenue", customer: "C1" } }]]);
  assert.deepEqual(behind(table, 2, 0), [["+", { ...whole, filters: { metric: "revenue", customer: { exclude: ["C1", "C2"] } } }]]);
  assert.deepEqual(behind(table, 3, 1), [
    ["+", { ...whole, filters: { metric: "revenue" } }],
    ["-", { ...whole, scenario_id: "budget", filters: { metric: "revenue" } }],
  ]);
  assert.deepEqual(behind(table, 3, 2), [
    ["+", { ...whole, filters: { metric: "gross_profit" } }],
    ["+", { ...whole, filters: { metric: "revenue" } }],
  ]);
});

test("members of two dimensions have their labels side by side, months their names", () => {
  const rows = [{ members: { line: "PU", month: "2026-08" }, labels: { line: "Pumps" }, values: [1, 2, 3, 4] }, { label: "Total", values: [1, 2, 3, 4] }];
  const drill = { ...METRICS.drill, period_start: "{row.members.month}", period_end: "{row.members.month}", filters: { metric: "{metric.key}", line: "{row.members.line}" } };
  const table = read({ ...METRICS, dimensions: ["line", "month"], rows, drill });
  assert.deepEqual([table.rowsAre, ...table.lines.map(({ label }) => label)], ["Line · Month", "Pumps · Aug 2026", "Total"]);
  assert.deepEqual(behind(table, 0, 0), [
    ["+", { source_key: "gl", scenario_id: "actual", period_start: "2026-08", period_end: "2026-08", filters: { metric: "revenue", line: "PU" } }],
  ]);
});

test("metrics without a dimension are one row", () => {
  const table = read({ ...METRICS, dimensions: undefined, rows: [{ values: [1, 2, 3, 4] }] });
  assert.deepEqual(table.lines.map(({ label, kind }) => [label, kind]), [["Total", "total"]]);
  assert.equal(table.rowsAre, "Line");
});

test("filters that an answer leaves to the call come from the call, and without it there are no rows to show", () => {
  const answer = { ...STATEMENT, drill: { ...STATEMENT.drill, add_filters_of_this_call: ["customer"] } };
  const asked = { filters: { customer: ["C1", "C2"], entity: "FR01" } };
  const [[, args] = []] = behind(read(answer, asked), 1, 0) as [string, Fields][];
  assert.deepEqual(args?.filters, { metric: "pnl.revenue", entity: "DE01", customer: ["C1", "C2"] });
  assert.deepEqual(behind(read(answer), 1, 0), []);
});

test("periods are called as the server calls them, those of a calendar of its own by their codes", () => {
  assert.deepEqual(["2026-09", "2026-09-03", "2026-Q3", "2026", "2026-W05"].map((code) => periodName(code)), ["Sep 2026", "3 Sep 2026", "2026 Q3", "2026", "2026-W05"]);
  assert.equal(periodName("2026-Q3", true), "2026 Q3 (Jul–Sep 2026)");
  assert.equal(rangeWords({ start: "2026-09", end: "2026-09", first_day: "2026-08-24", last_day: "2026-09-20" }), "2026-09");
  assert.equal(rangeWords(undefined), "");
});

const EXPLAINED = {
  metric: "margin",
  label: "Margin",
  unit: "fraction",
  period: { start: "2026-09", end: "2026-09" },
  currency: "EUR",
  scenarios: [{ alias: "Actuals", scenario: "actual" }, { scenario: "actual@py", period: { start: "2025-09", end: "2025-09" } }],
  a: 0.4,
  b: 0.5,
  variance: -0.1,
  lists: [
    {
      by: "cost_centre",
      drill: { source_key: "gl", operands: ["earned", "revenue"], filters: { cost_centre: "{row.key}" } },
      rows: [
        { key: "N", label: "North", a: 0.3, b: 0.5, difference: -0.2, contribution: -0.11, rate: -0.1, mix: -0.01 },
        { key: "(others)", label: "Others", holds: 3, a: null, b: 0.5, contribution: 0.01, drill: { filters: { cost_centre: { exclude: ["N"] } } } },
      ],
    },
    { by: "lines", a: 0.4, b: 0.4, variance: 0, rows: [{ key: "rent", unit: "EUR", a: 1200, b: 900, contribution: 0, drill: null }] },
  ],
  drill: { tool: "inspect_rows", period_start: "2026-09", period_end: "2026-09", sides: [{ scenario_id: "actual" }, { sign: "-", scenario_id: "actual", filters: { scenario: "actual@py" } }] },
};

test("an explained variance has a row for each contribution and the calls behind its sides", () => {
  const table = read(EXPLAINED);
  assert.equal(table.caption, "Margin, Sep 2026, in EUR"); // the unit of money
  assert.deepEqual(table.across.map(({ titles, window }) => [...titles, window]), [["Actuals", ""], ["actual@py", "Sep 2025"], ["Contribution", ""]]);
  assert.deepEqual(texts(table), [
    ["Cost centre", "", "", ""],
    ["North", "30.0%", "50.0%", "−11.0 pp"],
    ["Others", "", "50.0%", "+1.0 pp"],
    ["Variance", "40.0%", "50.0%", "−10.0 pp"],
    ["Lines", "", "", ""],
    ["rent", "1,200", "900", "–"],
    ["Variance", "40.0%", "40.0%", "–"],
  ]);
  assert.deepEqual(table.lines.map(({ cells }) => cells[2]?.good), [0, -1, 1, -1, 0, 0, 0]);
  const call = (scenario: string | undefined, metric: string): Fields => ({
    source_key: "gl", period_start: "2026-09", period_end: "2026-09", scenario_id: "actual",
    filters: { cost_centre: "N", metric, ...(scenario && { scenario }) },
  });
  assert.deepEqual(behind(table, 1, 1), [["+", call("actual@py", "earned")], ["+", call("actual@py", "revenue")]]);
  assert.deepEqual(behind(table, 1, 2), [["+", call(undefined, "earned")], ["+", call(undefined, "revenue")], ["-", call("actual@py", "earned")], ["-", call("actual@py", "revenue")]]);
  assert.deepEqual(behind(table, 5, 0), []);
  assert.deepEqual(behind(table, 3, 0), []);
});
