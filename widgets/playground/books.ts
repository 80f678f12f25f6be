// What the forms offer: names that the server lists, asked for once each.

import { Once } from "./faults";
import { at, objects } from "./json";
import { text, type Fields } from "../shared/shape";
import type { Call, Server } from "./server";

/** One thing to choose, and what it is called. */
export interface Choice {
  readonly value: string;
  readonly label: string;
}

type Choices = readonly Choice[];
type Reads = (answer: Fields) => Choices;

const named =
  (list: string, value: string, ...labels: readonly string[]): Reads =>
  (answer) =>
    objects(answer[list]).map((one) => ({
      value: text(one[value]),
      label: labels.map((label) => text(one[label])).filter(Boolean).join(" · "),
    }));

const metrics: Reads = (answer) =>
  objects(answer.domains).flatMap((domain) =>
    objects(domain.metrics).map((one) => ({
      value: text(one.key),
      label: `${text(one.label)} · ${text(domain.label)}`,
    })),
  );

const scenarios = named("scenarios", "id", "alias");
const columns: Reads = (answer) => [...scenarios(answer), ...named("comparisons", "scenario", "alias")(answer)];
const dimensions = named("dimensions", "key", "label", "kind");

/** Which tool lists what an argument of some name may be. */
const LISTS: Readonly<Record<string, readonly [tool: string, reads: Reads]>> = {
  statement: ["svc_orientation", named("statements", "key", "label")],
  metrics: ["list_kpis", metrics],
  scenario: ["list_scenarios", columns],
  scenario_id: ["list_scenarios", scenarios],
  dimension: ["list_dimensions", dimensions],
  dimensions: ["list_dimensions", dimensions],
  source_key: ["list_inspection_sources", named("sources", "source_key", "label")],
  binding_id: ["list_bindings", named("bindings", "binding_id", "target")],
  load_id: ["list_load_history", named("loads", "load_id", "binding_id", "status")],
};
/** What an answer of this session gave that later calls take. */
const GIVEN: Readonly<Record<string, string>> = { data_ref: "data_ref", data_refs: "data_ref", file_id: "file_id" };

export class Books {
  private readonly answers = new Once<Fields>();

  constructor(
    private readonly server: Server,
    private readonly calls: readonly Call[],
  ) {}

  /** Whether an argument of some name is chosen rather than made up. */
  lists(name: string): boolean {
    return name in LISTS || name in GIVEN;
  }

  async choices(name: string): Promise<Choices> {
    const given = GIVEN[name];
    if (given !== undefined) return this.given(given);
    const list = LISTS[name];
    return list ? list[1](await this.answer(list[0])) : [];
  }

  /** Members and nodes that match, each with the id that filters take. */
  async members(dimension: string, query: string): Promise<Choices> {
    const asked = { ...(dimension && { dimension }), ...(query && { query }), limit: 50 };
    const answer = await this.ask("search_hierarchy", asked);
    return [...objects(answer.hierarchy_nodes), ...objects(answer.records)].map((one) => ({
      value: text(one.id),
      label: text(one.name),
    }));
  }

  answer(tool: string): Promise<Fields> {
    return this.answers.of(tool, () => this.ask(tool, {}));
  }

  /** What a tool answers; what it refuses is thrown. */
  private async ask(tool: string, asked: Fields): Promise<Fields> {
    const { answer, isError } = await this.server.call(tool, asked);
    if (isError) throw new Error(text(answer.error));
    return answer;
  }

  private given(name: string): Choices {
    return this.calls.flatMap(({ answer, tool }) => {
      const value = text(answer[name]);
      const label = text(answer.label) || text(answer.source_key) || text(answer.title);
      return value ? [{ value, label: [label, text(at(answer, "period", "label")), tool].filter(Boolean).join(" · ") }] : [];
    });
  }
}
