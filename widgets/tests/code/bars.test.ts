// Bars on the goldens that Python wrote: lengths as figures are to each other, unit by unit, from one axis a column.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { barsOf } from "../../financial-table/bars";
import type { Bar } from "../../financial-table/bars";
import { readTable } from "../../financial-table/table";
import type { Column, Line } from "../../financial-table/table";

interface Block {
  readonly columns: readonly { readonly comparison: "figure" | "variance" | "share" }[];
  readonly rows: readonly { readonly label: string; readonly unit: string | null; readonly cells: readonly (readonly [string, number | null, number])[] }[];
}

interface Drawn extends Bar {
  readonly label: string;
  readonly unit: string;
  readonly value: number;
}

const FOLDER = "../tests/golden/financial-table";
const [LEFT, RIGHT] = [12, 76]; // pixels of a cell that bars may take

const golden = (name: string): Block => (JSON.parse(readFileSync(`${FOLDER}/${name}`, "utf8")) as { block: Block }).block;

// What is drawn in a column, beside what Python says of it.
function drawn(block: Block, at: number): readonly Drawn[] {
  const table = readTable(block);
  assert.ok(table);
  const column = table.across[at];
  assert.ok(column);
  const isShare = block.columns[at]?.comparison === "share";
  return barsOf(table.lines, column, at).map((bar, row) => {
    const { label = "", unit, cells } = block.rows[row] ?? {};
    return { ...bar, label, unit: isShare ? "share" : (unit ?? ""), value: cells?.[at]?.[1] ?? 0 };
  });
}

for (const name of readdirSync(FOLDER))
  test(`${name}: within a unit bars are to each other as figures are, and all fit on either side of one axis`, () => {
    const block = golden(name);
    for (const [at, { comparison }] of block.columns.entries()) {
      if (comparison === "figure") continue;
      const bars = drawn(block, at);
      assert.equal(new Set(bars.map(({ zero }) => zero)).size, 1);
      for (const unit of new Set(bars.map((bar) => bar.unit))) {
        const alike = bars.filter((bar) => bar.unit === unit && bar.length !== 0);
        const scales = alike.map(({ value, length }) => value / length);
        for (const scale of scales) assert.ok(Math.abs(scale / (scales[0] ?? 0) - 1) < 1e-9 && scale > 0, `${unit} ${scale}`);
      }
      for (const { zero, length, value } of bars) {
        assert.ok(zero + length >= LEFT - 1e-9 && zero + length <= RIGHT + 1e-9);
        if (value === 0) assert.equal(length, 0);
      }
    }
  });

const PNL = golden("profit_and_loss.json");
const VARIANCE = PNL.columns.findIndex(({ comparison }) => comparison === "variance");
const SHARE = PNL.columns.findIndex(({ comparison }) => comparison === "share");

test("amounts are bars, the largest of them the longest; other units are pins on scales of their own", () => {
  const bars = drawn(PNL, VARIANCE);
  const longest = bars.filter(({ isPin }) => !isPin).reduce((a, b) => (Math.abs(b.length) > Math.abs(a.length) ? b : a));
  assert.deepEqual([longest.label, longest.value < 0, Math.abs(longest.zero + longest.length - LEFT) < 1e-9], ["Revenue", true, true]);
  assert.equal(longest.length, -48); // three quarters of 64: the last is for pins above zero
  const pins = new Set(bars.filter(({ isPin }) => isPin).map(({ unit }) => unit));
  assert.deepEqual([...pins].sort(), ["EUR each", "fraction", "number"]);
  const toBill = bars.find(({ label }) => label === "Book-to-bill");
  assert.deepEqual([toBill?.unit, toBill?.length, toBill?.isPin], ["ratio", 0, false]); // alone of its unit
});

test("shares are pins of one scale, ratios and amounts alike", () => {
  const bars = drawn(PNL, SHARE);
  const known = bars.filter(({ value }) => value !== 0);
  assert.ok(known.length > 50 && known.every(({ isPin }) => isPin));
  const [most, least] = [Math.max(...known.map(({ value }) => value)), Math.min(...known.map(({ value }) => value))];
  const [longest, shortest] = [Math.max(...known.map(({ length }) => length)), Math.min(...known.map(({ length }) => length))];
  assert.ok(Math.abs(longest - shortest - (RIGHT - LEFT)) < 1e-9); // the whole width is used
  assert.ok(Math.abs(longest / -shortest - most / -least) < 1e-9);
});

test("sums are on the scale of what they add up", () => {
  const companies = drawn(golden("by_company.json"), 2);
  const total = companies.at(-1);
  assert.deepEqual([total?.label, Math.abs((total?.zero ?? 0) + (total?.length ?? 0) - LEFT) < 1e-9], ["Total", true]);
});

const COLUMN: Column = { titles: ["Variance"], style: "plan", comparison: "variance", isTotal: false, unit: "", window: "", isPeriod: false, drill: undefined, rank: "" };
const lineOf = (value: number | string | null): Line => ({
  label: "", level: 0, kind: "member", style: "plain", unit: "", measure: "EUR", aside: "", isInner: false, drill: undefined, cells: [{ text: "", value, good: 0 }],
});
const lengths = (...values: readonly (number | string | null)[]): readonly number[][] =>
  barsOf(values.map(lineOf), COLUMN, 0).map(({ zero, length }) => [zero, length]);

test("an axis stands at the left where nothing is below zero, at the right where nothing is above, and of nothing anywhere", () => {
  assert.deepEqual(lengths(4, 1), [[12, 64], [12, 16]]);
  assert.deepEqual(lengths(-4, -1), [[76, -64], [76, -16]]);
  assert.deepEqual(lengths(-3, 1, null, 0), [[60, -48], [60, 16], [60, 0], [60, 0]]);
  assert.deepEqual(lengths(null, 0), [[12, 0], [12, 0]]);
  assert.deepEqual(lengths("90071992547409930.1", "-90071992547409930.1"), [[44, 32], [44, -32]]);
});
