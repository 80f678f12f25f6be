// Tables as Python wrote them down: what was rendered for the view and the bare result read as the same table.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { calls } from "../../shared/drill";
import { fields, list, text } from "../../shared/shape";
import { readTable } from "../../financial-table/table";
import type { Cell, Table } from "../../financial-table/table";

const FOLDER = "../tests/golden/financial-table";
const UNAVAILABLE = "n/a"; // only the rendered block tells what cannot be computed from what is missing

const blank = (cell: Cell): Cell => (cell.text === UNAVAILABLE ? { ...cell, text: "" } : cell);

/** What a table says where a host leaves of a result only what a model reads: all but its look and when it was loaded. */
const withoutLook = ({ label, rowsAre, across: columns, lines, notes, freshness, leftOut, dataRef }: Table): unknown => ({
  label,
  rowsAre,
  columns: columns.map(({ titles: heading, comparison, isTotal, unit, isPeriod, rank }) => [heading, comparison, isTotal, unit, isPeriod, rank]),
  lines: lines.map(({ label: words, level, unit, measure, cells }) => [words, level, unit, measure, cells.map(blank)]),
  notes,
  freshness: freshness.map(({ domain, scenario, through }) => [domain, scenario, through]),
  leftOut,
  dataRef,
});

for (const name of readdirSync(FOLDER)) {
  const golden = fields(JSON.parse(readFileSync(`${FOLDER}/${name}`, "utf8")));

  test(`${name}: a bare result reads as what was rendered of it`, () => {
    const rendered = readTable(golden.block);
    assert.ok(rendered);
    assert.ok(rendered.lines.some(({ cells }) => cells.some(({ value }) => value !== null)) || name.startsWith("nothing"));
    const bare = readTable(golden.result);
    assert.deepEqual(bare && withoutLook(bare), withoutLook(rendered));
  });

  test(`${name}: a cell's calls are those that the tool descriptions lead to`, () => {
    const own = `"metric":"${text(fields(golden.result).statement)}.`; // a line's metric, with its statement or without
    const named = (found: unknown): unknown => JSON.parse(JSON.stringify(found).replaceAll(own, '"metric":"')) as unknown;
    for (const { lines, across: columns } of [golden.block, golden.result].flatMap((found) => readTable(found) ?? []))
      for (const [at, line] of lines.entries()) {
        const found = columns.slice(0, 4).map((column) => calls(line.drill, column.drill).map(({ sign, args }) => [sign, args]));
        assert.deepEqual(named(found), named(list(golden.calls)[at]));
      }
  });
}

test("what is no table reads as nothing", () => {
  for (const other of [undefined, null, [], "x", {}, { columns: [], rows: 3 }, { label: "x", columns: [], rows: [{}] }, { error: "no" }])
    assert.equal(readTable(other), undefined);
});

test("a corner says in words what stands below it", () => {
  const row = { label: "Sales", values: [1], members: { cost_centre: "10", month: "2026-01" } };
  const report = { label: "x", statement: "x", columns: [{ alias: "A" }] };
  assert.equal(readTable({ ...report, rows: [row] })?.rowsAre, "Cost centre · Month");
  assert.equal(readTable({ ...report, rows: [{ label: "Sales", values: [1] }] })?.rowsAre, "Line");
});
