// What a view hands over to people: text on the clipboard, files and links through the host.

import type { Host } from "./host";
import { fields, isFields, text } from "./shape";
import type { Fields } from "./shape";
import { answers, refusalOf } from "./result";

/** Works on a click without a permission, inside any frame. */
export function copied(words: string): boolean {
  const take = (event: ClipboardEvent): void => {
    event.clipboardData?.setData("text/plain", words);
    event.preventDefault();
  };
  document.addEventListener("copy", take, { once: true });
  const done = document.execCommand("copy"); // eslint-disable-line @typescript-eslint/no-deprecated -- the other way takes a permission that hosts do not give
  document.removeEventListener("copy", take);
  return done;
}

export async function downloaded(host: Host, name: string, mimeType: string, words: string): Promise<boolean> {
  const resource = { uri: `file:///${encodeURIComponent(name)}`, mimeType, text: words };
  return accepted(await host.request("ui/download-file", { contents: [{ type: "resource", resource }] }));
}

export const canExport = (host: Host): boolean =>
  host.can("serverTools") && (host.can("openLinks") || host.can("downloadFile"));

/** The workbook that the server makes of a kept result, opened by its signed link; what went wrong is the message thrown. */
export async function workbookOpened(host: Host, dataRef: string): Promise<void> {
  const made = await host.call("export_dataset", { data_ref: dataRef, format: "xlsx" });
  const refusal = refusalOf(made);
  if (refusal !== undefined) throw new Error(refusal.error);
  const file = fields([...answers(made)].find(isFields));
  const url = text(file.download_url);
  const link = { type: "resource_link", uri: url, name: text(file.name) || "report.xlsx" };
  const opened = host.can("openLinks")
    ? await host.request("ui/open-link", { url })
    : await host.request("ui/download-file", { contents: [link] });
  if (!accepted(opened)) throw new Error("The host did not open the link.");
}

const accepted = (answer: Fields): boolean => answer.isError !== true;
