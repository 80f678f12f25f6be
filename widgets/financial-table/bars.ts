// The bars of variances: beside each figure its length from the column's zero axis, drawn as a pin where it is no amount.
//
// A column has one scale for each unit, set by its largest figure, sums included; shares are all of one. The unit that
// most lines have lays out the column and others are fitted in, as pins: not to be held against the bars around them;
// a unit that one line alone has shows nothing by a length.

import { groupedBy } from "../shared/grouped";
import { differs } from "./figures";
import type { Column, Line, Table } from "./table";

export interface Bar {
  readonly isPin: boolean;
  readonly zero: number; // where the axis stands in the cell, in pixels
  readonly length: number; // below zero to the left of it
}

type Side = -1 | 1; // of the axis

const WIDTH = 64;
const MARGIN = 12; // to its left
const LEAST = 1 / 3; // of the longest bar: the room of pins on either side

export const isCompared = ({ comparison }: Column): boolean => differs(comparison);

export const compared = ({ across }: Table): number => across.filter(isCompared).length;

/** The bars of a column, line by line. */
export function barsOf(lines: readonly Line[], { comparison }: Column, at: number): readonly Bar[] {
  const isShare = comparison === "share";
  const unitOf = ({ measure }: Line): string => (isShare ? "" : measure);
  const figureOf = ({ cells }: Line): number => Number(cells[at]?.value ?? 0);
  const farthest = (some: readonly Line[], side: Side): number => Math.max(0, ...some.map((line) => side * figureOf(line)));
  const every = [...groupedBy(lines.filter(figureOf), unitOf)].sort(([, a], [, b]) => b.length - a.length);
  const units = every.filter(([, some], place) => place === 0 || some.length > 1);
  const [[main, most] = ["", []]] = units;
  const largest = Math.max(farthest(most, -1), farthest(most, 1));
  const roomOf = (side: Side): number => Math.max(farthest(most, side) / largest || 0, units.length > 1 ? LEAST : 0);
  const [below, above] = [roomOf(-1), roomOf(1)];
  const longest = WIDTH / (below + above || 1);
  // the figure that would be as long as the longest bar, so that both sides fit their rooms
  const scaleOf = (some: readonly Line[]): number => Math.max(farthest(some, -1) / below || 0, farthest(some, 1) / above || 0);
  const scales = new Map(units.map(([unit, some]) => [unit, scaleOf(some) / longest]));
  return lines.map((line) => {
    const length = figureOf(line) / (scales.get(unitOf(line)) ?? Infinity);
    return { isPin: length !== 0 && (isShare || unitOf(line) !== main), zero: MARGIN + below * longest, length };
  });
}
