// The drill of a cell: the inspect_rows calls behind it, joined from the parts of its row and its column.
//
// Filters are joined too and the row's win. A column with sides has a call for each, counting with its sign: those of a
// variance follow from its reference unless they are said. A row or column with operands has one for each of them.

import { fields, isFields, list, text } from "./shape";
import type { Fields } from "./shape";

export interface Call {
  readonly sign: "+" | "-";
  readonly args: Fields;
}

const OF_PARTS = ["sides", "operands", "sign", "tool", "add_filters_of_this_call"]; // what is said of a part and is no argument

export function calls(row: unknown, column: unknown): readonly Call[] {
  const [line, scenario] = [fields(row), fields(column)];
  const sides = parts(scenario.sides ?? sidesOf(text(scenario.scenario_id)));
  const operands = parts(line.operands ?? scenario.operands);
  const found = sides.flatMap((side) => operands.map((operand) => call(joined(scenario, side, line, operand))));
  return found.every(({ args }) => isComplete(args)) ? found : [];
}

/** The sides of a variance, as a template names it in place of a scenario. */
function sidesOf(reference: string): readonly Fields[] | undefined {
  const [, first, second] = /^var(?:_pct)?\(([^(),]+),([^(),]+)\)$/.exec(reference) ?? [];
  return first && second ? [{ scenario_id: first }, { sign: "-", scenario_id: second }] : undefined;
}

const parts = (found: unknown): readonly Fields[] => (Array.isArray(found) ? list(found).map(fields) : [{}]);

const call = (whole: Fields): Call => ({
  sign: whole.sign === "-" ? "-" : "+",
  args: Object.fromEntries(Object.entries(whole).filter(([name]) => !OF_PARTS.includes(name))),
});

export function joined(...every: readonly Fields[]): Fields {
  const filters = Object.assign({}, ...every.map((part) => fields(part.filters))) as Fields;
  return { ...(Object.assign({}, ...every) as Fields), filters };
}

/** A header has no rows, nor has what a source does not show. */
const isComplete = (args: Fields): boolean =>
  text(args.source_key) !== "" && text(args.scenario_id) !== "" && isFields(args.filters) && "metric" in args.filters;
