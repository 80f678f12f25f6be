/** The pictures of the playground: as it opens, and with the rows behind a variance, in both themes and widths. */

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { env } from "node:process";
import { test } from "node:test";
import { playing } from "./playing";
import { asWebp } from "./webp";

const into = env.PICTURES ?? "dist/screenshots";
const MOST_BYTES = 100_000;
const QUALITY = 0.65; // of a whole window of text

mkdirSync(into, { recursive: true });

for (const colorScheme of ["light", "dark"] as const)
  for (const width of [1440, 390])
    test(`the playground, ${colorScheme}, ${width} px wide`, async () => {
      await playing(async ({ page, view }) => {
        const row = view.getByRole("row", { name: "Cost of sales" }).first();
        await row.getByRole("gridcell").nth(2).dblclick();
        await page.frameLocator(".proof iframe.view").getByRole("columnheader", { name: "Contribution" }).waitFor();
        await page.evaluate(() => { scrollTo(0, 0); });
        const png = await page.screenshot();
        const picture = await asWebp(await page.context().newPage(), png, QUALITY);
        assert.ok(picture.length < MOST_BYTES, `${picture.length} bytes`);
        writeFileSync(`${into}/playground-${colorScheme}-${width}.webp`, picture);
      }, { colorScheme, viewport: { width, height: 900 } });
    });
