// Figures as text, where the server's own text did not come along: the same rules, on the same raw figures.

import { decimal, grouped, rounded, times } from "../shared/decimal";
import type { Value } from "../shared/decimal";

export type Comparison = "figure" | "variance" | "share" | "part" | "rank";

export interface Kind {
  readonly unit: string;
  readonly format: string;
  readonly comparison: Comparison;
}

export interface Precision {
  readonly scale: number;
  readonly decimals: number | undefined;
}

const MINUS = "\u2212";
const ZERO = "\u2013";

export const differs = (comparison: Comparison): boolean => comparison === "variance" || comparison === "share";

export const isPercent = ({ format, comparison }: Kind): boolean =>
  comparison === "share" || comparison === "part" || (format === "percent" && comparison !== "rank");

/** Nothing for none, a dash for zero, parentheses around negative amounts; variances and percents carry a sign. */
export function shown(value: Value, kind: Kind, precision: Precision): string {
  const exact = decimal(value);
  if (exact === undefined) return "";
  const inHundredths = isPercent(kind);
  const figure = rounded(inHundredths ? times(exact, 2) : exact, placesOf(kind, precision));
  if (figure.units === 0n) return ZERO;
  return signed(grouped(figure), figure.units < 0n, kind.comparison, inHundredths);
}

function signed(digits: string, isNegative: boolean, comparison: Comparison, inHundredths: boolean): string {
  const plus = differs(comparison) ? "+" : "";
  const sign = isNegative ? MINUS : plus;
  if (inHundredths) return `${sign}${digits}${comparison === "variance" ? " pp" : "%"}`;
  if (comparison === "variance") return `${sign}${digits}`;
  return isNegative ? `(${digits})` : digits;
}

function placesOf(kind: Kind, { scale, decimals }: Precision): number {
  if (kind.comparison === "rank") return 0;
  if (decimals !== undefined) return decimals;
  if (isPercent(kind)) return 1;
  if (isPrice(kind.unit) || kind.unit === "ratio") return 2;
  return scale >= 6 && kind.format === "currency" ? 1 : 0;
}

export const isPrice = (unit: string): boolean => unit.endsWith(" each");
