// The body of a table: a row for each line with its label, level and cells, in the order of the columns above.

import { element } from "../shared/element";
import type { Placed } from "./arrangement";
import type { Outline } from "./outline";
import type { Cell, Column, Line } from "./table";
import { trend } from "./trend";

const JUDGED = { 1: "good", 0: "", [-1]: "bad" } as const;
const SAID = { 1: "favourable", 0: "", [-1]: "adverse" } as const;

export function bodyRows(outline: Outline, columns: readonly Placed[], periods: readonly number[]): HTMLTableRowElement[] {
  return outline.lines.map((line, at) => rowOf(line, at, outline, columns, periods));
}

function rowOf(line: Line, at: number, outline: Outline, columns: readonly Placed[], periods: readonly number[]): HTMLTableRowElement {
  const row = document.createElement("tr");
  row.className = `line ${line.style} ${line.kind}`;
  row.dataset.at = String(at);
  const { count, position } = outline.among(at);
  row.setAttribute("role", "row");
  row.setAttribute("aria-level", String(line.level + 1));
  row.setAttribute("aria-setsize", String(count));
  row.setAttribute("aria-posinset", String(position));
  row.append(rowHead(line, outline.isParent(at)));
  if (periods.length > 0) row.append(element("td", { role: "gridcell", class: "trend-cell" }, trend(line, periods)));
  for (const [place, placed] of columns.entries()) {
    const first = place > 0 && columns[place - 1]?.group !== placed.group;
    row.append(cellOf(line.cells[placed.at], placed.column, first));
  }
  return row;
}

function rowHead(line: Line, isParent: boolean): HTMLElement {
  const head = element("th", { role: "rowheader", scope: "row", tabindex: -1, style: `--level: ${line.level}` });
  head.append(element("span", { class: isParent ? "fold" : "fold none", "aria-hidden": "true" }), element("span", { class: "label" }, line.label));
  if (line.unit) head.append(" ", element("small", {}, line.unit));
  return head;
}

function cellOf(cell: Cell | undefined, column: Column, isFirst: boolean): HTMLTableCellElement {
  const made = document.createElement("td");
  made.setAttribute("role", "gridcell");
  made.tabIndex = -1;
  if (cell === undefined) return made;
  made.textContent = cell.text;
  const judged = JUDGED[cell.good];
  const classes = [judged, cell.text.endsWith(")") ? "negative" : "", column.isTotal ? "sum" : "", isFirst ? "first" : ""];
  made.className = classes.filter(Boolean).join(" ");
  if (cell.value === null && cell.text) made.classList.add("unavailable");
  if (judged) made.setAttribute("aria-label", `${cell.text}, ${SAID[cell.good]}`);
  return made;
}

/** Puts rows in the order of the outline and hides those that are folded away. */
export function arrange(body: HTMLTableSectionElement, rows: readonly HTMLTableRowElement[], outline: Outline): void {
  const inOrder = outline.order.map((at) => rows[at]).filter((row) => row !== undefined);
  if (inOrder.some((row, at) => row !== body.rows[at])) body.replaceChildren(...inOrder);
  const seen = new Set(outline.seen);
  for (const [at, row] of rows.entries()) {
    row.hidden = !seen.has(at);
    if (outline.isParent(at)) row.setAttribute("aria-expanded", String(!outline.isFolded(at)));
  }
}
