// Decimals: figures as JSON has them, rounded and compared digit by digit, never as doubles.

export interface Decimal {
  readonly units: bigint; // of the last place, with its sign
  readonly places: number;
}

export type Value = number | string | null;

/** Nothing, to add to. */
export const NONE: Decimal = { units: 0n, places: 0 };

const WRITTEN = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i;

/** A figure out of JSON. */
export const valueOf = (found: unknown): Value => (typeof found === "number" || typeof found === "string" ? found : null);

/** The decimal that a figure's shortest text writes; none of what is no number. */
export function decimal(value: unknown): Decimal | undefined {
  if (typeof value !== "number" && typeof value !== "string") return undefined;
  const [, sign = "", whole = "", rest = "", exponent = "0"] = WRITTEN.exec(String(value)) ?? [];
  if (whole === "") return undefined;
  const units = BigInt(`${sign}${whole}${rest}`);
  const places = rest.length - Number(exponent);
  return places < 0 ? { units: units * 10n ** BigInt(-places), places: 0 } : { units, places };
}

export const times = ({ units, places }: Decimal, powerOfTen: number): Decimal =>
  places >= powerOfTen ? { units, places: places - powerOfTen } : { units: units * 10n ** BigInt(powerOfTen - places), places: 0 };

/** At some decimal places, half away from zero. */
export function rounded({ units, places }: Decimal, to: number): Decimal {
  if (places <= to) return { units: units * 10n ** BigInt(to - places), places: to };
  const divisor = 10n ** BigInt(places - to);
  const size = (2n * magnitude(units) + divisor) / (2n * divisor);
  return { units: units < 0n ? -size : size, places: to };
}

/** One and another, the other with a sign. */
export function plus(one: Decimal, other: Decimal, sign: 1 | -1 = 1): Decimal {
  const places = Math.max(one.places, other.places);
  return { units: rounded(one, places).units + BigInt(sign) * rounded(other, places).units, places };
}

export const magnitude = (units: bigint): bigint => (units < 0n ? -units : units);

/** Digits without a sign, thousands set apart. */
export function grouped({ units, places }: Decimal): string {
  const digits = magnitude(units).toString().padStart(places + 1, "0");
  const whole = digits.slice(0, digits.length - places).replace(/\B(?=(\d{3})+$)/g, ",");
  return places > 0 ? `${whole}.${digits.slice(-places)}` : whole;
}

/** Every digit, with its sign. */
export const exactly = (figure: Decimal): string => `${figure.units < 0n ? "\u2212" : ""}${grouped(figure)}`;

/** A figure with every digit, nothing for none. */
export function exactText(value: Value): string {
  const exact = decimal(value);
  return exact ? exactly(exact) : "";
}

/** Below 0 where the first is less; what is no figure comes last whichever way. */
export function compared(a: Value, b: Value): number {
  const [first, second] = [decimal(a), decimal(b)];
  if (first === undefined || second === undefined) return Number(first === undefined) - Number(second === undefined);
  const { units } = plus(first, second, -1);
  return Number(units > 0n) - Number(units < 0n);
}
