// What both views do in any host: in either theme, on any screen, with whatever the host leaves of a result.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Frame } from "playwright-core";
import { ABLE, shown, VIEWS, type Shown, type STRIPPED } from "./harness";

const VIEWED = Object.entries(VIEWS);
const NEWS: readonly (keyof typeof STRIPPED)[] = ["meta", "structured", "content"];
const UNABLE = { able: {} };

const cells = (frame: Frame): Promise<string[]> =>
  frame.locator("tbody [role=rowheader], tbody [role=gridcell], tfoot td").allTextContents();

const seen = async (asked: Shown): Promise<string[]> => {
  const texts: string[] = [];
  await shown(asked, async (view) => {
    await view.settled();
    texts.push(...(await cells(view.frame)));
    view.assertQuiet();
  });
  return texts;
};

const inFocus = (frame: Frame): Promise<string | null> => frame.evaluate(() => document.activeElement?.textContent ?? null);

function startsAtTheLeft(cell: HTMLElement | SVGElement): boolean {
  const [words] = cell.childNodes;
  if (!words) return false;
  const at = (place: number): number => {
    const range = document.createRange();
    range.setStart(words, place);
    range.setEnd(words, place + 1);
    return range.getBoundingClientRect().x;
  };
  return at(0) < at((words.textContent ?? "").length - 1);
}

for (const [name, call] of VIEWED) {
  for (const theme of ["light", "dark"] as const)
    for (const width of [1440, 390])
      test(`${name} is accessible and quiet, ${theme}, ${width} px wide`, async () => {
        await shown({ ...call, width, context: { theme } }, async (view) => {
          await view.settled();
          assert.deepEqual(await view.violations(), []);
          const overflow = await view.frame.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(overflow <= 0, `${overflow} px too wide`);
          view.assertQuiet();
        });
      });

  let whole: Promise<string[]> | undefined; // what is seen where nothing is stripped
  for (const stripped of NEWS)
    test(`${name} shows the same where a host strips ${stripped}`, async () => {
      assert.deepEqual(await seen({ ...call, stripped }), await (whole ??= seen(call)));
    });

  test(`${name} of a host that never tells of the result asks for it when it is told to`, async () => {
    await shown({ ...call, stripped: "everything" }, async (view) => {
      await view.frame.getByRole("button", { name: "Read it now" }).click();
      await view.settled();
      assert.deepEqual(await view.asked("tools/call"), [
        { method: "tools/call", params: { name: call.tool, arguments: call.given } },
      ]);
    });
  });

  test(`${name} of a host that strips everything and calls no tools says so, and asks for nothing`, async () => {
    await shown({ ...call, stripped: "content", ...UNABLE }, async (view) => {
      await view.frame.getByText("The host did not hand over the result").waitFor();
      assert.deepEqual(await view.page.evaluate(() => window.host.asked), []);
    });
  });

  test(`${name} offers no more than its host is able to`, async () => {
    const buttons = async (asked: Shown): Promise<string[]> => {
      const words: string[] = [];
      await shown(asked, async (view) => {
        await view.settled();
        words.push(...(await view.frame.locator("[role=toolbar] button").allTextContents()));
      });
      return words;
    };
    const [able, unable] = [await buttons({ ...call, able: ABLE }), await buttons({ ...call, ...UNABLE })];
    assert.ok(able.includes("XLSX"));
    assert.ok(unable.includes("Copy"));
    assert.ok(!unable.includes("XLSX") && !unable.includes("CSV"));
  });

  test(`${name} shows a refusal in words`, async () => {
    const period_start = "2026-13";
    await shown({ ...call, given: { ...call.given, period_start } }, async ({ frame, result }) => {
      const { error } = result.structuredContent as { error: string };
      await frame.getByText(error).waitFor();
    });
  });

  test(`${name} follows a change of theme`, async () => {
    await shown({ ...call, context: { theme: "light" } }, async (view) => {
      await view.settled();
      const paper = (): Promise<string> => view.frame.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const light = await paper();
      await view.change({ theme: "dark" });
      await view.frame.waitForFunction((before) => getComputedStyle(document.body).backgroundColor !== before, light);
      assert.deepEqual(await view.violations(), []);
    });
  });

  test(`${name} reads from right to left where its host does, figures from left to right`, async () => {
    await shown({ ...call, context: { locale: "ar" } }, async (view) => {
      await view.settled();
      assert.equal(await view.frame.evaluate(() => document.documentElement.dir), "rtl");
      const [first, last] = [view.frame.locator("thead th").first(), view.frame.locator("thead th").last()];
      const [right, left] = [await first.boundingBox(), await last.boundingBox()];
      assert.ok(right && left && right.x > left.x);
      const figure = view.frame.locator("tbody td").filter({ hasText: /\d,\d/ }).first();
      assert.ok(await figure.evaluate(startsAtTheLeft));
      assert.deepEqual(await view.violations(), []);
    });
  });

  test(`${name} is walked through by keys alone`, async () => {
    await shown(call, async ({ page, frame }) => {
      await frame.locator("tbody tr").first().waitFor();
      await frame.locator("input[type=search]").focus();
      for (let presses = 0; presses < 20; presses++) {
        await page.keyboard.press("Tab");
        if (await frame.evaluate(() => document.activeElement?.closest("tbody") !== null)) break;
      }
      const rows = frame.locator("tbody tr");
      const cell = (row: number, column: number): Promise<string | null> =>
        rows.nth(row).locator("[role=rowheader], [role=gridcell]").nth(column).textContent();
      assert.equal(await inFocus(frame), await cell(0, 0));
      await page.keyboard.press("ArrowDown");
      await page.keyboard.press("End");
      const columns = await rows.nth(1).locator("[role=rowheader], [role=gridcell]").count();
      assert.equal(await inFocus(frame), await cell(1, columns - 1));
      await page.keyboard.press("ArrowLeft");
      assert.equal(await inFocus(frame), await cell(1, columns - 2));
      await page.keyboard.press("Home");
      await page.keyboard.press("ArrowUp");
      await page.keyboard.press("ArrowUp"); // the head, which sorts
      await page.keyboard.press("Enter");
      assert.equal(await frame.locator("thead [aria-sort=ascending], thead [aria-sort=descending]").count(), 1);
    });
  });

  test(`${name} is printed whole, without what is only for the screen`, async () => {
    await shown(call, async (view) => {
      await view.settled();
      await view.page.emulateMedia({ media: "print" });
      assert.equal(await view.frame.locator("[role=toolbar]").isVisible(), false);
      const hidden = await view.frame.locator(".scroller").evaluate(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight);
      assert.ok(hidden <= 1, `${hidden} px are cut off`);
      assert.equal((await view.page.pdf()).subarray(0, 5).toString(), "%PDF-");
    });
  });

  test(`${name} goes quietly when its host takes it down`, async () => {
    await shown(call, async (view) => {
      await view.settled();
      await view.page.evaluate(() => window.host.close());
      view.assertQuiet();
    });
  });
}
