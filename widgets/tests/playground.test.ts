// The playground in a browser: the first minutes of somebody who has never seen the books.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { AT, jsonOf, KEY, playing, run, violations } from "./playing";

test("it opens with the profit and loss against budget and prior year, and with the question that it answers", async () => {
  await playing(async ({ page, view }) => {
    await view.getByText("Profit and loss").first().waitFor();
    for (const heading of ["Actuals", "Budget", "Variance", "Prior Year"]) await view.getByText(heading, { exact: true }).first().waitFor();
    assert.equal(await page.getByLabel("statement", { exact: true }).inputValue(), "full_pnl");
    assert.equal(await page.locator("[role=group] .pair").count(), 5);
    assert.match(await page.locator("#books").innerText(), /Corvane/);
  });
});

test("the key leaves the address at once, and stays for the tab", async () => {
  await playing(async ({ page, view }) => {
    await view.getByText("Profit and loss").first().waitFor();
    assert.equal(page.url(), AT);
    assert.ok(!(await page.evaluate(() => document.documentElement.outerHTML)).includes(KEY));
    await page.reload();
    await view.getByText("Profit and loss").first().waitFor();
  });
});

/** Keeps the calls with some words waiting until what it returns is called. */
async function held(page: Page, words: string): Promise<() => void> {
  let answer = (): void => undefined;
  const answered = new Promise<void>((resolve) => { answer = resolve; });
  await page.route("**/mcp", async (route) => {
    if (route.request().postData()?.includes(words)) await answered;
    await route.continue();
  });
  return answer;
}

test("while the server has not answered, the page says what it waits for", async () => {
  await playing(async ({ page, view }) => {
    await view.getByText("Profit and loss").first().waitFor();
    const answer = await held(page, "run_statement");
    await page.reload();
    await page.locator("#came[aria-busy]").waitFor({ state: "attached" });
    assert.equal(await page.locator("#came").evaluate((came) => getComputedStyle(came, "::before").content), '"Asking the server …"');
    answer();
    await view.getByText("Profit and loss").first().waitFor();
    await held(page, "tools/list");
    await page.reload();
    await page.locator("#books", { hasText: "Asking the server …" }).waitFor();
  });
});

test("who picks a tool before the books have told their name keeps it", async () => {
  await playing(async ({ page, view }) => {
    await view.getByText("Profit and loss").first().waitFor();
    const answer = await held(page, "svc_orientation");
    await page.reload();
    await run(page, "list_scenarios");
    await page.locator(".said", { hasText: "list_scenarios" }).waitFor();
    answer();
    await page.locator("#books", { hasText: "Corvane" }).waitFor();
    assert.match(await page.locator(".said").innerText(), /list_scenarios/);
  });
});

test("without the key it asks for it, and says when it is another one", async () => {
  await playing(async ({ page, complaints }) => {
    await page.getByLabel("Key").fill("x".repeat(40));
    await page.getByRole("button", { name: "Open" }).click();
    await page.getByText("is not known").waitFor();
    assert.deepEqual(await violations(page), []);
    await page.getByLabel("Key").fill(KEY);
    await page.getByRole("button", { name: "Open" }).click();
    await page.locator("#books", { hasText: "Corvane" }).waitFor();
    complaints.splice(0); // the browser's own line about the refused key
  }, {}, "");
});

test("a variance is clicked, and its rows add up to it to the last digit", async () => {
  await playing(async ({ page, view }) => {
    const answer = JSON.parse(await jsonOf(page)) as { columns: { alias: string }[]; rows: { label: string; values: number[] }[] };
    await page.getByRole("tab", { name: "View" }).click();
    const at = answer.columns.findIndex(({ alias }) => alias === "Variance");
    const variance = answer.rows.find(({ label }) => label === "Cost of sales")?.values[at] ?? 0;
    const row = view.getByRole("row", { name: "Cost of sales" }).first();
    await row.getByRole("gridcell").nth(at).dblclick();
    const ties = page.locator(".proof .ties");
    await ties.waitFor();
    const [sign, words, sum] = await ties.locator("td, th").allInnerTexts();
    assert.deepEqual([sign, words], ["=", "the figure, to the last digit ✓"]);
    assert.equal(Number(sum?.replaceAll(",", "").replace("−", "-")), variance);
    assert.deepEqual(await page.locator(".proof [role=tab]").allInnerTexts(), ["Actuals", "Budget"]);
    assert.equal(await page.locator(".calls li").count(), 3);
  });
});

test("an error is read and mended with one click", async () => {
  await playing(async ({ page, view }) => {
    await run(page, "run_metric", { metrics: ["revenu"], period_start: "2026-Q3" });
    await page.getByText("There is no metric 'revenu'").waitFor();
    assert.deepEqual(await violations(page), []);
    await page.getByRole("button", { name: "revenue", exact: true }).click();
    await view.getByText("Revenue").first().waitFor();
  });
});

test("an argument that does not exist reaches the server, which says so", async () => {
  await playing(async ({ page, view }) => {
    await run(page, "run_metric", { metrics: ["revenue"], filterz: {} });
    await page.getByText("There is no argument 'filterz'").waitFor();
    await page.getByRole("button", { name: "filters", exact: true }).click();
    await view.getByText("Revenue").first().waitFor();
  });
});

test("the form offers members by searching, and the call filters by them", async () => {
  await playing(async ({ page, view }) => {
    await run(page, "run_metric");
    await page.getByLabel(/^metrics/).pressSequentially("revenue");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Add a filter" }).click();
    await page.getByLabel("Dimension", { exact: true }).fill("organisation");
    const members = page.getByLabel("Members", { exact: true });
    await members.fill("europe");
    await page.locator("datalist option[value=EUROPE]").waitFor({ state: "attached" });
    await members.fill("EUROPE");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await view.getByText("Revenue").first().waitFor();
    assert.match(await page.getByLabel("Arguments as JSON").inputValue(), /"organisation": "EUROPE"/);
  });
});

test("the tokens of an answer are those that the server counts", async () => {
  await playing(async ({ page }) => {
    await run(page, "svc_orientation");
    await page.getByText("Corvane Group (made up)").waitFor();
    const said = await page.locator(".said").innerText();
    const answer = JSON.stringify(JSON.parse(await jsonOf(page)));
    const digits = answer.replaceAll(/\D/g, "").length;
    const bytes = Buffer.byteLength(answer);
    assert.ok(said.endsWith(`${Math.trunc(digits * 0.75 + (bytes - digits) * 0.3).toLocaleString("en")} tokens`), said);
  });
});

test("every list that needs no arguments is a picture that a person can read", async () => {
  await playing(async ({ page }) => {
    const lists: [string, unknown?][] = [
      ["list_scenarios"],
      ["list_kpis", {}],
      ["list_dimensions"],
      ["list_inspection_sources"],
    ];
    for (const [tool, asked] of lists) {
      await run(page, tool, asked);
      await page.locator(".said", { hasText: tool }).waitFor();
      assert.equal(await page.getByRole("tab", { name: "View" }).getAttribute("aria-selected"), "true");
      assert.deepEqual(await violations(page), [], tool);
    }
  });
});

test("a chart of the gallery is drawn, and its script can be changed", async () => {
  await playing(async ({ page, view }) => {
    await run(page, "eval_chart_transform");
    await page.getByLabel("Gallery").selectOption({ label: "waterfall: What explains EBITDA against budget?" });
    await view.locator("svg").getByText("Budget", { exact: true }).first().waitFor();
    assert.deepEqual(await violations(page), []);
    const script = page.getByLabel(/^transform code/);
    await script.fill("import os\nresult = df");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByRole("tab", { name: "Error" }).waitFor();
    assert.match(await page.locator(".refusal .words").innerText(), /os/);
  });
});

test("a chart that is open follows the theme, as the server draws it in the other one", async () => {
  await playing(async ({ page, view }) => {
    await run(page, "eval_chart_transform");
    await page.getByLabel("Gallery").selectOption({ label: "waterfall: What explains EBITDA against budget?" });
    const paper = (): Promise<string> => view.locator("svg").evaluate((chart) => getComputedStyle(chart).backgroundColor);
    const specified = async (): Promise<string> => {
      const { background } = (JSON.parse(await jsonOf(page)) as { vega_lite: { background: string } }).vega_lite;
      const parts = [1, 3, 5].map((at) => parseInt(background.slice(at, at + 2), 16));
      return `rgb(${parts.join(", ")})`;
    };
    await view.locator("svg").getByText("Budget", { exact: true }).first().waitFor();
    const light = await specified();
    await page.getByRole("tab", { name: "View" }).click();
    assert.equal(await paper(), light);
    const before = await page.locator(".calls li").count(); // whether or not the page came to open its report
    await page.getByRole("button", { name: "Theme: system" }).click(); // to light, which it is
    await page.getByRole("button", { name: "Theme: light" }).click();
    await view.locator(`svg[style*="rgb("]:not([style*="${light}"])`).waitFor(); // drawn, and in other colours
    const dark = await paper();
    assert.equal(await page.locator(".calls li").count(), before + 1); // the view asked once
    await page.locator(".calls button").first().click(); // the call that the view made
    assert.equal(await specified(), dark);
    assert.deepEqual(await violations(page), []);
  }, { colorScheme: "light" });
});

test("a table is saved as a workbook by the link that the server signs", async () => {
  await playing(async ({ page, view }) => {
    const saved = page.waitForEvent("download");
    await view.getByRole("button", { name: "XLSX" }).click();
    assert.match((await saved).suggestedFilename(), /\.xlsx$/);
  });
});

for (const colorScheme of ["light", "dark"] as const)
  for (const width of [390, 1440])
    test(`nothing is wrong with the page for those who cannot see it, ${colorScheme} at ${width} px`, async () => {
      await playing(async ({ page, view }) => {
        await view.getByText("Profit and loss").first().waitFor();
        assert.deepEqual(await violations(page), []);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
      }, { colorScheme, viewport: { width, height: 844 } });
    });

test("with the keyboard alone a tool is picked, filled in and run", async () => {
  await playing(async ({ page, view }) => {
    await view.getByText("Profit and loss").first().waitFor();
    await page.getByRole("button", { name: "inspect_rows", exact: true }).focus();
    await page.keyboard.press("Enter");
    await page.getByLabel(/^source key/).focus();
    await page.keyboard.type("gl");
    await page.getByLabel(/^scenario id/).focus();
    await page.keyboard.type("actual");
    await page.getByLabel("period start", { exact: true }).focus();
    await page.keyboard.type("2026-09");
    await page.keyboard.press("Control+Enter");
    await page.locator(".said", { hasText: "inspect_rows" }).waitFor();
    await page.getByRole("tab", { name: "View" }).focus();
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.getByRole("tab", { name: "JSON" }).getAttribute("aria-selected"), "true");
  });
});

test("a view has neither the key nor the page nor the tools", async () => {
  await playing(async ({ page, view, complaints }) => {
    await view.getByText("Profit and loss").first().waitFor();
    const frame = page.frames().find((known) => known.url() === `${AT}view`);
    assert.ok(frame);
    const reached = await frame.evaluate(async (url) => {
      const attempts: Record<string, () => unknown> = {
        origin: () => { if (self.origin !== "null") throw new Error(); return undefined; },
        page: () => parent.document.title,
        storage: () => sessionStorage.length,
        tools: async () => (await fetch(url, { method: "POST" })).status,
        address: () => parent.location.href,
        navigation: () => { parent.location.href = "about:blank"; return parent.location.href; },
      };
      const worked: string[] = [];
      for (const [name, attempt] of Object.entries(attempts))
        try {
          if ((await attempt()) !== undefined) worked.push(name);
        } catch {
          // it did not work, as it should not
        }
      return worked;
    }, `${AT}mcp`);
    assert.deepEqual(reached, []);
    complaints.splice(0); // the browser's own lines about what it refused
  });
});

test("what the books say of themselves is read as prose", async () => {
  await playing(async ({ page }) => {
    await run(page, "svc_orientation");
    const said = page.locator(".prose");
    await said.getByRole("heading", { name: "Corvane Group" }).waitFor();
    assert.deepEqual(await said.locator("li strong").allInnerTexts(), ["gl", "people", "sales"]);
    assert.doesNotMatch(await said.innerText(), /\*\*|`|^[#-] /m);
    assert.deepEqual(await violations(page), []);
  });
});

for (const width of [1440, 390])
  test(`materiality and conditions are filled in box by box, ${width} px wide`, async () => {
    await playing(async ({ page, view }) => {
      await view.getByText("Profit and loss").first().waitFor();
      await page.getByRole("group", { name: "materiality" }).getByLabel(/^of/).fill("Variance");
      await page.getByRole("group", { name: "materiality" }).getByLabel("percent").fill("5");
      await page.getByRole("button", { name: "Run", exact: true }).focus();
      await page.keyboard.press("Enter");
      await view.getByText("Lines that are not material").waitFor();
      await page.setViewportSize({ width, height: 900 });
      assert.deepEqual(await violations(page), []);
      const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(overflow <= 0, `${overflow} px too wide`);
    });
  });

test("a condition is a row of boxes", async () => {
  await playing(async ({ page, view }) => {
    await run(page, "run_metric", { metrics: ["revenue"], dimensions: ["organisation"], period_start: "2026-09", scenarios: [{ scenario: "actual" }] });
    await view.getByText("Total").first().waitFor();
    const having = page.getByRole("group", { name: "having" });
    await having.getByRole("button", { name: "Add to having" }).click();
    await having.getByLabel(/^column/).fill("revenue");
    await having.getByLabel("min").fill("10000000");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await view.getByText("outside the conditions").waitFor();
  });
});
