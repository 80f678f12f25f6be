// An explained variance in a host: a table of its lists with bars of what they contribute, whatever the host strips.

import assert from "node:assert/strict";
import { test } from "node:test";
import { shown, STRIPPED } from "./harness";
import type { Json } from "./harness";

const GIVEN = { metric: "ebitda", scenarios: ["actual", "budget"], by: ["lines", "organisation"], period_start: "2026-01", period_end: "2026-09" };

interface Part {
  readonly key: string;
  readonly label?: string;
  readonly contribution: number;
  readonly favourable?: boolean;
}

interface Explained {
  readonly variance: number;
  readonly lists: readonly { readonly rows: readonly Part[] }[];
}

const rounded = (figure: number): string => `${figure < 0 ? "\u2212" : "+"}${Math.round(Math.abs(figure)).toLocaleString("en")}`;

for (const stripped of Object.keys(STRIPPED) as (keyof typeof STRIPPED)[])
  if (stripped !== "everything")
    test(`an explained variance is a table with bars where a host strips ${stripped}`, async () => {
      await shown({ tool: "explain_variance", given: GIVEN, stripped }, async (view) => {
        await view.settled();
        const said = view.result.structuredContent as Json & Explained;
        const rows = said.lists.flatMap(({ rows: known }) => [...known.map((row) => [row.label ?? row.key, rounded(row.contribution)]), ["Variance", rounded(said.variance)]]);
        const labels = await view.frame.locator("tbody tr:not(.header) .label").allTextContents();
        const cells = await view.frame.locator("tbody tr:not(.header) td:nth-of-type(3)").allTextContents();
        assert.deepEqual(labels.map((label, at) => [label, cells[at]]), rows);
        assert.deepEqual(await view.frame.locator("tbody tr.header .label").allTextContents(), ["Lines", "Organisation"]);
        assert.deepEqual(await view.frame.locator("thead th").allInnerTexts().then((heads) => heads.map((head) => head.trim())), ["Line", "actual", "budget", "Contribution"]);
        const bars = await view.frame.locator("tr:not(.header) > td.bar").count();
        assert.equal(bars, rows.length);
        const good = await view.frame.locator("tr.node td:nth-of-type(3).good").count();
        assert.equal(good, said.lists.flatMap(({ rows: known }) => known).filter(({ favourable }) => favourable).length);
        view.assertQuiet();
      });
    });
