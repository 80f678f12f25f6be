// From a cell to its rows: what a view hands the model adds up, by other calls of the server, to the cell.

import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { test } from "node:test";
import { ABLE, ask, shown, type Json, type Shown, type View } from "./harness";

interface Line {
  readonly key: string;
  readonly kind: string;
  readonly drill?: { readonly operands?: unknown };
  readonly cells: readonly (readonly [text: string, value: number | null, good: number])[];
}

interface Report {
  readonly columns: readonly { readonly key: string; readonly scenario: string }[];
  readonly rows: readonly Line[];
}

interface Place {
  readonly row: number;
  readonly column: number;
}

interface Call {
  readonly counts_as: "+" | "-";
  readonly arguments: Json;
}

const CELLS = 3; // of each report
const BETWEEN = [
  { scenario: "actual", alias: "Actuals" },
  { scenario: "budget", alias: "Budget" },
  { scenario: "var(actual,budget)", alias: "Variance" },
];
const REPORTS: Readonly<Record<string, Shown>> = {
  "a statement with a variance and the prior year": { tool: "run_statement", given: {} },
  "a statement by quarter": {
    tool: "run_statement",
    given: { statement: "pnl", scenarios: BETWEEN, dimensions: ["quarter"], period_start: "2025-01", period_end: "2025-12" },
  },
  "metrics by company, total included": {
    tool: "run_metric",
    given: { metrics: ["revenue", "personnel"], scenarios: BETWEEN, dimensions: ["entity"], period_start: "2026-09" },
  },
};

const reportOf = (view: View): Report => view.result._meta?.["tieout/table"] as Report;

/** The cells that one sum of rows makes: no ratio, no share. */
function places({ rows, columns }: Report): readonly Place[] {
  return rows.flatMap((line, row) =>
    line.kind === "header" || line.drill?.operands
      ? []
      : columns.flatMap(({ scenario }, column) =>
          scenario.startsWith("var_pct(") || (line.cells[column]?.[1] ?? null) === null ? [] : [{ row, column }],
        ),
  );
}

const some = <Value>(values: readonly Value[], count: number): readonly Value[] =>
  Array.from({ length: count }, () => values[randomInt(values.length)]).filter((value) => value !== undefined);

async function callsBehind(view: View, { row, column }: Place): Promise<readonly Call[]> {
  const before = (await view.asked("ui/message")).length;
  await view.frame.locator("tbody tr").nth(row).locator("td").nth(column).click();
  await view.page.keyboard.press("Enter");
  await view.page.waitForFunction((count) => window.host.asked.filter(({ method }) => method === "ui/message").length > count, before);
  const { content } = (await view.waitForAsked("ui/update-model-context")) as { content: { text: string }[] };
  const [, written] = /once for each of (\[.*\])$/s.exec(content[0]?.text ?? "") ?? [];
  assert.ok(written, JSON.stringify(content));
  return JSON.parse(written) as Call[];
}

const cents = (figure: unknown): number => Math.round(Number(figure ?? 0) * 100);

for (const [name, report] of Object.entries(REPORTS))
  test(`the rows behind a cell of ${name} add up to it`, async () => {
    await shown({ ...report, able: ABLE }, async (view) => {
      await view.settled();
      const found = reportOf(view);
      for (const place of some(places(found), CELLS)) {
        const line = found.rows[place.row];
        const about = `${line?.key ?? ""} ${found.columns[place.column]?.scenario ?? ""}`;
        const calls = await callsBehind(view, place);
        const answers = await Promise.all(calls.map(({ arguments: given }) => ask("inspect_rows", given)));
        const parts = answers.map(({ figure }, at) => (calls[at]?.counts_as === "-" ? -1 : 1) * cents(figure));
        const figure = parts.reduce((total, part) => total + part, 0);
        assert.equal(figure, cents(line?.cells[place.column]?.[1]), `${about}: ${JSON.stringify(calls)}`);
      }
    });
  });
