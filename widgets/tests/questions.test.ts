// Columns that are computed, conditions and material lines: on either screen, in either theme, by keys alone.

import assert from "node:assert/strict";
import { test } from "node:test";
import { shown, type Shown } from "./harness";

const ACTUALS = { scenario: "actual", alias: "Actuals" };
const COLUMNS = [ACTUALS, { scenario: "budget", alias: "Budget" }, { scenario: "var(actual,budget)", alias: "Variance" }];
const VIEWED = [
  ACTUALS,
  { scenario: "share(actual)", alias: "Share" },
  { scenario: "rank(actual)", alias: "Rank" },
  { scenario: "running(share(actual))", alias: "Running" },
];
const MONTH = { period_start: "2026-09" };
const SALES = { ...MONTH, metrics: ["sales_amount"] };
const YEARS = [ACTUALS, { scenario: "actual@py", alias: "Prior Year" }, { scenario: "var(actual,actual@py)", alias: "Variance" }];

const CALLS = {
  views: { tool: "run_metric", given: { ...SALES, scenarios: VIEWED, dimensions: ["product"], order_by: "Actuals", top: 6 } },
  conditions: {
    tool: "run_metric",
    given: { ...SALES, scenarios: YEARS, dimensions: ["customer"], having: [{ column: "Variance", max: 0 }], order_by: "Variance", asc: true, top: 5 },
  },
  "material lines": {
    tool: "run_statement",
    given: {
      ...MONTH,
      statement: "full_pnl",
      scenarios: COLUMNS,
      materiality: { of: "Variance", absolute: 200000, percent: 5, by: "function", top: 2 },
    },
  },
} satisfies Record<string, Shown>;

interface Answered {
  readonly rows: readonly { readonly key?: string; readonly kind?: string; readonly label?: string; readonly level?: number; readonly holds?: number; readonly unmet?: number }[];
  readonly immaterial?: readonly { readonly below?: string; readonly lines: number; readonly unit?: string; readonly sum?: number }[];
}

const answered = (result: { structuredContent?: unknown }): Answered => result.structuredContent as Answered;
const cells = ["[role=rowheader]", "[role=gridcell]"].map((cell) => `tbody tr:not([hidden]) ${cell}`).join(", ");

for (const [name, call] of Object.entries(CALLS)) {
  for (const theme of ["light", "dark"] as const)
    for (const width of [1440, 390])
      test(`${name} are accessible and fit, ${theme}, ${width} px wide`, async () => {
        await shown({ ...call, width, context: { theme } }, async (view) => {
          await view.settled();
          assert.deepEqual(await view.violations(), []);
          const overflow = await view.frame.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(overflow <= 0, `${overflow} px too wide`);
          const cut = await view.frame.locator("tbody th").evaluateAll((heads) =>
            heads.filter((head) => head.scrollWidth > head.clientWidth).map((head) => head.textContent));
          assert.deepEqual(cut, []);
          view.assertQuiet();
        });
      });

  test(`${name} are the same where a host strips what was rendered`, async () => {
    const texts: string[][] = [];
    for (const stripped of ["nothing", "meta"] as const)
      await shown({ ...call, stripped }, async (view) => {
        await view.settled();
        texts.push(await view.frame.locator(cells).allTextContents());
      });
    assert.deepEqual(texts[1], texts[0]);
  });
}

test("a share is a percent without a sign, a rank a whole number, and the last running share is the whole", async () => {
  await shown(CALLS.views, async (view) => {
    await view.settled();
    const rows = await view.frame.locator("tbody tr").evaluateAll((every) =>
      every.map((row) => [...row.querySelectorAll("[role=gridcell]")].map((cell) => cell.textContent)));
    assert.match(rows[0]?.[1] ?? "", /^\d+\.\d%$/);
    assert.deepEqual(rows.slice(0, 6).map((row) => row[2]), ["1", "2", "3", "4", "5", "6"]);
    assert.equal(rows.at(-2)?.[3], "100.0%");
    assert.deepEqual(await view.frame.locator("thead small").allTextContents(), []);
  });
});

test("the others say how many they hold, and how many of these are outside the conditions", async () => {
  await shown(CALLS.conditions, async (view) => {
    await view.settled();
    const others = answered(view.result).rows.find(({ key }) => key === "(others)");
    const head = view.frame.locator("tbody tr.others th");
    assert.equal(await head.locator("small").textContent(), `${others?.holds} members, ${others?.unmet} outside the conditions`);
  });
});

test("members stand below their lines, and what is left out is counted beside its node and in the foot", async () => {
  await shown(CALLS["material lines"], async (view) => {
    await view.settled();
    const { rows, immaterial = [] } = answered(view.result);
    const inner = rows.filter(({ kind }) => kind === "member" || kind === "others");
    assert.ok(inner.length > 4);
    const heads = view.frame.locator("tbody tr.inner th");
    assert.deepEqual(await heads.locator(".label").allTextContents(), inner.map(({ label, key }) => label ?? key));
    const below = immaterial.filter((group) => group.below);
    assert.ok(below.length > 0);
    const said = await view.frame.locator("tbody tr:not(.inner) th small").allTextContents();
    for (const { lines } of below) assert.ok(said.some((words) => words.startsWith(`${lines} more, `)), String(lines));
    const foot = await view.frame.locator("footer").textContent();
    assert.match(foot ?? "", /Lines that are not material and not shown \(Variance below 200,000 and 5%\): \d+ in /);
  });
});

test("the rows behind a member are reached by keys, and those of a running sum are not", async () => {
  await shown({ ...CALLS["material lines"], able: { serverTools: {} } }, async ({ page, frame }) => {
    await frame.locator("tbody tr.inner").first().waitFor();
    await frame.locator("input[type=search]").focus();
    for (let presses = 0; presses < 20; presses++) {
      await page.keyboard.press("Tab");
      if (await frame.evaluate(() => document.activeElement?.closest("tbody") !== null)) break;
    }
    for (let presses = 0; presses < 40; presses++) {
      if (await frame.evaluate(() => document.activeElement?.closest("tr")?.classList.contains("inner"))) break;
      await page.keyboard.press("ArrowDown");
    }
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await frame.locator(".behind h2").waitFor();
  });
  await shown({ ...CALLS.views, able: { serverTools: {} } }, async ({ frame }) => {
    await frame.locator("tbody tr").first().locator("[role=gridcell]").nth(3).dblclick();
    await frame.getByText("There are no rows to show behind this cell.").waitFor();
  });
});

