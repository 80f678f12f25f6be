// The financial table in a host: its figures as the server has them, by pointer and by keyboard, and what leaves it.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Frame } from "playwright-core";
import { ask, shown } from "./harness";
import type { Json, Shown, View } from "./harness";

const GIVEN = {
  statement: "full_pnl",
  scenarios: [
    { scenario: "actual", alias: "Actuals" },
    { scenario: "budget", alias: "Budget" },
    { scenario: "var(actual,budget)", alias: "Variance" },
  ],
  period_start: "2026-01",
  period_end: "2026-09",
  scale: 3,
};
const PNL: Shown = { tool: "run_statement", given: GIVEN };
const MONTHS: Shown = { tool: "run_statement", given: { ...GIVEN, statement: "pnl", dimensions: ["period"], period_end: "2026-04" } };
const COMPANIES: Shown = {
  tool: "run_metric",
  given: { metrics: ["revenue"], scenarios: GIVEN.scenarios, period_start: "2026-09", dimensions: ["entity"] },
};

const CUSTOMERS: Shown = {
  tool: "run_metric",
  given: {
    metrics: ["sales_amount"],
    scenarios: [{ scenario: "actual", alias: "Actuals" }, { scenario: "actual@py", alias: "Prior Year" }],
    period_start: "2026-01",
    period_end: "2026-09",
    dimensions: ["customer"],
  },
};
const STRIPS = ["meta", "structured", "content"] as const;

interface Block {
  readonly rows: readonly { readonly label: string; readonly kind: string; readonly level: number; readonly cells: readonly (readonly [string, number | null, number])[] }[];
}

const blockOf = (view: View): Block => view.result._meta?.["tieout/table"] as Block;

const textsShown = async (frame: Frame): Promise<string[][]> => {
  await frame.waitForSelector("[role=treegrid]");
  return await frame.$$eval("tbody tr", (rows) =>
    rows.map((row) => [row.querySelector(".label")?.textContent ?? "", ...[...row.querySelectorAll("td")].map((cell) => cell.textContent)]),
  );
};

const textsSent = ({ rows }: Block): string[][] => rows.map(({ label, cells }) => [label, ...cells.map(([text]) => text)]);

const labelsSeen = (frame: Frame): Promise<string[]> =>
  frame.$$eval("tbody tr:not([hidden]) .label", (labels) => labels.map((label) => label.textContent));

const told = (frame: Frame, words: RegExp): Promise<unknown> => frame.locator(".told", { hasText: words }).waitFor();

const focused = (frame: Frame): Promise<string> => frame.evaluate(() => document.activeElement?.textContent ?? "");

test("figures are the server's texts", () =>
  shown(PNL, async (view) => {
    assert.deepEqual(await textsShown(view.frame), textsSent(blockOf(view)));
    view.assertQuiet();
  }));

test("a variance is favourable or adverse by its line, in colour and in words", () =>
  shown(PNL, async ({ frame }) => {
    await frame.waitForSelector("[role=treegrid]");
    const judged = await frame.$$eval("tbody td:last-child", (cells) =>
      cells.filter((cell) => cell.ariaLabel !== null).map((cell) => [cell.classList[0], cell.ariaLabel?.split(", ")[1]]),
    );
    assert.ok(judged.length > 10);
    assert.ok(judged.every(([colour, words]) => (colour === "good" ? words === "favourable" : words === "adverse")));
  }));

test("lines fold and unfold by keyboard alone, and the focus goes to the line above", () =>
  shown(PNL, async ({ frame, page }) => {
    await frame.waitForSelector("[role=treegrid]");
    const whole = await labelsSeen(frame);
    await frame.locator("tbody tr:nth-child(2) > th").focus();
    await page.keyboard.press("ArrowLeft");
    assert.equal(await frame.locator("tbody tr:nth-child(2)").getAttribute("aria-expanded"), "false");
    const folded = await labelsSeen(frame);
    assert.deepEqual([folded[1], folded[2], folded.length < whole.length], ["Revenue", "Cost of sales", true]);
    await page.keyboard.press("ArrowRight");
    assert.deepEqual(await labelsSeen(frame), whole);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    assert.match(await focused(frame), /^Sales of pumps/);
    await page.keyboard.press("ArrowLeft");
    assert.match(await focused(frame), /^Equipment/);
    await page.keyboard.press("Control+End");
    assert.match(await focused(frame), new RegExp(`^${whole.at(-1) ?? ""}`));
    await page.keyboard.press("End");
    await page.keyboard.press("Control+Home");
    await page.keyboard.press("ArrowUp");
    assert.equal(await focused(frame), "Variance");
  }));

test("Enter on a figure hands the model the calls behind it, which add up to it", () =>
  shown(PNL, async (view) => {
    await view.frame.waitForSelector("[role=treegrid]");
    const at = blockOf(view).rows.findIndex(({ label }) => label === "Revenue");
    await view.frame.locator(`tbody tr:nth-child(${at + 1}) td`).nth(2).focus();
    await view.page.keyboard.press("Enter");
    const said = JSON.stringify(await view.waitForAsked("ui/message"));
    assert.match(said, /Show the rows behind Revenue, Variance/);
    const handed = JSON.stringify(await view.waitForAsked("ui/update-model-context"));
    const written = /once for each of (\[.*\])/.exec((JSON.parse(handed) as { content: { text: string }[] }).content[0]?.text ?? "");
    const calls = JSON.parse(written?.[1] ?? "[]") as { counts_as: "+" | "-"; arguments: Json }[];
    const figures = await Promise.all(calls.map(async (one) => (one.counts_as === "+" ? 1 : -1) * Number((await ask("inspect_rows", one.arguments)).figure)));
    const cell = blockOf(view).rows[at]?.cells[2]?.[1] ?? 0;
    assert.deepEqual([calls.length, figures.reduce((sum, one) => sum + one, 0).toFixed(2)], [2, (cell * 1000).toFixed(2)]);
    await told(view.frame, /Asked for the rows/);
  }));

test("rows are shown under the table where the host lets a view call tools", () =>
  shown(COMPANIES, async (view) => {
    await view.frame.waitForSelector("[role=treegrid]");
    await view.frame.locator("tbody tr:last-child td").first().click();
    await view.frame.getByRole("button", { name: "Show rows" }).click();
    const panel = view.frame.getByRole("region", { name: /Rows behind Total, Revenue, Actuals/ });
    await panel.waitFor();
    const exact = blockOf(view).rows.at(-1)?.cells[0]?.[1] ?? 0;
    const written = exact.toLocaleString("en", { maximumFractionDigits: 10 });
    assert.ok((await panel.textContent())?.includes(`together ${written}`));
    assert.deepEqual(await view.violations(), []);
    await panel.getByRole("button").click();
    await panel.waitFor({ state: "detached" });
    view.assertQuiet();
  }));

test("sorting moves members and leaves the total last; a third press puts them back", () =>
  shown(COMPANIES, async ({ frame }) => {
    await frame.waitForSelector("[role=treegrid]");
    const before = await labelsSeen(frame);
    const sorter = frame.locator("thead tr:last-child button").first();
    await sorter.click();
    const values = (await frame.$$eval("tbody tr td:nth-child(2)", (cells) => cells.map((cell) => cell.textContent))).map((text) => Number(text.replaceAll(",", "")));
    assert.deepEqual(values.slice(0, -1), values.slice(0, -1).sort((a, b) => b - a));
    assert.equal((await labelsSeen(frame)).at(-1), "Total");
    assert.equal(await frame.locator("[aria-sort=descending]").count(), 1);
    await sorter.click();
    await sorter.click();
    assert.deepEqual(await labelsSeen(frame), before);
  }));

for (const stripped of STRIPS)
  test(`members and periods read the same where a host strips ${stripped}`, async () => {
    for (const call of [COMPANIES, MONTHS]) {
      const seen = async (asked: Shown): Promise<string[][]> => {
        const found: string[][] = [];
        await shown(asked, async (view) => {
          found.push(...(await textsShown(view.frame)), await view.frame.locator("thead th").allTextContents());
          view.assertQuiet();
        });
        return found;
      };
      assert.deepEqual(await seen({ ...call, stripped }), await seen(call));
    }
  });

test("rows are read behind a cell of what a model reads too", () =>
  shown({ ...COMPANIES, stripped: "meta" }, async (view) => {
    await view.frame.waitForSelector("[role=treegrid]");
    await view.frame.locator("tbody tr:first-child td").last().click();
    await view.frame.getByRole("button", { name: "Show rows" }).click();
    await view.frame.getByRole("region", { name: /Rows behind .*, Revenue, Variance/ }).waitFor();
    const behind = (await view.asked("tools/call")).map(({ params }) => (params as { arguments: { filters: Json } }).arguments.filters);
    assert.equal(behind.length, 2);
    for (const filters of behind) assert.deepEqual(Object.keys(filters).sort(), ["entity", "metric"]);
  }));

const rankings = async (view: View): Promise<Json[]> =>
  (await view.asked("tools/call")).map(({ params }) => (params as { arguments: Json }).arguments);

const figuresOf = async (frame: Frame, column: number): Promise<number[]> =>
  (await textsShown(frame)).map((texts) => Number((texts[column] ?? "").replaceAll(",", "").replace("–", "0")));

/** Of fewer customers than a block has rows, and more than an answer has. */
const REGIONS: Shown = { ...CUSTOMERS, given: { ...CUSTOMERS.given, filters: { customer_region: ["DACH", "France and Benelux"] } } };

for (const theme of ["light", "dark"] as const)
  test(`a heading ranks among all members where the answer was cut, by keys alone, ${theme}`, () =>
    shown({ ...REGIONS, stripped: "meta", context: { theme } }, async (view) => {
      const { frame, page } = view;
      await frame.waitForSelector("[role=treegrid]");
      const before = await labelsSeen(frame);
      const every = blockOf(view).rows.filter(({ kind }) => kind === "member").map(({ cells }) => Math.round(cells[1]?.[1] ?? 0));
      assert.ok(before.length < every.length);
      await frame.locator("thead tr:last-child button").nth(1).focus();
      await page.keyboard.press("Enter");
      await told(frame, /Ranked among all/);
      const members = Math.min(200, before.length - 1);
      assert.deepEqual(await rankings(view), [{ ...REGIONS.given, order_by: "sales_amount@Prior Year", asc: false, top: members }]);
      assert.deepEqual((await figuresOf(frame, 2)).slice(0, members), every.sort((a, b) => b - a).slice(0, members));
      assert.deepEqual([await focused(frame), await frame.locator("[aria-sort=descending]").count()], ["Prior Year", 1]);
      assert.deepEqual(await view.violations(), []);
      await page.keyboard.press("Enter");
      await frame.locator("[aria-sort=ascending]").waitFor();
      await told(frame, /Ranked among all/);
      assert.equal((await rankings(view))[1]?.asc, true);
      await page.keyboard.press("Enter");
      await told(frame, /In the report's order/);
      assert.deepEqual([await labelsSeen(frame), (await rankings(view)).length], [before, 2]);
      view.assertQuiet();
    }));

test("the largest few are ranked anew by another column, the rest and the total stay last", () =>
  shown({ ...CUSTOMERS, given: { ...CUSTOMERS.given, order_by: "sales_amount@Actuals", top: 3 } }, async (view) => {
    await view.frame.waitForSelector("[role=treegrid]");
    assert.equal((await labelsSeen(view.frame)).length, 5);
    await view.frame.locator("thead tr:last-child button").nth(1).click();
    await told(view.frame, /Ranked among all/);
    assert.deepEqual(await rankings(view), [{ ...CUSTOMERS.given, order_by: "sales_amount@Prior Year", top: 3, asc: false }]);
    const figures = await figuresOf(view.frame, 2);
    assert.deepEqual(figures.slice(0, 3), figures.slice(0, 3).sort((a, b) => b - a));
    const sum = figures.slice(0, 4).reduce((total, figure) => total + figure, 0);
    assert.ok(Math.abs((figures[4] ?? 0) - sum) <= 2, figures.join(" ")); // of rounded texts
  }));

test("where the host calls no tools, or nothing was left out, a heading sorts what is there", async () => {
  for (const call of [{ ...CUSTOMERS, stripped: "meta", able: {} } as const, COMPANIES])
    await shown(call, async (view) => {
      await view.frame.waitForSelector("[role=treegrid]");
      await view.frame.locator("thead tr:last-child button").first().click();
      await told(view.frame, /Sorted/);
      assert.deepEqual(await rankings(view), []);
    });
});

test("a ranking that the server refuses leaves what is there sorted, and says why", () =>
  shown({ ...CUSTOMERS, told: { ...CUSTOMERS.given, scale: 5 }, stripped: "meta" }, async (view) => {
    await view.frame.waitForSelector("[role=treegrid]");
    const before = (await labelsSeen(view.frame)).length;
    await view.frame.locator("thead tr:last-child button").nth(1).click();
    await told(view.frame, /^scale 5 is none of 0 \(units\)/);
    assert.equal(await view.frame.locator("[aria-sort=descending]").count(), 1);
    assert.equal((await labelsSeen(view.frame)).length, before);
  }));

test("finding a line unfolds what it stands under and says how many there are", () =>
  shown(PNL, async ({ frame }) => {
    await frame.locator("tbody tr:nth-child(4) td").first().focus();
    await frame.getByRole("button", { name: "1", exact: true }).click();
    assert.ok(!(await labelsSeen(frame)).includes("Sales of pumps"));
    assert.equal(await frame.locator("[role=treegrid] [tabindex='0']:visible").count(), 1); // Tab still comes to the grid
    await frame.getByRole("searchbox").fill("PÜMPS");
    await told(frame, /1 of 3: Sales of pumps/);
    assert.ok((await labelsSeen(frame)).includes("Sales of pumps"));
  }));

test("what was found stays marked however lines and columns are put", () =>
  shown({ ...MONTHS, given: { ...MONTHS.given, statement: "full_pnl" } }, async ({ frame }) => {
    await frame.getByRole("searchbox").fill("margin");
    await told(frame, /^1 of /);
    const marked = (): Promise<string[]> => frame.locator("tr.hit .label").allTextContents();
    const before = await marked();
    assert.ok(before.length > 0 && before.every((label) => /margin/i.test(label)));
    for (const name of ["Swap", "Trend", "Line", "1"]) {
      await frame.getByRole("button", { name, exact: true }).click();
      assert.deepEqual((await marked()).toSorted(), before.toSorted(), name);
    }
  }));

test("columns turn into scenarios inside each period, and a trend stands beside each line", () =>
  shown(MONTHS, async ({ frame }) => {
    await frame.getByRole("button", { name: "Swap" }).click();
    const groups = await frame.$$eval("thead .group .name", (names) => names.map((name) => name.textContent));
    assert.deepEqual(groups, ["Jan 2026", "Feb 2026", "Mar 2026", "Apr 2026", "Total"]);
    await frame.getByRole("button", { name: "Trend" }).click();
    assert.ok((await frame.locator(".trend path").count()) > 5);
  }));

test("what is copied and saved are the exact figures, lines that are folded only in the file", () =>
  shown(PNL, async (view) => {
    await view.frame.getByRole("button", { name: "1", exact: true }).click();
    await view.frame.getByRole("button", { name: "Copy" }).click();
    const revenue = blockOf(view).rows.find(({ label }) => label === "Revenue")?.cells.map(([, value]) => String(value)) ?? [];
    const copied = (await view.clipboard()).split("\n");
    assert.ok(copied.includes(["Revenue", "", ...revenue].join("\t")));
    assert.ok(!copied.some((line) => line.startsWith("Equipment")));
    await view.frame.getByRole("button", { name: "CSV" }).click();
    const saved = JSON.stringify(await view.waitForAsked("ui/download-file"));
    assert.ok(saved.includes(`Revenue,,${revenue.join(",")}`) && saved.includes("Equipment"));
    await told(view.frame, /Saved/);
  }));

test("the workbook opens by a signed link", () =>
  shown(PNL, async (view) => {
    await view.frame.getByRole("button", { name: "XLSX" }).click();
    const { url } = (await view.waitForAsked("ui/open-link")) as { url: string };
    const bytes = new Uint8Array(await (await fetch(url)).arrayBuffer());
    assert.deepEqual([...bytes.slice(0, 2)], [0x50, 0x4b]);
  }));

test("from right to left, keys go the way that the eye goes", () =>
  shown({ ...PNL, context: { locale: "ar-EG" } }, async ({ frame, page }) => {
    await frame.locator("tbody tr:nth-child(3) > th").focus();
    assert.equal(await frame.evaluate(() => document.documentElement.dir), "rtl");
    await page.keyboard.press("ArrowLeft");
    assert.equal(await frame.evaluate(() => document.activeElement?.tagName), "TD");
  }));

test("the head stays in sight in the room that the host gives", () =>
  shown({ ...PNL, context: { containerDimensions: { maxHeight: 500 } } }, async ({ frame }) => {
    await frame.waitForSelector("[role=treegrid]");
    assert.ok((await frame.locator(".scroller").evaluate(({ clientHeight }) => clientHeight)) <= 350);
    await frame.locator("tbody tr:last-child td").last().focus();
    await frame.getByRole("button", { name: "Actuals" }).click({ trial: true });
  }));
