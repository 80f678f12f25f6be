// The proof of a figure: the rows behind it, and how what they contribute adds up to it.

import { element } from "../shared/element";
import { decimal, exactly, NONE, plus, times, valueOf, type Decimal, type Value } from "../shared/decimal";
import { fields, number, text, type Fields } from "../shared/shape";
import { at, objects } from "./json";
import type { Call } from "./server";
import { tabs } from "./tabs";

const TOOL = "inspect_rows";
const CLOSE = 1e-9; // of shares, which are quotients

/** One question for rows, what came of it, and with which sign it counts. */
interface Part {
  readonly name: string;
  readonly sign: 1 | -1;
  readonly call: Call;
}

/** What a view told of the figure that was clicked. */
interface Figure {
  readonly words: string;
  readonly value: Value;
  readonly scale: number;
  readonly parts: readonly Part[];
}

export class Proof {
  constructor(
    private readonly call: (tool: string, asked: Fields) => Promise<Call>,
    private readonly view: (call: Call) => HTMLElement,
  ) {}

  /** The rows behind what a view told of; nothing where it named none. */
  async of(told: Fields, report: Call): Promise<HTMLElement | undefined> {
    const handed = fields(told.structuredContent);
    const parts = named(await Promise.all(objects(handed.inspect_rows).map((one) => this.part(one))), report);
    if (parts.length === 0) return undefined;
    const figure = { words: text(handed.words), value: valueOf(handed.value), scale: number(report.answer.scale) ?? 0, parts };
    const lists = parts.map((part) => ({ title: part.name, panel: () => this.view(part.call) }));
    return element(
      "section",
      { class: "proof", tabindex: "-1", "aria-label": "Rows behind the figure" },
      element("h2", {}, figure.words),
      addedUp(figure),
      tabs("Rows of", lists, lists[0]?.title ?? ""),
    );
  }

  private async part(told: Fields): Promise<Part> {
    return { name: "", sign: told.counts_as === "-" ? -1 : 1, call: await this.call(TOOL, fields(told.arguments)) };
  }
}

const metricOf = ({ call }: Part): string => text(at(call.asked, "filters", "metric"));

const scenarioOf = ({ call }: Part): string =>
  text(at(call.asked, "filters", "scenario")) || text(call.asked.scenario_id);

/** Parts by the heading of their scenario; those of a formula by their metric as well. */
function named(parts: readonly Part[], report: Call): readonly Part[] {
  const isFormula = new Set(parts.map(metricOf)).size > 1;
  const headings = new Map(objects(report.answer.columns ?? report.answer.scenarios).map((column) => [text(column.scenario), text(column.alias)]));
  return parts.map((part) => {
    const scenario = headings.get(scenarioOf(part)) ?? scenarioOf(part);
    return { ...part, name: isFormula ? `${metricOf(part)}, ${scenario}` : scenario };
  });
}

const contributed = ({ call }: Part): Decimal | undefined => decimal(call.answer.figure ?? call.answer.contribution_total);

/** How many rows there are; of more than fit, that there are more. */
function rowsWords({ call }: Part): string {
  const count = (number(call.answer.row_count) ?? 0).toLocaleString("en");
  return call.answer.truncated === true ? `more than ${count} rows` : `${count} rows`;
}

function addedUp(figure: Figure): HTMLElement {
  const lines = figure.parts.map((part) => {
    const amount = contributed(part);
    return line(part.sign < 0 ? "−" : "+", `${part.name} · ${rowsWords(part)}`, amount ? exactly(amount) : "nothing");
  });
  return element("table", { class: "sum" }, element("tbody", {}, ...lines, ...conclusion(figure)));
}

/** The sum of the parts, and whether it is the figure; parts of a formula do not add up and have none. */
function conclusion({ parts, value, scale }: Figure): readonly HTMLElement[] {
  if (new Set(parts.map(metricOf)).size > 1) return [];
  const sum = parts.map((part) => ({ sign: part.sign, amount: contributed(part) })).reduce<Decimal>(
    (total, { sign, amount }) => (amount ? plus(total, amount, sign) : total),
    NONE,
  );
  const shown = decimal(value);
  if (shown && (same(sum, shown) || same(sum, times(shown, scale)))) return [line("=", "the figure, to the last digit ✓", exactly(sum), "ties")];
  const whole = parts[1] && contributed(parts[1]);
  if (shown && whole && isShare(sum, whole, shown)) {
    return [line("=", "", exactly(sum)), line("÷", `the size of ${parts[1]?.name ?? ""}: the figure ✓`, String(value), "ties")];
  }
  return [line("=", "", exactly(sum))];
}

const line = (sign: string, words: string, amount: string, sort = ""): HTMLElement =>
  element("tr", { class: sort }, element("td", {}, sign), element("th", { scope: "row" }, words), element("td", { class: "number" }, amount));

const same = (one: Decimal, other: Decimal): boolean => plus(one, other, -1).units === 0n;

function isShare(part: Decimal, whole: Decimal, shown: Decimal): boolean {
  const [a, b, share] = [part, whole, shown].map(({ units, places }) => Number(units) / 10 ** places) as [number, number, number];
  return b !== 0 && Math.abs(a / Math.abs(b) - share) < CLOSE;
}
