// The foot of a grid: the contributions shown and not shown, and how together they make the figure.

import { decimal, exactText, plus } from "../shared/decimal";
import { element } from "../shared/element";
import { decimalText, sum } from "./amounts";
import type { Inspection } from "./inspection";

export interface Sum {
  readonly words: string;
  readonly text: string;
  readonly style: "part" | "total" | "figure";
}

export function footRows(inspection: Inspection, width: number): HTMLTableRowElement[] {
  return sums(inspection).map(({ words, text, style }) => {
    const head = element("th", { role: "rowheader", scope: "row", colspan: Math.max(1, width - 1), tabindex: -1 });
    head.append(element("span", {}, words));
    const cell = element("td", { role: "gridcell", tabindex: -1, class: "number contribution" }, text);
    cell.classList.toggle("negative", text.endsWith(")"));
    return element("tr", { role: "row", class: style }, head, cell);
  });
}

export function sums(inspection: Inspection): readonly Sum[] {
  const { contributed, rows, across: columns, groups } = inspection;
  const total = decimal(contributed?.total.value ?? null);
  if (!contributed || !total) return [];
  const last = columns.length - 1;
  const shown = sum(rows.map((row) => row[last]?.value ?? null));
  const places = columns[last]?.places ?? 0;
  const parts: Sum[] = isWhole(inspection)
    ? []
    : [
        { words: groups === undefined ? rowsWords(rows.length, "shown") : "Groups shown", text: decimalText(shown, places), style: "part" },
        { words: groups === undefined ? "All other rows" : "All other groups", text: decimalText(plus(total, shown, -1), places), style: "part" },
      ];
  const quotient: Sum[] =
    contributed.divisor === null
      ? []
      : [{ words: `Divided by ${exactText(contributed.divisor)}`, text: contributed.figure.text, style: "figure" }];
  return [...parts, { words: "Adds up to", text: contributed.total.text, style: "total" }, ...quotient];
}

export const isWhole = ({ rows, found, isTruncated }: Inspection): boolean => rows.length === found && !isTruncated;

export const rowsWords = (count: number, what = ""): string =>
  `${count.toLocaleString("en")} ${count === 1 ? "row" : "rows"} ${what}`.trim();
