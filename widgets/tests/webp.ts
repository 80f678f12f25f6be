/** Pictures small enough for a repository. */

import type { Page } from "playwright-core";

const QUALITY = 0.8;

/** Return a picture as the browser itself writes it, in a page that lets it. */
export async function asWebp(page: Page, png: Buffer, quality = QUALITY): Promise<Buffer> {
  const written = await page.evaluate(async ([given, asked]) => {
    const bitmap = await createImageBitmap(await (await fetch(given)).blob());
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [bitmap.width, bitmap.height];
    canvas.getContext("2d")?.drawImage(bitmap, 0, 0);
    return canvas.toDataURL("image/webp", asked).replace(/^.*,/, "");
  }, [`data:image/png;base64,${png.toString("base64")}`, quality] as const);
  return Buffer.from(written, "base64");
}
