// The order of rows, and which of them hold what is looked for.

import { compared } from "../shared/decimal";
import { plain } from "../shared/words";
import type { Cell, Column, Row } from "./inspection";

export interface Sort {
  readonly column: number;
  readonly isDescending: boolean;
}

/** A column's next sort: amounts from the largest, all else from the first, then the other way, then as answered. */
export function nextSort(sort: Sort | undefined, column: number, { kind }: Column): Sort | undefined {
  const first = kind === "number";
  if (sort?.column !== column) return { column, isDescending: first };
  return sort.isDescending === first ? { column, isDescending: !first } : undefined;
}

/** The places of the rows in the order of a sort; what is blank comes last whichever way. */
export function ordered(rows: readonly Row[], columns: readonly Column[], sort: Sort | undefined): readonly number[] {
  const places = [...rows.keys()];
  const column = sort && columns[sort.column];
  if (!column) return places;
  const by = column.kind === "number" ? byAmount : byText;
  const sign = sort.isDescending ? -1 : 1;
  return places.sort((a, b) => {
    const [first, second] = [rows[a]?.[sort.column], rows[b]?.[sort.column]];
    if (!first || !second) return 0;
    if (first.value === null || second.value === null) return Number(first.value === null) - Number(second.value === null);
    return sign * by(first, second);
  });
}

const byAmount = (a: Cell, b: Cell): number => compared(a.value, b.value);
const byText = (a: Cell, b: Cell): number => a.text.localeCompare(b.text, undefined, { numeric: true });

/** Of some rows, those that hold the words in an id, a label, a text or an amount as it is shown. */
export function holding(rows: readonly Row[], places: readonly number[], words: string): readonly number[] {
  const wanted = plain(words.trim());
  if (wanted === "") return [];
  const holds = ({ text, label }: Cell): boolean => plain(`${text} ${label}`).includes(wanted);
  return places.filter((at) => rows[at]?.some(holds));
}
