// The pictures of the documentation: each view in both themes, on a wide screen and on a telephone.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { env } from "node:process";
import { test } from "node:test";
import type { McpUiHostContext } from "@modelcontextprotocol/ext-apps/app-bridge";
import type { Page } from "playwright-core";
import { shown, VIEWS } from "./harness";

const THEMES = ["light", "dark"] as const;
const WIDTHS = [1440, 390] as const;
const into = env.PICTURES ?? "dist/screenshots";

const LOOK = {
  styles: { variables: { "--font-sans": "Liberation Sans" } }, // on every machine
  containerDimensions: { maxHeight: 620 },
} as McpUiHostContext;
const MOST_BYTES = 100_000;
const QUALITY = 0.8;

// As the browser itself writes it.
async function asWebp(page: Page, png: Buffer): Promise<Buffer> {
  const written = await page.evaluate(async ([given, quality]) => {
    const bitmap = await createImageBitmap(await (await fetch(given)).blob());
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
    canvas.getContext("2d")?.drawImage(bitmap, 0, 0);
    return canvas.toDataURL("image/webp", quality).replace(/^.*,/, "");
  }, [`data:image/png;base64,${png.toString("base64")}`, QUALITY] as const);
  return Buffer.from(written, "base64");
}

mkdirSync(into, { recursive: true });

for (const [name, call] of Object.entries(VIEWS))
  for (const theme of THEMES)
    for (const width of WIDTHS)
      test(`${name}, ${theme}, ${width} px wide`, async () => {
        await shown({ ...call, width, context: { theme, ...LOOK } }, async (view) => {
          await view.settled();
          const png = await view.page.locator("iframe").screenshot();
          const picture = await asWebp(view.page, png);
          assert.ok(picture.length < MOST_BYTES, `${picture.length} bytes`);
          writeFileSync(`${into}/${name}-${theme}-${width}.webp`, picture);
          if (env.PNG) writeFileSync(`${env.PNG}/${name}-${theme}-${width}.png`, png);
        });
      });
