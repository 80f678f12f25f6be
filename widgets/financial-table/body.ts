// The body of a table: a row for each line with its label, level and cells, in the order of the columns above.

import { element } from "../shared/element";
import type { Placed } from "./arrangement";
import { barsOf, isCompared } from "./bars";
import type { Bar } from "./bars";
import type { Outline } from "./outline";
import type { Cell, Column, Line } from "./table";
import { trend } from "./trend";

const JUDGED = { 1: "good", 0: "", [-1]: "bad" } as const;
const SAID = { 1: "favourable", 0: "", [-1]: "adverse" } as const;

export function bodyRows(
  outline: Outline,
  columns: readonly Placed[],
  periods: readonly number[],
  hasBars: boolean,
): HTMLTableRowElement[] {
  const bars = columns.map(({ at, column }) => (hasBars && isCompared(column) ? barsOf(outline.lines, column, at) : []));
  return outline.lines.map((line, at) => rowOf(line, at, outline, columns, periods, bars.map((ofLines) => ofLines[at])));
}

function rowOf(
  line: Line,
  at: number,
  outline: Outline,
  columns: readonly Placed[],
  periods: readonly number[],
  bars: readonly (Bar | undefined)[],
): HTMLTableRowElement {
  const { count, position } = outline.among(at);
  const row = element("tr", {
    class: `line ${line.style} ${line.kind}${line.isInner ? " inner" : ""}`,
    "data-at": at,
    role: "row",
    "aria-level": line.level + 1,
    "aria-setsize": count,
    "aria-posinset": position,
  });
  row.append(rowHead(line, outline.isParent(at)));
  if (periods.length > 0) row.append(element("td", { role: "gridcell", class: "trend-cell" }, trend(line, periods)));
  for (const [place, placed] of columns.entries()) {
    const first = place > 0 && columns[place - 1]?.group !== placed.group;
    row.append(cellOf(line.cells[placed.at], placed.column, first, bars[place]));
  }
  return row;
}

function rowHead(line: Line, isParent: boolean): HTMLElement {
  const head = element("th", { role: "rowheader", scope: "row", tabindex: -1, style: `--level: ${line.level}` });
  head.append(element("span", { class: isParent ? "fold" : "fold none", "aria-hidden": "true" }), element("span", { class: "label" }, line.label));
  for (const words of [line.unit, line.aside]) if (words) head.append(" ", element("small", {}, words));
  return head;
}

function cellOf(cell: Cell | undefined, column: Column, isFirst: boolean, bar: Bar | undefined): HTMLTableCellElement {
  const made = document.createElement("td"); // of ten thousand: not attribute by attribute
  made.role = "gridcell";
  made.tabIndex = -1;
  if (cell === undefined) return made;
  made.textContent = cell.text;
  const judged = JUDGED[cell.good];
  const classes = [
    judged,
    cell.text.endsWith(")") ? "negative" : "",
    column.isTotal ? "sum" : "",
    isFirst ? "first" : "",
    cell.value === null && cell.text ? "unavailable" : "",
    bar ? (bar.isPin ? "pin" : "bar") : "",
  ];
  made.className = classes.filter(Boolean).join(" ");
  if (bar) made.style.cssText = `--at:${bar.zero}px;--by:${bar.length}px`;
  if (judged) made.ariaLabel = `${cell.text}, ${SAID[cell.good]}`;
  return made;
}

/** Puts rows in the order of the outline and hides those that are folded away. */
export function arrange(body: HTMLTableSectionElement, rows: readonly HTMLTableRowElement[], outline: Outline): void {
  const inOrder = outline.order.map((at) => rows[at]).filter((row) => row !== undefined);
  if (inOrder.some((row, at) => row !== body.rows[at])) body.replaceChildren(...inOrder);
  const seen = new Set(outline.seen);
  for (const [at, row] of rows.entries()) {
    row.hidden = !seen.has(at);
    if (outline.isParent(at)) row.ariaExpanded = String(!outline.isFolded(at));
  }
}
