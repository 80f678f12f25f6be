// JSON as the playground walks and shows it, on top of the shapes that every view reads it by.

import { fields, isFields, list, type Fields } from "../shared/shape";

/** What stands under some names, one inside the other. */
export const at = (found: unknown, ...names: readonly string[]): unknown =>
  names.reduce((inside, name) => fields(inside)[name], found);

export const objects = (found: unknown): readonly Fields[] => list(found).filter(isFields);

export const pretty = (found: unknown): string => JSON.stringify(found, null, 2);
