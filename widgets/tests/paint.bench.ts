// How fast large reports are there: from the result's message to its paint, frames while scrolling, folding all lines.

import { test } from "node:test";
import { shown, type View } from "./harness";
import { LARGE } from "./large";

declare global {
  interface Window {
    painted?: number;
  }
}

const ROUNDS = 5;
const FRAMES = 60;

/** Stands in the page before the view's own script, so that it hears of the result first. */
function watch(): void {
  addEventListener("message", ({ data }: MessageEvent<{ method?: string }>) => {
    if (data.method !== "ui/notifications/tool-result") return;
    const begun = performance.now();
    requestAnimationFrame(() => setTimeout(() => { window.painted = performance.now() - begun; }));
  });
}

const scrolled = (view: View): Promise<number[]> =>
  view.frame.evaluate(async (frames) => {
    const scroller = document.querySelector(".scroller");
    const times: number[] = [];
    let before = await new Promise<number>(requestAnimationFrame);
    while (scroller && times.length < frames) {
      scroller.scrollTop += 40;
      const now = await new Promise<number>(requestAnimationFrame);
      times.push(now - before);
      before = now;
    }
    return times;
  }, FRAMES);

/** Nothing of a report whose lines do not fold. */
const folded = (view: View): Promise<number | null> =>
  view.frame.evaluate(async () => {
    const level = document.querySelector<HTMLButtonElement>(".levels button");
    if (!level) return null;
    const begun = performance.now();
    level.click();
    await new Promise<void>((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    return performance.now() - begun;
  });

for (const [name, { call }] of Object.entries(LARGE))
  for (let round = 0; round < ROUNDS; round++)
    test(`${name}, round ${round + 1}`, async () => {
      const edited = (html: string): string => html.replace("<head>", () => `<head><script>(${watch.toString()})()</script>`);
      await shown({ ...call, edited, context: { containerDimensions: { maxHeight: 800 } } }, async (view) => {
        const handle = await view.frame.waitForFunction(() => window.painted);
        const times = { paint: [await handle.jsonValue()], frame: await scrolled(view), fold: [await folded(view)] };
        console.log(JSON.stringify({ name, ...times }));
      });
    });
