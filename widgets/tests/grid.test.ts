// What people do with the rows behind a figure: read, sort, find, choose columns, copy, export, add up.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Frame } from "playwright-core";
import { ABLE, ask, HOST, shown, VIEWS, type Json, type Shown, type View } from "./harness";

interface Answer {
  readonly columns: readonly { readonly name: string; readonly label?: string; readonly type: string; readonly unit?: string }[];
  readonly rows: readonly (readonly (string | number | null)[])[];
  readonly labels: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly row_count: number;
  readonly contribution_total: number;
  readonly data_ref: string;
}

const CALL = VIEWS["inspection-grid"];
const MOST_ROWS = 50;
const FIGURES = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

const answerOf = (view: View): Answer => view.result.structuredContent as Answer;
const given = (more: Json): Shown => ({ ...CALL, given: { ...CALL.given, ...more } });

const amount = (value: number): string =>
  value === 0 ? "–" : value < 0 ? `(${FIGURES.format(-value)})` : FIGURES.format(value);

const column = (frame: Frame, at: number): Promise<string[]> =>
  frame.locator(`tbody tr > td:nth-child(${at + 1})`).allTextContents();

const inCents = (values: readonly (string | number | null)[]): number =>
  values.reduce<number>((total, value) => total + Math.round(Number(value) * 100), 0);

const said = async (frame: Frame, words: RegExp): Promise<void> => { await frame.getByText(words).first().waitFor(); };

async function working(call: Shown, work: (view: View, answer: Answer) => Promise<void>): Promise<void> {
  await shown(call, async (view) => {
    await view.settled();
    await work(view, answerOf(view));
    view.assertQuiet();
  });
}

test("the first 50 rows are the answer's: ids as text with their labels, days, amounts with all their cents", async () => {
  await working(CALL, async ({ frame }, { columns, rows, labels, row_count }) => {
    assert.ok(row_count > MOST_ROWS);
    for (const [at, { name, type }] of columns.entries()) {
      const texts = rows.slice(0, MOST_ROWS).map((row) => {
        const value = row[at];
        if (typeof value === "number" && type === "number") return amount(value);
        const label = labels[name]?.[String(value)];
        return value === null ? "" : label ? `${String(value)} ${label}` : String(value);
      });
      assert.deepEqual(await column(frame, at), texts);
    }
    await said(frame, new RegExp(`Preview 50 of ${row_count}`));
  });
});

test("contributions shown and not shown add up to the figure, cent by cent", async () => {
  await working(CALL, async ({ frame }, { columns, rows, contribution_total }) => {
    const at = columns.findIndex(({ name }) => name === "contribution");
    const [preview, others] = [rows.slice(0, MOST_ROWS), rows.slice(MOST_ROWS)].map((some) => inCents(some.map((row) => row[at] ?? 0)));
    assert.deepEqual(await frame.locator("tfoot td").allTextContents(), [
      amount((preview ?? 0) / 100),
      amount((others ?? 0) / 100),
      amount(contribution_total),
    ]);
    const asked = { metrics: ["revenue"], scenarios: [{ scenario: "actual", alias: "A" }], period_start: "2026-09" };
    const reported = (await ask("run_metric_data", asked)) as { rows: { values: number[] }[] };
    assert.equal(reported.rows.at(-1)?.values[0], contribution_total);
  });
});

test("more rows than the limit, and fewer given to the model than were found, are told apart", async () => {
  await working(given({ limit: 60, period_start: "2026-01", period_end: "2026-09" }), async ({ frame }) => {
    await said(frame, /More rows exist than the limit of 60\. The total counts them all\./);
    assert.equal(await frame.getByText(/The model was given/).count(), 0);
  });
  await working(given({ period_start: "2026-01", period_end: "2026-09" }), async ({ frame }, { rows, row_count }) => {
    assert.ok(rows.length < row_count);
    await said(frame, new RegExp(`The model was given the first ${rows.length} of these ${row_count.toLocaleString("en")} rows\\.`));
    assert.equal(await frame.getByText(/More rows exist/).count(), 0);
  });
});

test("a click on a heading sorts by it, then the other way, then not at all", async () => {
  await working(CALL, async ({ frame }, { columns, rows }) => {
    const at = columns.findIndex(({ name }) => name === "amount");
    const before = await column(frame, at);
    const values = rows.slice(0, MOST_ROWS).map((row) => Number(row[at]));
    const heading = frame.getByRole("button", { name: "Amount" });
    await heading.click();
    assert.deepEqual(await column(frame, at), values.toSorted((a, b) => b - a).map(amount));
    assert.equal(await frame.locator("[aria-sort=descending]").count(), 1);
    await heading.click();
    assert.deepEqual(await column(frame, at), values.toSorted((a, b) => a - b).map(amount));
    await heading.click();
    assert.deepEqual(await column(frame, at), before);
  });
});

test("what is looked for is marked and counted, labels too, whatever their case", async () => {
  await working(CALL, async ({ frame, page }, { rows, columns, labels }) => {
    const at = columns.findIndex(({ name }) => name === "account");
    const wanted = labels.account?.[String(rows[0]?.[at])] ?? "";
    const hits = rows.slice(0, MOST_ROWS).filter((row) => labels.account?.[String(row[at])] === wanted);
    await frame.getByRole("searchbox").fill(wanted.toUpperCase());
    await said(frame, new RegExp(`^1 of ${hits.length}$`));
    assert.equal(await frame.locator("tr.hit").count(), hits.length);
    const marked = (): Promise<string[]> => frame.locator("tr.hit > td.member, tr.hit > td.text").allTextContents();
    const before = await marked();
    await frame.getByRole("button", { name: "Amount" }).click();
    assert.deepEqual((await marked()).toSorted(), before.toSorted());
    await frame.getByRole("button", { name: "Columns" }).click();
    await frame.getByRole("checkbox", { name: "Day" }).uncheck();
    assert.equal(await frame.locator("tr.hit").count(), hits.length);
    await frame.getByRole("searchbox").fill(wanted);
    await page.keyboard.press("Enter");
    await said(frame, new RegExp(`^2 of ${hits.length}$`));
    await frame.getByRole("searchbox").fill("nothing like it");
    await said(frame, /^No row shown here holds that\.$/);
  });
});

test("columns are chosen, one at least, and sums go with the contributions", async () => {
  await working(CALL, async ({ frame }, { columns }) => {
    await frame.getByRole("button", { name: "Columns" }).click();
    for (const { name, label = name } of columns.slice(0, -1)) await frame.getByRole("checkbox", { name: label, exact: true }).uncheck();
    assert.deepEqual(await frame.locator("thead button").allTextContents(), ["Contribution"]);
    assert.equal(await frame.getByRole("checkbox", { name: "Contribution" }).isDisabled(), true);
    await frame.getByRole("checkbox", { name: "Day" }).check();
    await frame.getByRole("checkbox", { name: "Contribution" }).uncheck();
    assert.equal(await frame.locator("tfoot tr").count(), 0);
  });
});

test("a copy is the rows shown with ids and labels as text and every amount exactly", async () => {
  await working(CALL, async (view, { columns, rows, labels }) => {
    const fields = (row: readonly (string | number | null)[]): string[] =>
      columns.flatMap(({ name }, at) => {
        const value = String(row[at] ?? "");
        return labels[name] ? [value, labels[name][value] ?? ""] : [value];
      });
    const headings = columns.flatMap(({ name, label = name, unit }) => {
      const heading = unit ? `${label} (${unit})` : label;
      return labels[name] ? [heading, `${label}, label`] : [heading];
    });
    await view.frame.getByRole("button", { name: "Copy" }).click();
    await said(view.frame, /Copied the rows shown/);
    const lines = [headings, ...rows.slice(0, MOST_ROWS).map(fields)].map((line) => line.join("\t"));
    assert.equal(await view.clipboard(), lines.join("\n"));
  });
});

test("an export opens the workbook that the server makes of all rows, by a link or as a download", async () => {
  await working(CALL, async (view, { data_ref }) => {
    await view.frame.getByRole("button", { name: "XLSX" }).click();
    const { url } = (await view.waitForAsked("ui/open-link")) as { url: string };
    assert.deepEqual(await view.asked("tools/call"), [
      { method: "tools/call", params: { name: "export_dataset", arguments: { data_ref, format: "xlsx" } } },
    ]);
    const file = await fetch(url);
    assert.equal(file.status, 200);
    assert.equal(Buffer.from(await file.arrayBuffer()).subarray(0, 2).toString(), "PK");
    await said(view.frame, /The workbook is open\./);
  });
  const able = { ...ABLE };
  delete able.openLinks;
  await working({ ...CALL, able }, async (view) => {
    await view.frame.getByRole("button", { name: "XLSX" }).click();
    const { contents } = (await view.waitForAsked("ui/download-file")) as { contents: { type: string; uri: string }[] };
    assert.equal(contents[0]?.type, "resource_link");
    assert.equal((await fetch(contents[0].uri)).status, 200);
  });
});

test("a cell in focus is told in full", async () => {
  await working(CALL, async ({ frame }, { rows, columns }) => {
    const at = columns.findIndex(({ name }) => name === "amount");
    await frame.locator(`tbody tr:first-child > td:nth-child(${at + 1})`).click();
    const [value] = rows.map((row) => Number(row[at]));
    assert.equal(await frame.locator(".about b").textContent(), `${(value ?? 0) < 0 ? "−" : ""}${Math.abs(value ?? 0).toLocaleString("en", { maximumFractionDigits: 2 })}`);
  });
});

test("rows of no figure have no sums, and none at all are counted as none", async () => {
  const filters = {};
  await working(given({ filters, limit: 5 }), async ({ frame }) => {
    assert.equal(await frame.locator("tfoot tr").count(), 0);
    assert.equal(await frame.getByRole("heading", { name: "General ledger" }).count(), 1);
  });
  await shown(given({ filters: { metric: "revenue", entity: "nowhere" } }), async ({ frame }) => {
    await said(frame, /0 rows/);
  });
});

test("the host page was asked for nothing but itself", async () => {
  const hits = (await (await fetch(`${HOST}/hits`)).json()) as string[];
  assert.deepEqual(hits.filter((hit) => !hit.includes("/lax/")), []);
});
