// The playground in a real browser, as somebody opens it at the address that `tieout serve` prints.

import assert from "node:assert/strict";
import { env } from "node:process";
import { after } from "node:test";
import axe from "axe-core";
import { chromium, type BrowserContextOptions, type FrameLocator, type Page } from "playwright-core";

export const KEY = env.TEST_KEY ?? "";
export const AT = new URL("/", env.TEST_SERVER).href;
const WAIT = 40_000; // of a machine that runs the other tests besides
const browser = await chromium.connect(env.TEST_BROWSER ?? "");
after(() => browser.close());

export interface Play {
  readonly page: Page;
  readonly view: FrameLocator; // of the result that is shown
  readonly complaints: string[];
}

/** Open the playground until some work is done; nothing may be complained of meanwhile. */
export async function playing(work: (play: Play) => Promise<void>, options: BrowserContextOptions = {}, at = `#key=${KEY}`): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, acceptDownloads: true, ...options });
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT);
    const complaints: string[] = [];
    page.on("console", (said) => { if (said.type() === "error") complaints.push(said.text()); });
    page.on("pageerror", (error) => complaints.push(String(error)));
    await page.goto(AT + at);
    await work({ page, view: page.frameLocator("#came > .tabs iframe.view"), complaints });
    assert.deepEqual(complaints, []);
  } finally {
    await context.close();
  }
}

/** Return what axe finds wrong with the page, its frames aside. */
export async function violations(inside: Page): Promise<unknown> {
  await inside.evaluate(axe.source);
  return await inside.evaluate(`axe.run({ iframes: false }).then(({ violations }) => violations.flatMap(
    ({ id, nodes }) => nodes.map(({ html }) => id + ": " + html.slice(0, 200))))`);
}

/** Pick a tool, and run it on arguments where some are given. */
export async function run(page: Page, tool: string, asked?: unknown): Promise<void> {
  await page.getByRole("button", { name: tool, exact: true }).first().click();
  if (asked === undefined) return;
  await page.getByText("Arguments as JSON").click();
  await page.getByLabel("Arguments as JSON").fill(JSON.stringify(asked));
  await page.getByRole("button", { name: "Run", exact: true }).click();
}

/** Return the JSON of the answer that is shown. */
export async function jsonOf(page: Page): Promise<string> {
  await page.getByRole("tab", { name: "JSON" }).click();
  return await page.getByLabel("JSON of the answer").innerText();
}
