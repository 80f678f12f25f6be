// Amounts as text, where the server's own text did not come along, and sums of them: digit by digit, never as doubles.

import { decimal, grouped, NONE, plus, rounded } from "../shared/decimal";
import type { Decimal, Value } from "../shared/decimal";

const ZERO = "\u2013";

/** A dash for zero, parentheses around negative amounts, nothing for none. */
export function amountText(value: Value, places: number): string {
  const exact = decimal(value);
  return exact ? decimalText(exact, places) : "";
}

export function decimalText(exact: Decimal, places: number): string {
  const shown = rounded(exact, places);
  if (shown.units === 0n) return ZERO;
  return shown.units < 0n ? `(${grouped(shown)})` : grouped(shown);
}

export const sum = (values: readonly Value[]): Decimal =>
  values.reduce<Decimal>((total, value) => plus(total, decimal(value) ?? NONE), NONE);
