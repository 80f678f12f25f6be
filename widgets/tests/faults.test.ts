// What a person at the playground is told: that a view could not be read, that something was copied.

import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonOf, playing, run } from "./playing";

test("a view whose page cannot be read leaves the data plain, and is read again the next time", async () => {
  await playing(async ({ page, view, complaints }) => {
    await view.getByText("Profit and loss").first().waitFor();
    await page.route("**/mcp", async (route) => {
      if (route.request().headers()["mcp-method"] === "resources/read") await route.abort();
      else await route.continue();
    });
    await run(page, "inspect_rows", { source_key: "gl", scenario_id: "actual", period_start: "2026-09", filters: { metric: "revenue" } });
    await page.locator(".place [role=alert]", { hasText: "here are the data as they are. The server does not answer." }).waitFor();
    await page.locator(".place").getByRole("columnheader", { name: "contribution" }).waitFor();
    await page.unroute("**/mcp");
    await page.locator(".calls button", { hasText: "inspect_rows" }).click();
    await view.getByRole("columnheader", { name: "Contribution" }).waitFor();
    complaints.splice(0); // the browser's own line about what it could not read
  });
});

test("the JSON of an answer is copied as the model reads it, and the page says so", async () => {
  await playing(async ({ page }) => {
    await run(page, "svc_orientation");
    await page.locator(".said", { hasText: "svc_orientation" }).waitFor();
    const shown = JSON.parse(await jsonOf(page)) as unknown;
    await page.getByRole("button", { name: "Copy", exact: true }).click();
    await page.getByText("Copied.", { exact: true }).waitFor();
    assert.deepEqual(JSON.parse(await page.evaluate(() => navigator.clipboard.readText())), shown);
  }, { permissions: ["clipboard-read"] });
});
