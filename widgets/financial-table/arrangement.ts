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
  readonly columns: readonly Placed[];
}

export const canTurn = (table: Table): boolean =>
  table.columns.length > 1 && table.columns.every((column) => column.heading.length === 2);

/** The columns as they were answered, or turned: grouped by what was inside, such as scenarios inside each period. */
export function groups(table: Table, isTurned: boolean): readonly Group[] {
  const placed = table.columns.map((column, at): Placed => {
    const [outer = "", inner] = column.heading;
    if (inner === undefined) return { at, column, group: "", name: outer };
    return isTurned ? { at, column, group: inner, name: outer } : { at, column, group: outer, name: inner };
  });
  if (isTurned) return [...groupedBy(placed, ({ group }) => group)].map(([name, columns]) => ({ name, columns }));
  const found: { name: string; columns: Placed[] }[] = [];
  for (const one of placed) {
    const last = found.at(-1);
    if (last?.name === one.group && one.group !== "") last.columns.push(one);
    else found.push({ name: one.group, columns: [one] });
  }
  return found;
}

/** A mark says actual, plan or forecast: on the group where all of it is one, else on each column. */
export const isMarkedByGroup = (every: readonly Group[]): boolean =>
  every.every(({ name, columns }) => name !== "" && new Set(columns.map(({ column }) => mark(column))).size === 1);

export const mark = (column: Column): string => (column.comparison === "figure" ? column.style : column.comparison);
