// The outline: what stands under what, folding, sorting under a line, and finding.

import assert from "node:assert/strict";
import { test } from "node:test";
import { found, Outline } from "../../financial-table/outline";
import type { Line } from "../../financial-table/table";

const line = (label: string, level: number, kind: string, value: number | null): Line => ({
  label,
  level,
  kind,
  style: "plain",
  unit: "",
  measure: "",
  aside: "",
  isInner: false,
  drill: undefined,
  cells: [{ text: "", value, good: 0 }],
});

const LINES = [
  line("Revenue", 0, "node", 30),
  line("Pumps", 1, "node", 10),
  line("Large pumps", 2, "node", 4),
  line("Valves", 1, "node", 20),
  line("Gaps", 1, "own", null),
  line("Gross profit", 0, "metric", 5),
  line("Écrous", 0, "node", 50),
];

const labels = (outline: Outline, which: readonly number[]): readonly string[] => which.map((at) => outline.lines[at]?.label ?? "");

test("lines are seen until something above them is folded", () => {
  const outline = new Outline(LINES);
  outline.fold(1, true);
  assert.deepEqual(outline.seen, [0, 1, 3, 4, 5, 6]);
  outline.foldFrom(0);
  assert.deepEqual(outline.seen, [0, 5, 6]);
  outline.reveal(2);
  assert.deepEqual(outline.seen, [0, 1, 2, 3, 4, 5, 6]);
  outline.fold(5, true);
  assert.equal(outline.isFolded(5), false); // nothing stands under it
});

test("sorting moves lines under the line they add up to, and nothing else", () => {
  const outline = new Outline(LINES);
  outline.sorting = { column: 0, isDescending: true };
  assert.deepEqual(labels(outline, outline.order), ["Revenue", "Valves", "Pumps", "Large pumps", "Gaps", "Gross profit", "Écrous"]);
  outline.sorting = { column: 0, isDescending: false };
  assert.deepEqual(labels(outline, outline.order).slice(0, 5), ["Revenue", "Pumps", "Large pumps", "Valves", "Gaps"]);
});

test("members are sorted all together and the total stays last", () => {
  const outline = new Outline([line("B", 0, "member", 1), line("A", 0, "member", 3), line("Total", 0, "total", 4)]);
  outline.sorting = { column: 0, isDescending: true };
  assert.deepEqual(labels(outline, outline.order), ["A", "B", "Total"]);
  outline.sorting = { column: undefined, isDescending: true };
  assert.deepEqual(labels(outline, outline.order), ["B", "A", "Total"]);
});

test("lines are found whatever the case and accents", () => {
  assert.deepEqual(found(LINES, "PUMP"), [1, 2]);
  assert.deepEqual(found(LINES, "ecrou"), [6]);
  assert.deepEqual(found(LINES, "  "), []);
});
