// The pictures of the documentation: each view in both themes, on a wide screen and on a telephone.

import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { env } from "node:process";
import { test } from "node:test";
import type { McpUiHostContext } from "@modelcontextprotocol/ext-apps/app-bridge";
import { shown, VIEWS } from "./harness";
import { asWebp } from "./webp";

const THEMES = ["light", "dark"] as const;
const WIDTHS = [1440, 390] as const;
const into = env.PICTURES ?? "dist/screenshots";

const LOOK = {
  styles: { variables: { "--font-sans": "Liberation Sans" } }, // on every machine
  containerDimensions: { maxHeight: 620 },
} as McpUiHostContext;
const MOST_BYTES = 100_000;

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
