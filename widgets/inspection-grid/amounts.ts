// Amounts as text, where the server's own text did not come along, and sums of them: digit by digit, never as doubles.

import { decimal, grouped, magnitude, rounded } from "../shared/decimal";
import type { Decimal, Value } from "../shared/decimal";

const ZERO = "\u2013";
const NOTHING: Decimal = { units: 0n, places: 0 };

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
  values.reduce<Decimal>((total, value) => added(total, decimal(value) ?? NOTHING), NOTHING);

export const less = (a: Decimal, b: Decimal): Decimal => added(a, { units: -b.units, places: b.places });

function added(a: Decimal, b: Decimal): Decimal {
  const places = Math.max(a.places, b.places);
  return { units: rounded(a, places).units + rounded(b, places).units, places };
}

/** Every digit of a figure, for who wants to see it exactly. */
export function exactText(value: Value): string {
  const exact = decimal(value);
  if (!exact) return "";
  return `${exact.units < 0n ? "\u2212" : ""}${grouped({ units: magnitude(exact.units), places: exact.places })}`;
}
