// Large reports: every figure of sixty lines by forty columns and of ten thousand cells is there.

import assert from "node:assert/strict";
import { test } from "node:test";
import { shown } from "./harness";
import { LARGE } from "./large";

interface Block {
  readonly columns: readonly unknown[];
  readonly rows: readonly { readonly cells: readonly (readonly [string, ...unknown[]])[] }[];
}

for (const [name, { call, lines, columns: across }] of Object.entries(LARGE))
  test(`${name} are all there`, async () => {
    await shown(call, async (view) => {
      await view.settled();
      const { rows, columns } = (view.result._meta as { "tieout/table": Block })["tieout/table"];
      assert.ok(rows.length >= lines, `${rows.length} lines`);
      assert.equal(columns.length, across);
      const texts = await view.frame.locator("tbody td").allTextContents();
      assert.deepEqual(texts, rows.flatMap(({ cells }) => cells.map(([text]) => text)));
      view.assertQuiet();
    });
  });
