// Shapes: JSON of unknown origin read part by part; what is not of its kind reads as nothing.

export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (found: unknown): found is Fields =>
  typeof found === "object" && found !== null && !Array.isArray(found);

export const fields = (found: unknown): Fields => (isFields(found) ? found : {});

export const list = (found: unknown): readonly unknown[] => (Array.isArray(found) ? found : []);

export const text = (found: unknown): string => (typeof found === "string" ? found : "");

export const number = (found: unknown): number | undefined => (typeof found === "number" ? found : undefined);

export const texts = (found: unknown): readonly string[] => list(found).map(text);

/** One of some words, another where it is none of them. */
export const oneOf = <Word extends string>(words: readonly Word[], found: unknown, otherwise: Word): Word =>
  words.find((word) => word === found) ?? otherwise;

export function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}
