// Delimited text: rows for spreadsheets, TSV for the clipboard and CSV for a file, of raw figures.

import type { Value } from "./decimal";

const FORMULA = /^[=+\-@\t\r]/; // what a spreadsheet would compute
const BYTE_ORDER_MARK = "\uFEFF"; // tells Excel that a file is UTF-8

export type Field = Value | { readonly words: string }; // a figure, or words of the books

const written = (field: Field): string => {
  if (field === null) return "";
  if (typeof field !== "object") return String(field);
  return FORMULA.test(field.words) ? `'${field.words}` : field.words;
};

const quoted = (words: string): string => (/[",\r\n]/.test(words) ? `"${words.replaceAll('"', '""')}"` : words);

export const tsv = (rows: readonly (readonly Field[])[]): string =>
  rows.map((row) => row.map((field) => written(field).replace(/[\t\r\n]+/g, " ")).join("\t")).join("\n");

export const csv = (rows: readonly (readonly Field[])[]): string =>
  BYTE_ORDER_MARK + rows.map((row) => `${row.map((field) => quoted(written(field))).join(",")}\r\n`).join("");
