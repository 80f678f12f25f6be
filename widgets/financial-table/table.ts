// A table as the view shows it: lines down, columns across, in each cell the server's text beside the raw figure.
//
// It is read from the block that was rendered for the view, or from a result without one: what that leaves out is
// filled in, and texts are made here by the server's own rules.

import { exactText, valueOf } from "../shared/decimal";
import type { Value } from "../shared/decimal";
import { rangeWords } from "../shared/periods";
import { fields, list, number, text, texts } from "../shared/shape";
import type { Fields } from "../shared/shape";
import { inWords } from "../shared/words";
import { bridgeOf } from "./bridge";
import { differs, isPrice, shown } from "./figures";
import type { Comparison, Kind, Precision } from "./figures";
import { filledIn } from "./short";

export type Good = -1 | 0 | 1;

export interface Cell {
  readonly text: string;
  readonly value: Value;
  readonly good: Good;
}

export interface Column {
  readonly titles: readonly string[]; // level by level
  readonly style: string; // actual, prior_year, plan, forecast; a bare result does not say
  readonly comparison: Comparison;
  readonly isTotal: boolean;
  readonly unit: string; // where it is not the table's
  readonly window: string; // the range it shows, where that is not the table's
  readonly isPeriod: boolean;
  readonly drill: unknown;
  readonly rank: string; // what order_by calls it
}

export interface Line {
  readonly label: string;
  readonly level: number;
  readonly kind: string;
  readonly style: string; // subtotal, total, ratio
  readonly unit: string; // where it is not the table's
  readonly measure: string; // the unit of its figures, said or not
  readonly aside: string; // what it holds, or what is left out below it
  readonly isInner: boolean; // a member below a line of a statement
  readonly drill: unknown;
  readonly cells: readonly Cell[];
}

export interface Note {
  readonly isCaution: boolean;
  readonly message: string;
}

export interface Freshness {
  readonly domain: string;
  readonly scenario: string;
  readonly through: string;
  readonly open: string;
  readonly loadedAt: string;
}

export interface Table {
  readonly label: string;
  readonly caption: string;
  readonly rowsAre: string; // lines, or members of what
  readonly across: readonly Column[];
  readonly lines: readonly Line[];
  readonly notes: readonly Note[];
  readonly freshness: readonly Freshness[];
  readonly leftOut: Readonly<Record<string, number>>; // how many, by axis
  readonly immaterial: string; // which lines did not reach what they had to
  readonly dataRef: string;
}

/** Nothing where this is neither a rendered table nor a report; `asked` is the call that it answers. */
export function readTable(found: unknown, asked: Fields = {}): Table | undefined {
  const answer = fields(found);
  const isBlock = answer.kind === "financial-table";
  const isBridge = Array.isArray(answer.lists);
  if (!isBridge && !(Array.isArray(answer.rows) && (isBlock || answer.statement || answer.scenarios))) return undefined;
  const said = isBlock ? answer : isBridge ? bridgeOf(answer) : filledIn(answer, asked);
  const columns = list(said.columns).map(fields);
  const rows = list(said.rows).map(fields);
  const unit = unitOf(rows, columns);
  const precision = { scale: number(said.scale) ?? 0, decimals: number(said.decimals) };
  const rowsAre = Object.keys(fields(rows[0]?.members)).map(inWords).join(" · ") || "Line";
  const left = list(said.immaterial).map(fields);
  const below = new Map(left.filter((group) => group.below).map((group) => [group.below, `${number(group.lines)} more${sumOf(group)}`]));
  return {
    label: text(said.label),
    caption: text(said.caption) || captionOf(said, unit),
    rowsAre,
    across: columns.map((column) => readColumn(column, unit)),
    lines: rows.map((row) => ({
      ...readLine(row, columns, unit, precision),
      aside: below.get(row.key) ?? heldBy(row),
      isInner: rowsAre === "Line" && INNER.includes(text(row.kind)),
    })),
    notes: list(said.notes).map(readNote),
    freshness: Object.entries(fields(said.freshness)).flatMap(readFreshness),
    leftOut: counts(said.left_out ?? said.agent_truncated),
    immaterial: immaterialOf(left.filter((group) => !group.below), fields(said.materiality)),
    dataRef: text(said.data_ref),
  };
}

const INNER = ["member", "others"]; // kinds of rows below a line

const exact = (value: unknown): string => exactText(valueOf(value));

const sumOf = ({ sum }: Fields): string => (sum === undefined ? "" : `, ${exact(sum)} in sum`);

/** How many members others hold, and how many of these do not meet the conditions. */
function heldBy({ holds, unmet }: Fields): string {
  if (number(holds) === undefined) return "";
  return `${number(holds)} members${number(unmet) === undefined ? "" : `, ${number(unmet)} outside the conditions`}`;
}

/** The lines of each unit that are not material, with the largest of them. */
function immaterialOf(left: readonly Fields[], { of, absolute, percent, rule }: Fields): string {
  const bounds = [absolute === undefined ? "" : exact(absolute), percent === undefined ? "" : `${exact(percent)}%`].filter(Boolean);
  const least = bounds.length > 0 ? ` (${text(of)} below ${bounds.join(rule === "all" ? " or " : " and ")})` : "";
  const each = left.map(({ lines, unit, largest, label, value }) => {
    const most = text(largest) && `, the largest ${text(label) || text(largest)}: ${exact(value)}`;
    return `${number(lines)} in ${text(unit)}${most}`;
  });
  return each.length > 0 ? `Lines that are not material and not shown${least}: ${each.join("; ")}.` : "";
}

/** The unit of the table's money, said once. */
function unitOf(rows: readonly Fields[], columns: readonly Fields[]): string {
  const money = [...rows, ...columns].find((part) => part.format === "currency" && !isPrice(text(part.unit)));
  return text(money?.unit);
}

const captionOf = (said: Fields, unit: string): string =>
  `${text(said.label)}, ${rangeWords(said.period)}${unit ? `, in ${unit}` : ""}`;

const ofItsOwn = (part: Fields, unit: string): string => {
  const own = text(part.unit);
  return own === unit || own === "fraction" || own === "pp" ? "" : own;
};

function readColumn(column: Fields, unit: string): Column {
  const members = Object.values(fields(column.members));
  return {
    titles: texts(column.heading),
    style: text(column.style),
    comparison: comparisonOf(column),
    isTotal: column.is_total === true,
    unit: comparisonOf(column) === "rank" ? "" : ofItsOwn(column, unit),
    window: rangeWords(column.period),
    isPeriod: members.includes(fields(column.drill).period_start),
    drill: column.drill,
    rank: text(column.metric) && `${text(column.metric)}@${text(column.alias)}`,
  };
}

function comparisonOf(column: Fields): Comparison {
  const scenario = text(column.scenario);
  if (scenario.startsWith("var_pct(")) return "share";
  if (scenario.startsWith("rank(")) return "rank";
  if (/^(running\()?share\(/.test(scenario)) return "part";
  return /^(running\()?var\(/.test(scenario) ? "variance" : "figure";
}

function readLine(row: Fields, columns: readonly Fields[], unit: string, precision: Precision): Omit<Line, "aside" | "isInner"> {
  const raw = list(row.values);
  const cells = Array.isArray(row.cells)
    ? row.cells.map(readCell)
    : columns.map((column, at) => cellOf(valueOf(raw[at]), row, column, precision));
  return {
    label: text(row.label),
    level: number(row.level) ?? 0,
    kind: text(row.kind),
    style: text(row.style),
    unit: ofItsOwn(row, unit),
    measure: text(row.of ?? row.unit),
    drill: row.drill,
    cells,
  };
}

function readCell(found: unknown): Cell {
  const [words, value, good] = list(found);
  return { text: text(words), value: valueOf(value), good: goodOf(number(good) ?? 0) };
}

function cellOf(value: Value, row: Fields, column: Fields, precision: Precision): Cell {
  const comparison = comparisonOf(column);
  const own = column.favourable ? column : row; // of metrics, columns say what a figure is
  const kind: Kind = { unit: text(own.unit), format: text(own.format), comparison };
  const text_ = shown(value, kind, precision);
  return { text: text_, value, good: differs(comparison) ? goodness(value, text(own.favourable)) : 0 };
}

const RISES = ["up", "less negative"]; // of negative figures an answer says the direction in words
const FALLS = ["down", "more negative"];

function goodness(value: Value, favourable: string): Good {
  const rose = Math.sign(Number(value ?? 0));
  const good = RISES.includes(favourable) ? rose : FALLS.includes(favourable) ? -rose : 0;
  return goodOf(good);
}

const goodOf = (sign: number): Good => (sign > 0 ? 1 : sign < 0 ? -1 : 0);

const readNote = (found: unknown): Note => {
  const note = fields(found);
  return { isCaution: note.severity === "caution", message: text(note.message) };
};

const readFreshness = ([domain, scenarios]: readonly [string, unknown]): readonly Freshness[] =>
  Object.entries(fields(scenarios)).map(([scenario, found]) => {
    const known = fields(found);
    return {
      domain,
      scenario,
      through: text(known.through) || text(found),
      open: text(known.open),
      loadedAt: text(known.loaded_at),
    };
  });

const counts = (found: unknown): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(fields(found)).map(([axis, count]) => [axis, number(count) ?? 0]));

