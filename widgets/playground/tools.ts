// The tools in the order of a first visit, as the specification groups them.

import type { Tool } from "./server";

export interface Group {
  readonly title: string;
  readonly tools: readonly Tool[];
}

const GROUPS: readonly (readonly [title: string, names: readonly string[]])[] = [
  ["Orientation", ["svc_orientation"]],
  ["Discovery", ["list_scenarios", "list_kpis", "list_dimensions", "list_variants", "search_hierarchy"]],
  ["Reporting", ["run_statement", "run_metric", "run_statement_data", "run_metric_data"]],
  ["Inspection", ["list_inspection_sources", "get_inspection_schema", "inspect_rows"]],
  ["Ingestion status", ["list_load_history", "get_load_status", "list_bindings", "get_binding"]],
];
const REST = "Charts and files";

export function groups(tools: readonly Tool[]): readonly Group[] {
  const known = GROUPS.map(([title, names]) => ({
    title,
    tools: names.flatMap((name) => tools.find((tool) => tool.name === name) ?? []),
  }));
  const placed = new Set(GROUPS.flatMap(([, names]) => names));
  const rest = { title: REST, tools: tools.filter((tool) => !placed.has(tool.name)) };
  return [...known, rest].filter((group) => group.tools.length > 0);
}
