// The playground whose server goes and comes again while the page is open: what a person reads, and what works again.

import assert from "node:assert/strict";
import { env } from "node:process";
import { test } from "node:test";
import { playing } from "../playing";

const turn = async (way: "on" | "off"): Promise<void> => {
  const answer = await fetch(`${env.TEST_SWITCH ?? ""}/${way}`, { method: "POST" });
  assert.equal(answer.status, 200);
};

test("a page stays of use while its server is gone, says so, and works on once it is there again", async () => {
  await playing(async ({ page, view, complaints }) => {
    const alert = page.locator("#came > [role=alert]");
    const field = page.locator(".field", { has: page.getByLabel(/^source key/) });
    const offered = page.locator("datalist option[value=gl]");
    await view.getByText("Profit and loss").first().waitFor();
    await page.getByRole("button", { name: "inspect_rows", exact: true }).click();

    await turn("off");
    await page.getByLabel(/^source key/).focus();
    await field.getByText("Nothing to choose from. The server does not answer.").waitFor();
    await page.getByLabel(/^source key/).fill("gl");
    await page.getByLabel(/^scenario id/).fill("actual");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await alert.getByText("The server does not answer.").waitFor();
    await page.locator(".calls button", { hasText: "run_statement" }).click();
    await page.getByText("The view could not be read, so here are the data as they are.").waitFor();
    await page.locator(".place").getByText("Cost of sales").first().waitFor();

    await turn("on");
    await page.getByRole("button", { name: "inspect_rows", exact: true }).click();
    await page.getByLabel(/^source key/).focus();
    await offered.waitFor({ state: "attached" });
    assert.equal(await field.locator("[role=status]").innerText(), "");
    await page.getByLabel(/^source key/).fill("gl");
    await page.getByLabel(/^scenario id/).fill("actual");
    await page.getByLabel("period start", { exact: true }).fill("2026-09");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await view.getByRole("columnheader", { name: "Amount" }).waitFor();
    assert.equal(await alert.count(), 0);
    assert.ok(complaints.every((words) => words.includes("ERR_CONNECTION_REFUSED")), complaints.join("\n"));
    complaints.splice(0); // the browser's own lines about a server that is gone
  });
});

test("a figure that is drilled while the server is gone says why nothing came of it", async () => {
  await playing(async ({ page, view, complaints }) => {
    const figure = view.getByRole("row", { name: "Cost of sales" }).first().getByRole("gridcell").nth(2);
    await figure.waitFor();
    await turn("off");
    await figure.dblclick();
    await page.locator("#came > [role=alert]", { hasText: "The server does not answer." }).waitFor();
    await turn("on");
    await figure.dblclick();
    await page.locator(".proof .ties").waitFor();
    complaints.splice(0); // the browser's own lines about a server that is gone
  });
});
