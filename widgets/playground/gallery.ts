// The gallery of charts: of each the question, what a script makes of its answer, and how that is drawn.

import { charts } from "../../instances/demo/charts.json";
import { element } from "../shared/element";
import { texts, type Fields } from "../shared/shape";
import { called } from "../shared/words";
import type { Call } from "./server";
import { theme } from "./theme";

export const DRAWS = "eval_chart_transform";

interface Exhibit {
  readonly question: string;
  readonly tool: string;
  readonly arguments: Fields;
  readonly transform_code: string;
  readonly chart_spec: Fields;
}

type Calls = (tool: string, asked: Fields) => Promise<Call | undefined>;
const EXHIBITS: readonly Exhibit[] = charts;

/** A choice of charts: the question of one is asked, then `draw` is given what makes a chart of the answer. */
export function gallery(call: Calls, draw: (asked: Fields) => void): HTMLElement {
  const box = element("select", { "aria-label": "Gallery" }, element("option", { value: "" }, "A chart of the demo books…"));
  box.append(...EXHIBITS.map(({ question, chart_spec: { chart_type } }, at) => element("option", { value: at }, `${called(String(chart_type))}: ${question}`)));
  box.addEventListener("change", () => {
    const exhibit = EXHIBITS[Number(box.value)];
    if (box.value !== "" && exhibit) void show(exhibit);
  });
  const show = async ({ tool, arguments: asked, transform_code, chart_spec }: Exhibit): Promise<void> => {
    const made = await call(tool, asked);
    if (made) draw({ data_refs: texts([made.answer.data_ref]), transform_code, chart_spec: { ...chart_spec, theme: theme() } });
  };
  return element("div", { class: "field" }, box);
}
