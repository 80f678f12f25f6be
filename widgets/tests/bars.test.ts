// The bars of variances in a host: as long as figures are large, coloured by what is favourable, and nothing but drawn.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Frame } from "playwright-core";
import { shown } from "./harness";
import type { Shown, View } from "./harness";

const BETWEEN = [
  { scenario: "actual", alias: "Actuals" },
  { scenario: "budget", alias: "Budget" },
  { scenario: "var(actual,budget)", alias: "Variance" },
  { scenario: "var_pct(actual,budget)", alias: "Var %" },
];
const GIVEN = { statement: "full_pnl", scenarios: BETWEEN, period_start: "2026-01", period_end: "2026-09", scale: 3 };
const PNL: Shown = { tool: "run_statement", given: GIVEN };
const [VARIANCE, SHARE] = [2, 3];
const COLOURS = { good: "rgb(0, 99, 156)", bad: "rgb(166, 60, 0)", neither: "rgb(87, 96, 106)" };

interface Row {
  readonly label: string;
  readonly unit: string | null;
  readonly favourable: "up" | "down" | "none";
  readonly cells: readonly (readonly [string, number | null, number])[];
}

interface Drawn {
  readonly kind: "bar" | "pin";
  readonly from: number; // pixels from the left of the cell
  readonly length: number;
  readonly axis: number;
  readonly colour: string;
}

const rowsOf = (view: View): readonly Row[] => (view.result._meta?.["tieout/table"] as { rows: readonly Row[] }).rows;

// What the browser makes of a column's bars, line by line.
const drawn = (frame: Frame, column: number): Promise<Drawn[]> =>
  frame.$$eval(`tbody td:nth-of-type(${column + 1})`, (cells) =>
    cells.map((cell) => {
      const { backgroundSize, backgroundPositionX, backgroundImage } = getComputedStyle(cell);
      const parts = (list: string): string[] => list.split(/,\s*(?![^(]*\))/);
      const [, length = "", , from = "", axis = "", image = ""] = [
        ...parts(backgroundSize).slice(0, 2),
        "",
        ...parts(backgroundPositionX).slice(1, 3),
        backgroundImage.split("linear-gradient")[2],
      ];
      return {
        kind: cell.classList.contains("pin") ? "pin" as const : "bar" as const,
        from: parseFloat(from),
        length: parseFloat(length),
        axis: parseFloat(axis),
        colour: /rgb\([^)]*\)/.exec(image)?.[0] ?? "",
      };
    }),
  );

const settled = async (work: (view: View, rows: readonly Row[]) => Promise<void>, more: Partial<Shown> = {}): Promise<void> => {
  await shown({ ...PNL, ...more }, async (view) => {
    await view.settled();
    await work(view, rowsOf(view));
    view.assertQuiet();
  });
};

const near = (a: number, b: number): boolean => Math.abs(a - b) < 0.05;

for (const locale of ["en", "ar"])
  for (const width of [1440, 390])
    test(`bars are as long as the figures beside them are large, ${locale}, ${width} px wide`, () =>
      settled(async ({ frame }, rows) => {
        const bars = await drawn(frame, VARIANCE);
        const amounts = rows.flatMap((row, at) => (row.unit === "EUR thousands" && row.cells[VARIANCE]?.[1] ? [{ ...bars[at], value: row.cells[VARIANCE][1] }] : []));
        assert.ok(amounts.length > 30);
        const largest = Math.max(...amounts.map(({ value }) => Math.abs(value)));
        for (const { kind, from = 0, length = 0, axis = 0, value } of amounts) {
          assert.equal(kind, "bar");
          assert.ok(near(length, Math.max(1, (48 * Math.abs(value)) / largest)), `${value}: ${length}`);
          if (length > 1) assert.ok(near(value < 0 ? from + length : from, axis), `${value}: from ${from} by ${length}, not at ${axis}`);
        }
        assert.equal(new Set(bars.map(({ axis }) => axis)).size, 1);
      }, { width, context: { locale } }));

test("a colour says what is favourable: costs below budget are, income below it is not, statistics are neither", () =>
  settled(async ({ frame }, rows) => {
    for (const column of [VARIANCE, SHARE]) {
      const bars = await drawn(frame, column);
      const seen = new Set<string>();
      for (const [at, { label, favourable, cells }] of rows.entries()) {
        const value = cells[column]?.[1] ?? 0;
        if (value === 0) continue;
        const rises = favourable === "none" ? "neither" : value > 0 === (favourable === "up") ? "good" : "bad";
        assert.equal(bars[at]?.colour, COLOURS[rises], label);
        seen.add(`${rises} ${value > 0 ? "over" : "under"}`);
      }
      assert.ok(["good over", "good under", "bad over", "bad under"].every((one) => seen.has(one)), [...seen].join());
    }
  }));

test("figures that are not compared have no bars, and a table of nothing else has no button for them", async () => {
  await settled(async ({ frame }) => {
    for (const column of [0, 1]) assert.equal(await frame.locator(`tbody td:nth-of-type(${column + 1}):is(.bar, .pin)`).count(), 0);
    assert.equal(await frame.locator("tbody td:first-of-type").first().evaluate((cell) => getComputedStyle(cell).backgroundImage), "none");
  });
  await settled(async ({ frame }) => {
    assert.equal(await frame.getByRole("button", { name: "Bars" }).count(), 0);
    assert.equal(await frame.locator("td:is(.bar, .pin)").count(), 0);
  }, { given: { ...GIVEN, scenarios: BETWEEN.slice(0, 2) } });
});

test("bars are there from the start where few columns compare, and pressing twice changes nothing", () =>
  settled(async (view) => {
    const { frame } = view;
    const body = (): Promise<string> => frame.locator("tbody").innerHTML();
    const picture = (): Promise<Buffer> => frame.locator(".scroller").screenshot();
    const bars = frame.getByRole("button", { name: "Bars" });
    const image = (): Promise<string> => frame.locator("td.bar").first().evaluate((cell) => getComputedStyle(cell).backgroundImage);
    const texts = (): Promise<string[]> => frame.locator("tbody :is(th, td)").allTextContents();
    const [rows, words, before] = [await body(), await texts(), await picture()];
    assert.equal(await bars.getAttribute("aria-pressed"), "true");
    assert.notEqual(await image(), "none");
    await bars.click();
    assert.deepEqual([await bars.getAttribute("aria-pressed"), await texts()], ["false", words]);
    assert.equal(await frame.locator("td:is(.bar, .pin)").count(), 0);
    assert.deepEqual(await view.violations(), []);
    await bars.click();
    assert.deepEqual([await bars.getAttribute("aria-pressed"), await body()], ["true", rows]);
    assert.ok((await picture()).equals(before));
  }));

test("bars wait for their button where many columns compare", () =>
  settled(async ({ frame }) => {
    const bars = frame.getByRole("button", { name: "Bars" });
    assert.equal(await bars.getAttribute("aria-pressed"), "false");
    assert.equal(await frame.locator("td:is(.bar, .pin)").count(), 0);
    await bars.click();
    assert.ok((await frame.locator("td.bar").count()) > 50);
  }, { given: { ...GIVEN, statement: "pnl", dimensions: ["period"] } }));

for (const theme of ["light", "dark"] as const)
  test(`bars are printed and accessible, ${theme}`, () =>
    settled(async (view) => {
      assert.deepEqual(await view.violations(), []);
      await view.page.emulateMedia({ media: "print" });
      const printed = await view.frame.locator("td.bar").first().evaluate((cell) => {
        const { printColorAdjust, backgroundImage } = getComputedStyle(cell);
        return [printColorAdjust, backgroundImage !== "none"];
      });
      assert.deepEqual(printed, ["exact", true]);
    }, { context: { theme } }));
