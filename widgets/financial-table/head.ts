// The head of a table: its column groups, the columns under them, their marks and units, and a button to sort by each.

import { element } from "../shared/element";
import { isMarkedByGroup, mark } from "./arrangement";
import type { Group, Placed } from "./arrangement";
import type { Sort } from "./outline";

export interface Head {
  readonly rows: readonly HTMLTableRowElement[];
  readonly sorters: readonly HTMLButtonElement[]; // by column of the grid, that of the labels first
}

export const LABELS = -1; // as a column to sort by

export const isGrouped = (every: readonly Group[]): boolean => every.some(({ name }) => name !== "");

export function headOf(every: readonly Group[], rowsAre: string, hasTrend: boolean): Head {
  const marksGroups = isMarkedByGroup(every);
  const corner = heading({ at: LABELS, name: rowsAre }, isGrouped(every) ? 2 : 1);
  corner.classList.add("corner");
  const leaves = every.flatMap(({ across }) => across.map((placed, at) => leaf(placed, !marksGroups, at === 0)));
  const trend = hasTrend ? [element("th", { role: "columnheader", scope: "col", class: "trend-head", rowspan: isGrouped(every) ? 2 : 1 }, "Trend")] : [];
  const rows = isGrouped(every)
    ? [row(corner, ...trend, ...every.map((group) => groupHead(group, marksGroups))), row(...leaves)]
    : [row(corner, ...trend, ...leaves)];
  const sorters = [corner, ...leaves].map((cell) => cell.querySelector("button")).filter((found) => found !== null);
  return { rows, sorters };
}

const row = (...cells: readonly HTMLElement[]): HTMLTableRowElement => element("tr", { role: "row" }, ...cells);

function heading({ at, name }: { readonly at: number; readonly name: string }, rowspan = 1): HTMLTableCellElement {
  const sorter = element("button", { type: "button", tabindex: -1, "data-sort": at }, name);
  const spanning = rowspan > 1 ? rowspan : undefined;
  return element("th", { role: "columnheader", scope: "col", "aria-sort": "none", rowspan: spanning }, sorter);
}

function leaf(placed: Placed, isMarked: boolean, isFirst: boolean): HTMLTableCellElement {
  const { column } = placed;
  const cell = heading(placed);
  cell.classList.toggle("first", isFirst);
  cell.classList.toggle("sum", column.isTotal);
  for (const words of [column.window, column.unit]) if (words) cell.append(element("small", {}, words));
  if (isMarked) cell.append(marked(mark(column)));
  return cell;
}

function groupHead({ name, across }: Group, isMarked: boolean): HTMLTableCellElement {
  const cell = element("th", { role: "columnheader", scope: "colgroup", colspan: across.length, class: "group first" });
  cell.append(element("span", { class: "name" }, name));
  const [first] = across;
  if (isMarked && first) cell.append(marked(mark(first.column)));
  return cell;
}

const marked = (kind: string): HTMLElement => element("span", { class: `mark ${kind}`, "aria-hidden": "true" });

/** Says by which column the lines are sorted. */
export function sayOrder(head: Head, sort: Sort | undefined): void {
  for (const sorter of head.sorters) {
    const column = Number(sorter.dataset.sort);
    const isBy = sort !== undefined && (sort.column ?? LABELS) === column;
    sorter.parentElement?.setAttribute("aria-sort", isBy ? (sort.isDescending ? "descending" : "ascending") : "none");
  }
}
