// The rows behind a cell, read through the host and shown under the table: for each call what it adds up to.

import { decimal, exactly } from "../shared/decimal";
import type { Call } from "../shared/drill";
import { button, element } from "../shared/element";
import type { Host } from "../shared/host";
import { answers, refusalOf } from "../shared/result";
import { fields, isFields, list, number, text } from "../shared/shape";
import type { Fields } from "../shared/shape";

const MOST = 50; // rows shown of a call

export async function rowsBehind(host: Host, title: string, behind: readonly Call[]): Promise<HTMLElement> {
  const results = await Promise.all(behind.map(({ args }) => host.call("inspect_rows", args)));
  const panel = element("section", { class: "behind", role: "region", "aria-label": `Rows behind ${title}`, tabindex: -1 });
  const close = button("✕", "Close the rows", () => { panel.remove(); });
  close.setAttribute("aria-label", "Close the rows");
  panel.append(element("h2", {}, `Rows behind ${title}`, close));
  for (const [at, call] of behind.entries()) panel.append(...shown(call, results[at] ?? {}, behind.length > 1));
  return panel;
}

function* shown({ sign }: Call, result: Fields, hasSign: boolean): Generator<HTMLElement> {
  const refusal = refusalOf(result);
  const said = fields([...answers(result)].find((copy) => isFields(copy) && "row_count" in copy));
  if (refusal || !Array.isArray(said.rows)) {
    yield element("p", {}, refusal?.error ?? "The host did not hand over the rows.");
    return;
  }
  const figure = decimal(said.figure);
  const counted = number(said.row_count) ?? 0;
  const seen = Math.min(MOST, said.rows.length);
  const words = [
    text(said.scenario_id),
    counted > seen ? `first ${seen} of ${counted.toLocaleString("en")}${said.truncated === true ? " or more" : ""} rows` : `${counted} rows`,
    figure ? `together ${exactly(figure)}` : "",
  ];
  yield element("p", {}, `${hasSign ? `${sign === "-" ? "less" : "plus"} ` : ""}${words.filter(Boolean).join(" · ")}`);
  yield element("div", { class: "scroller", tabindex: 0 }, tableOf(said, seen));
}

function tableOf(said: Fields, seen: number): HTMLTableElement {
  const columns = list(said.columns).map(fields);
  const labels = fields(said.labels);
  const head = columns.map((column) => element("th", { scope: "col", class: kindOf(column) }, text(column.name)));
  const rows = list(said.rows).slice(0, seen).map((row) =>
    element("tr", {}, ...list(row).map((value, at) => cellOf(value, columns[at] ?? {}, labels))),
  );
  return element("table", { class: "rows" }, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
}

const kindOf = (column: Fields): string | undefined => (column.type === "number" ? "number" : undefined);

function cellOf(value: unknown, column: Fields, labels: Fields): HTMLTableCellElement {
  const known = typeof value === "number" || typeof value === "string" ? value : "";
  const figure = column.type === "number" ? decimal(known) : undefined;
  const label = text(fields(labels[text(column.name)])[String(known)]);
  const words = figure ? exactly(figure) : [known, label].filter((part) => part !== "").join(" ");
  return element("td", { class: kindOf(column) }, words);
}
