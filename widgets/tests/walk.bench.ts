// The first minutes in the playground: from its address to the rows behind a variance, each step with its seconds.

import assert from "node:assert/strict";
import { test } from "node:test";
import { playing } from "./playing";

const LINE = "Cost of sales";

test("a newcomer opens the page, and asks for the rows behind a variance", async () => {
  const seconds: Record<string, number> = {};
  let before = performance.now();
  const reached = (step: string): void => {
    const now = performance.now();
    seconds[step] = (now - before) / 1000;
    before = now;
  };
  await playing(async ({ page, view }) => {
    await page.getByRole("button", { name: "run_statement", exact: true }).waitFor();
    reached("the page opened");
    const line = view.getByRole("row", { name: LINE }).first();
    await line.waitFor();
    reached("the profit and loss painted");
    const headings = await view.getByRole("columnheader").allInnerTexts();
    const at = headings.filter((heading) => !/trend/i.test(heading)).findIndex((heading) => heading.includes("Variance")) - 1;
    await line.getByRole("gridcell").nth(at).click();
    const ask = view.getByRole("button", { name: "Ask for rows" });
    await ask.waitFor();
    reached("a variance chosen");
    await ask.click();
    const ties = page.locator(".proof .ties");
    await ties.waitFor();
    reached("its rows added up to it");
    assert.match(await ties.innerText(), /the figure, to the last digit/);
  });
  console.log(JSON.stringify(seconds));
});
