// What people take away of a table: headings and lines as fields of raw figures.

import type { Field } from "../shared/delimited";
import type { Placed } from "./arrangement";
import type { Table } from "./table";

const words = (text: string): Field => ({ words: text });

export function rowsOf(table: Table, columns: readonly Placed[], lines: readonly number[]): readonly (readonly Field[])[] {
  const depth = Math.max(...columns.map(({ column }) => column.titles.length));
  const headings = Array.from({ length: depth }, (_, level) => [
    words(level === 0 ? table.caption : ""),
    words(level === depth - 1 ? "Unit" : ""),
    ...columns.map(({ column }) => words(column.titles[level] ?? "")),
  ]);
  return [...headings, ...lines.map((at) => lineOf(table, columns, at))];
}

function lineOf(table: Table, columns: readonly Placed[], at: number): readonly Field[] {
  const line = table.lines[at];
  if (!line) return [];
  return [words(line.label), words(line.unit), ...columns.map((column): Field => line.cells[column.at]?.value ?? null)];
}
