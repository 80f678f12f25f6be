// The pictures of the documentation: both views and the playground, in both themes, on a wide screen and on a telephone.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { env } from "node:process";
import { after, test } from "node:test";
import type { McpUiHostContext } from "@modelcontextprotocol/ext-apps/app-bridge";
import { chromium, type BrowserContext } from "playwright-core";
import { shown, VIEWS } from "./harness";

const THEMES = ["light", "dark"] as const;
const SCREENS = { 1440: 900, 390: 844 } as const;
const INTO = env.PICTURES ?? "dist/pictures";
const LOOK = {
  styles: { variables: { "--font-sans": "Liberation Sans" } }, // on every machine
  containerDimensions: { maxHeight: 620 },
} as McpUiHostContext;
const MOST_BYTES = 100_000;
const QUALITY = 0.7;
const browser = await chromium.connect(env.TEST_BROWSER ?? "");
after(() => browser.close());
mkdirSync(INTO, { recursive: true });

/** Keep a picture as WebP, as the browser itself writes it. */
async function keep(name: string, context: BrowserContext, png: Buffer): Promise<void> {
  const page = await context.newPage();
  const written = await page.evaluate(async ([given, quality]) => {
    const bitmap = await createImageBitmap(await (await fetch(given)).blob());
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
    canvas.getContext("2d")?.drawImage(bitmap, 0, 0);
    return canvas.toDataURL("image/webp", quality).replace(/^.*,/, "");
  }, [`data:image/png;base64,${png.toString("base64")}`, QUALITY] as const);
  await page.close(); // in front of it, a view that is shown next would not be drawn
  const picture = Buffer.from(written, "base64");
  assert.ok(picture.length < MOST_BYTES, `${picture.length} bytes`);
  writeFileSync(`${INTO}/${name}.webp`, picture);
}

for (const theme of THEMES)
  for (const [wide, height] of Object.entries(SCREENS)) {
    const width = Number(wide);
    for (const [name, call] of Object.entries(VIEWS))
      test(`${name}, ${theme}, ${wide} px wide`, async () => {
        await shown({ ...call, width, height, context: { theme, ...LOOK } }, async (view) => {
          await view.settled();
          await keep(`${name}-${theme}-${wide}`, view.page.context(), await view.page.locator("iframe").screenshot());
        });
      });

    test(`playground, ${theme}, ${wide} px wide`, async () => {
      const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme });
      const page = await context.newPage();
      await page.goto(new URL(`/#key=${env.TEST_KEY ?? ""}`, env.TEST_SERVER).href);
      const table = page.frameLocator("#came > .tabs iframe.view");
      await table.getByText("Prior Year", { exact: true }).first().waitFor();
      if (width > 1000) {
        await table.getByRole("row", { name: "Cost of sales" }).first().getByRole("gridcell").nth(2).dblclick();
        await page.frameLocator(".proof iframe.view").getByRole("columnheader", { name: "Contribution" }).waitFor();
        await page.evaluate(() => { scrollTo(0, 0); });
      }
      await keep(`playground-${theme}-${wide}`, context, await page.screenshot({ fullPage: width < 1000 }));
      await context.close();
    });
  }
