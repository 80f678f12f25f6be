// The outline of a table: which lines stand under which, which of them are folded away, and in what order.

import { compared } from "../shared/decimal";
import { groupedBy } from "../shared/grouped";
import { plain } from "../shared/words";
import type { Line } from "./table";

export interface Sort {
  readonly column: number | undefined; // none: by label
  readonly isDescending: boolean;
  readonly isRanked?: boolean; // by the server, so that lines stay as they came
}

const OF_A_ROLLUP: readonly string[] = ["node", "own", "memo"];
const TOP = -1;

export class Outline {
  private readonly parents: readonly number[];
  private readonly children: ReadonlyMap<number, readonly number[]>;
  private readonly positions: ReadonlyMap<number, number>;
  private readonly folded = new Set<number>();
  sorting: Sort | undefined;

  constructor(readonly lines: readonly Line[]) {
    this.parents = parentsOf(lines);
    this.children = groupedBy(lines.keys(), (at) => this.parentOf(at));
    this.positions = new Map([...this.children.values()].flatMap((beside) => beside.map((at, before) => [at, before + 1])));
  }

  parentOf(at: number): number {
    return this.parents[at] ?? TOP;
  }

  /** How many lines stand under the same line as this one, and its place among them. */
  among(at: number): { readonly count: number; readonly position: number } {
    return { count: this.children.get(this.parentOf(at))?.length ?? 0, position: this.positions.get(at) ?? 0 };
  }

  isParent(at: number): boolean {
    return this.children.has(at);
  }

  isFolded(at: number): boolean {
    return this.folded.has(at);
  }

  fold(at: number, isFolded: boolean): void {
    if (isFolded && this.isParent(at)) this.folded.add(at);
    else this.folded.delete(at);
  }

  get depth(): number {
    return Math.max(0, ...this.lines.map((line) => line.level));
  }

  /** Folds every line of a level, so that nothing deeper is seen. */
  foldFrom(level: number): void {
    for (const [at, line] of this.lines.entries()) this.fold(at, line.level >= level);
  }

  /** Unfolds whatever a line stands under. */
  reveal(at: number): void {
    for (let above = this.parentOf(at); above !== TOP; above = this.parentOf(above)) this.folded.delete(above);
  }

  isSeen(at: number): boolean {
    const above = this.parentOf(at);
    return above === TOP || (!this.folded.has(above) && this.isSeen(above));
  }

  /** All lines in the order of the sort; lines of a rollup move under their own line only, members all together. */
  get order(): readonly number[] {
    return this.under(TOP);
  }

  get seen(): readonly number[] {
    return this.order.filter((at) => this.isSeen(at));
  }

  private under(parent: number): readonly number[] {
    return this.sorted(this.children.get(parent) ?? []).flatMap((at) => [at, ...this.under(at)]);
  }

  private sorted(siblings: readonly number[]): readonly number[] {
    if (!this.sorting || this.sorting.isRanked) return siblings;
    const kinds = groupedBy(siblings.filter((at) => this.moves(at)), (at) => this.lines[at]?.isInner);
    const moving = new Map([...kinds].map(([kind, some]) => [kind, [...some].sort((a, b) => this.compared(a, b))]));
    return siblings.map((at) => (this.moves(at) ? (moving.get(this.lines[at]?.isInner)?.shift() ?? at) : at));
  }

  private moves(at: number): boolean {
    const kind = this.lines[at]?.kind ?? "";
    return kind === "member" || (this.parentOf(at) !== TOP && OF_A_ROLLUP.includes(kind));
  }

  private compared(a: number, b: number): number {
    const [first, second, sort] = [this.lines[a], this.lines[b], this.sorting];
    if (!first || !second || !sort) return 0;
    const sign = sort.isDescending ? -1 : 1;
    if (sort.column === undefined) return sign * first.label.localeCompare(second.label);
    const [x, y] = [first.cells[sort.column]?.value ?? null, second.cells[sort.column]?.value ?? null];
    return x === null || y === null ? compared(x, y) : sign * compared(x, y);
  }
}

function parentsOf(lines: readonly Line[]): readonly number[] {
  const open: number[] = []; // by level, the last line seen
  return lines.map((line, at) => {
    open.length = Math.min(open.length, line.level);
    const parent = open.at(-1) ?? TOP;
    open[line.level] = at;
    return parent;
  });
}

/** The lines whose label holds some words, whatever their case and accents. */
export function found(lines: readonly Line[], words: string): readonly number[] {
  const wanted = plain(words.trim());
  if (wanted === "") return [];
  return [...lines.keys()].filter((at) => plain(lines[at]?.label ?? "").includes(wanted));
}
