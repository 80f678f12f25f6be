// The arrangement of columns: their order, and the groups that share the first level of their heading.

import { groupedBy } from "../shared/grouped";
import type { Column, Table } from "./table";

export interface Placed {
  readonly at: number; // of the table's columns
  readonly column: Column;
  readonly group: string;
  readonly name: string;
}

export interface Group {
  readonly name: string;
  readonly across: readonly Placed[];
}

export const canTurn = (table: Table): boolean =>
  table.across.length > 1 && table.across.every((column) => column.titles.length === 2);

/** The columns as they were answered, or turned: grouped by what was inside, such as scenarios inside each period. */
export function groups(table: Table, isTurned: boolean): readonly Group[] {
  const placed = table.across.map((column, at): Placed => {
    const [outer = "", inner] = column.titles;
    if (inner === undefined) return { at, column, group: "", name: outer };
    return isTurned ? { at, column, group: inner, name: outer } : { at, column, group: outer, name: inner };
  });
  if (isTurned) return [...groupedBy(placed, ({ group }) => group)].map(([name, across]) => ({ name, across }));
  const found: { name: string; across: Placed[] }[] = [];
  for (const one of placed) {
    const last = found.at(-1);
    if (last?.name === one.group && one.group !== "") last.across.push(one);
    else found.push({ name: one.group, across: [one] });
  }
  return found;
}

/** A mark says actual, plan or forecast: on the group where all of it is one, else on each column. */
export const isMarkedByGroup = (every: readonly Group[]): boolean =>
  every.every(({ name, across }) => name !== "" && new Set(across.map(({ column }) => mark(column))).size === 1);

export const mark = (column: Column): string => (column.comparison === "figure" ? column.style : column.comparison);
