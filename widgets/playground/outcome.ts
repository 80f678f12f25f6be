// What came of a call: its view, the JSON that a model reads, its error, and what it took.

import { pretty } from "./json";
import { element } from "../shared/element";
import { copied } from "../shared/files";
import { type Fields } from "../shared/shape";
import { Told } from "../shared/told";
import { refusal } from "./refusal";
import { JSON_BOTH_WAYS, type Call } from "./server";
import { tabs, type Tab } from "./tabs";
import { tokensOf } from "./tokens";

export function outcome(call: Call, view: () => HTMLElement, retry: (asked: Fields) => void): HTMLElement {
  const all: readonly Tab[] = [
    ...(call.isError
      ? [{ title: "Error", panel: () => refusal(call, retry) }]
      : [{ title: "View", panel: view }]),
    { title: "JSON", panel: () => jsonOf(call) },
    { title: "Timing", panel: () => timing(call) },
  ];
  return tabs("Result", all, call.isError ? "Error" : "View");
}

const counted = (count: number, of: string): string => `${count.toLocaleString("en")} ${of}`;

export const tokensWords = (call: Call): string => counted(tokensOf(call.text), "tokens");

export const msWords = (call: Call): string => counted(Math.round(call.ms), "ms");

function jsonOf(call: Call): HTMLElement {
  const told = new Told();
  const copy = (): void => { told.tell(copied(call.text) ? "Copied." : "The browser does not allow copying."); };
  return element(
    "div",
    {},
    element(
      "p",
      { class: "muted" },
      `What the model reads, about ${tokensWords(call)}. The rest of the result, such as the table of a view, is hidden from it. `,
      element("button", { type: "button", class: "quiet", onclick: copy }, "Copy"),
      " ",
      told.element,
    ),
    element("pre", { class: "code", tabindex: "0", "aria-label": "JSON of the answer" }, pretty(call.answer)),
  );
}

function timing(call: Call): HTMLElement {
  const facts: readonly (readonly [string, string])[] = [
    ["round trip", msWords(call)],
    ["for the model", `${tokensWords(call)}, ${counted(call.text.length, "characters")}`],
    ["over the wire", counted(call.bytes, "bytes")],
  ];
  return element(
    "div",
    {},
    element("dl", { class: "plain" }, ...facts.flatMap(([name, words]) => [element("dt", {}, name), element("dd", {}, words)])),
    element("h3", {}, "The same call from a shell"),
    element("pre", { class: "code", tabindex: "0", "aria-label": "Command" }, command(call)),
  );
}

/** The call as curl makes it, with the key where it is not seen. */
function command({ tool, asked }: Call): string {
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool, arguments: asked } };
  const given = Object.entries({ Authorization: "Bearer $TIEOUT_KEY", ...JSON_BOTH_WAYS });
  const lines = given.map(([name, value]) => `  -H "${name}: ${value}" \\`);
  return [`curl ${location.origin}/mcp \\`, ...lines, `  -d '${JSON.stringify(message).replaceAll("'", "'\\''")}'`].join("\n");
}
