// Rows as Python wrote them down: the view shows what Python says it should, of what was rendered for it and of the bare
// result.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { sums } from "../../inspection-grid/foot";
import { readInspection } from "../../inspection-grid/inspection";
import type { Inspection } from "../../inspection-grid/inspection";
import { refusalOf } from "../../shared/result";
import type { Fields } from "../../shared/shape";

interface Seen {
  readonly label: string;
  readonly caption: string;
  readonly columns: readonly (readonly [label: string, unit: string])[];
  readonly rows: readonly (readonly (readonly [text: string, label: string])[])[];
  readonly sums: readonly (readonly [style: string, text: string])[];
  readonly notes: readonly string[];
  readonly found: number;
  readonly truncated: boolean;
  readonly all: readonly (number | null)[]; // rows and groups
}

interface Result {
  readonly rows: readonly (readonly (number | string | null)[])[];
  readonly divisor?: number;
  readonly contribution_total?: number | string;
  readonly figure?: number | string;
  readonly data_ref: string;
}

interface Golden {
  readonly block: Fields;
  readonly result: Result;
  readonly seen: Seen;
  readonly sums: Seen["sums"]; // under the rows of the result, where that has fewer than are shown
}

const FOLDER = "../tests/golden/inspection-grid";
const MOST_ROWS = 50;

const golden = (name: string): unknown => JSON.parse(readFileSync(`${FOLDER}/${name}`, "utf8"));

const read = (found: unknown): Inspection => {
  const inspection = readInspection(found);
  assert.ok(inspection);
  return inspection;
};

const summed = (inspection: Inspection): Seen["sums"] => sums(inspection).map(({ style, text }) => [style, text]);

const seenOf = (inspection: Inspection): Seen => ({
  label: inspection.label,
  caption: inspection.caption,
  columns: inspection.across.map(({ label, unit }) => [label, unit]),
  rows: inspection.rows.map((row) => row.map(({ text, label }) => [text, label])),
  sums: summed(inspection),
  notes: inspection.notes,
  found: inspection.found,
  truncated: inspection.isTruncated,
  all: [inspection.total ?? null, inspection.groups ?? null],
});

const NAMES = readdirSync(FOLDER).filter((name) => name !== "of_another_source.json");
assert.ok(NAMES.length > 10);

for (const name of NAMES) {
  const { block, result, seen, sums: ofResult } = golden(name) as Golden;

  test(`${name}: what was rendered is shown as Python has it`, () => {
    assert.deepEqual(seenOf(read(block)), seen);
  });

  test(`${name}: a bare result is shown the same, as far as its rows go`, () => {
    const rows = seen.rows.slice(0, result.rows.length);
    assert.deepEqual(seenOf(read(result)), { ...seen, rows, sums: ofResult });
  });

  test(`${name}: the values are those of the result, rendered or bare`, () => {
    const most = result.rows.slice(0, MOST_ROWS);
    for (const inspection of [read(block), read(result)]) {
      const values = inspection.rows.map((row) => row.map(({ value }) => value));
      assert.deepEqual(values.slice(0, most.length), most);
      const { contributed, answered, dataRef } = inspection;
      const figures = contributed && [contributed.total.value, contributed.divisor, contributed.figure.value];
      const { contribution_total = null, divisor = null, figure = null } = result;
      assert.deepEqual(figures, contribution_total === null ? undefined : [contribution_total, divisor, figure]);
      assert.deepEqual([answered, dataRef], [result.rows.length, result.data_ref]);
    }
  });
}

test("rows of a source that does not make the figure are no grid, and their refusal is said", () => {
  const { refusal } = golden("of_another_source.json") as { refusal: Fields };
  assert.equal(readInspection(refusal), undefined);
  assert.equal(refusalOf({ structuredContent: refusal, isError: true })?.error, refusal.error);
});

test("what is no grid reads as nothing", () => {
  for (const other of [undefined, null, [], "x", {}, { columns: [], rows: [] }, { source_key: "gl", columns: [], rows: 3 }])
    assert.equal(readInspection(other), undefined);
});
