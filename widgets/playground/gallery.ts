// Charts that the instance offers: of each the question, what a script makes of its answer, and how that is drawn.

import { at, objects } from "./json";
import { element } from "../shared/element";
import { fields, parsed, text, texts, type Fields } from "../shared/shape";
import { called } from "../shared/words";
import type { Call, Server } from "./server";
import { theme } from "./theme";

export const DRAWS = "eval_chart_transform";

type Calls = (tool: string, asked: Fields) => Promise<Call | undefined>;

/** A choice of charts: the question of one is asked, then `draw` is given what makes a chart of the answer. */
export function gallery(server: Server, call: Calls, draw: (asked: Fields) => void): HTMLElement {
  const box = element("select", { "aria-label": "Gallery" }, element("option", { value: "" }, "A chart of these books…"));
  const field = element("div", { class: "field", hidden: true }, box);
  const show = async ({ tool, arguments: asked, transform_code, chart_spec }: Fields): Promise<void> => {
    const made = await call(text(tool), fields(asked));
    if (made) draw({ data_refs: texts([made.answer.data_ref]), transform_code, chart_spec: { ...fields(chart_spec), theme: theme() } });
  };
  server.page("/charts.json").then((offered) => {
    const all = objects(at(parsed(offered), "charts"));
    field.hidden = !all[0];
    box.append(...all.map(({ question, chart_spec }, index) => element("option", { value: index }, `${called(text(fields(chart_spec).chart_type))}: ${text(question)}`)));
    box.onchange = () => {
      const chart = all[Number(box.value)];
      if (box.value && chart) void show(chart);
    };
  }, () => undefined); // an instance without charts offers none
  return field;
}
