// The head and the rows of a grid, column by column: ids with their labels, days, amounts aligned, units said once.

import { element } from "../shared/element";
import type { Cell, Column, Inspection, Row } from "./inspection";
import type { Sort } from "./order";

export interface Shown {
  readonly at: number; // of the inspection's columns
  readonly column: Column;
}

export function headRow(shown: readonly Shown[], sort: Sort | undefined): HTMLTableRowElement {
  return element("tr", { role: "row" }, ...shown.map((one) => heading(one, sort)));
}

function heading({ at, column }: Shown, sort: Sort | undefined): HTMLTableCellElement {
  const order = sort?.column !== at ? "none" : sort.isDescending ? "descending" : "ascending";
  const cell = element("th", { role: "columnheader", scope: "col", "aria-sort": order, class: kindOf(column) });
  cell.append(element("button", { type: "button", tabindex: -1, "data-sort": at }, column.label));
  if (column.unit && column.unit !== "number") cell.append(element("small", {}, column.unit));
  return cell;
}

export function bodyRows({ rows }: Inspection, order: readonly number[], shown: readonly Shown[]): HTMLTableRowElement[] {
  return order.map((at) => {
    const row = element("tr", { role: "row", "data-at": at });
    row.append(...shown.map((one) => cellOf(rows[at], one)));
    return row;
  });
}

function cellOf(row: Row | undefined, { at, column }: Shown): HTMLTableCellElement {
  const cell = row?.[at];
  const made = element("td", { role: "gridcell", tabindex: -1, class: kindOf(column), "data-field": at });
  if (cell) made.append(...inside(cell));
  if (cell?.text.endsWith(")") && column.kind === "number") made.classList.add("negative");
  return made;
}

function inside({ text, label }: Cell): readonly (Node | string)[] {
  return label ? [text, " ", element("span", { class: "label" }, label)] : [text];
}

const kindOf = ({ name, kind }: Column): string => (name === "contribution" ? `${kind} contribution` : kind);
