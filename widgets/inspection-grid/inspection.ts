// Rows behind a figure as the view shows them: columns, cells, what the rows add up to, and what is not shown.
//
// They are read from the block that was rendered for the view, or from a result without one: that has the same parts
// with bare values, and texts are made here by the server's own rules.

import { decimal, valueOf } from "../shared/decimal";
import type { Value } from "../shared/decimal";
import { rangeWords } from "../shared/periods";
import { fields, list, number, oneOf, text } from "../shared/shape";
import type { Fields } from "../shared/shape";
import { amountText } from "./amounts";

export const MOST_ROWS = 50;
const KINDS = ["date", "member", "number", "text"] as const;

export interface Column {
  readonly name: string;
  readonly label: string;
  readonly kind: (typeof KINDS)[number];
  readonly unit: string;
  readonly places: number;
  readonly labels: Fields; // of members, where a label says more than the id
}

export interface Cell {
  readonly text: string;
  readonly value: Value;
  readonly label: string;
}

export type Row = readonly Cell[];

export interface Contributed {
  readonly total: Cell; // what all rows make, shown or not
  readonly divisor: Value; // nothing where the total is the figure
  readonly figure: Cell;
}

export interface Inspection {
  readonly label: string;
  readonly caption: string;
  readonly across: readonly Column[];
  readonly rows: readonly Row[];
  readonly found: number; // rows, up to the limit of the call
  readonly answered: number; // of these, rows that the model was given
  readonly isTruncated: boolean; // whether there are more than the limit
  readonly total: number | undefined; // all rows, whatever the limit
  readonly groups: number | undefined; // of rows counted by columns, all of them
  readonly contributed: Contributed | undefined;
  readonly notes: readonly string[];
  readonly dataRef: string;
}

/** Nothing where this is neither a rendered grid nor the answer of an inspection. */
export function readInspection(found: unknown): Inspection | undefined {
  const said = fields(found);
  if (!Array.isArray(said.columns) || !Array.isArray(said.rows) || typeof said.source_key !== "string") return undefined;
  const columns = said.columns.map((column) => readColumn(fields(column), fields(said.labels)));
  const rows = said.rows.slice(0, MOST_ROWS).map((row) => columns.map((column, at) => readCell(list(row)[at], column)));
  const source = text(said.source_label) || said.source_key;
  const figure = text(said.metric_label) || text(said.metric);
  const chosen = Object.entries(fields(said.chosen)).map(([heading, words]) => `${heading}: ${text(words)}`);
  const scope = [figure ? source : "", text(said.scenario_id), rangeWords(said.period), ...chosen];
  return {
    label: figure || source,
    caption: scope.filter(Boolean).join(" · "),
    across: columns,
    rows,
    found: number(said.row_count) ?? said.rows.length,
    answered: number(said.rows_answered) ?? said.rows.length,
    isTruncated: said.truncated === true,
    total: number(said.total_rows),
    groups: number(said.total_groups),
    contributed: readContributed(said, columns.at(-1)),
    notes: list(said.notes).map((note) => text(fields(note).message)),
    dataRef: text(said.data_ref),
  };
}

function readColumn(column: Fields, labels: Fields): Column {
  const name = text(column.name);
  return {
    name,
    label: text(column.label) || name,
    kind: oneOf(KINDS, column.type, "text"),
    unit: text(column.unit),
    places: number(column.places) ?? 0,
    labels: fields(labels[name]),
  };
}

/** An amount is a text and its value, or the value alone. */
function readCell(found: unknown, column: Column): Cell {
  if (Array.isArray(found)) return { text: text(found[0]), value: valueOf(found[1]), label: "" };
  const value = valueOf(found);
  if (column.kind === "number") return { text: amountText(value, column.places), value, label: "" };
  const words = value === null ? "" : String(value);
  return { text: words, value, label: text(column.labels[words]) };
}

function readContributed(said: Fields, column: Column | undefined): Contributed | undefined {
  if (column?.name !== "contribution" || (said.contribution_total ?? null) === null) return undefined;
  const divisor = valueOf(said.divisor);
  return {
    total: readCell(said.contribution_total, column),
    divisor: decimal(divisor) ? divisor : null,
    figure: readCell(said.figure, column),
  };
}
