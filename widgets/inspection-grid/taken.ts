// What people take away of rows: headings and rows as fields, ids as text with their labels beside them.

import type { Field } from "../shared/delimited";
import type { Cell, Column, Inspection } from "./inspection";

export function rowsOf(
  { across: columns, rows }: Inspection,
  shown: readonly number[],
  order: readonly number[],
): readonly (readonly Field[])[] {
  const taken = shown.flatMap((at) => (columns[at] ? [{ at, column: columns[at] }] : []));
  const headings = taken.flatMap(({ column }) => headingsOf(column));
  const body = order.map((row) => taken.flatMap(({ at, column }) => fieldsOf(rows[row]?.[at], column)));
  return [headings, ...body];
}

const isLabelled = ({ labels }: Column): boolean => Object.keys(labels).length > 0;

function headingsOf(column: Column): readonly Field[] {
  const heading = { words: column.unit ? `${column.label} (${column.unit})` : column.label };
  return isLabelled(column) ? [heading, { words: `${column.label}, label` }] : [heading];
}

function fieldsOf(cell: Cell | undefined, column: Column): readonly Field[] {
  if (column.kind === "number") return [cell?.value ?? null];
  const field = { words: cell?.text ?? "" };
  return isLabelled(column) ? [field, { words: cell?.label ?? "" }] : [field];
}
