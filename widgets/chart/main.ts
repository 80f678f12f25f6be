// The view of a chart: what eval_chart_transform answers, drawn by Vega without compiling any of its expressions.

import "../shared/theme.css";
import "./chart.css";
import { expressionInterpreter } from "vega-interpreter";
import { parse, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";
import { element } from "../shared/element";
import { Host } from "../shared/host";
import { answers, refusalOf } from "../shared/result";
import { fields, isFields, text, type Fields } from "../shared/shape";
import { dress, tellHeight } from "../shared/theme";

const place = document.getElementById("view") ?? document.body;
const DRAWS = "eval_chart_transform";
let asked: Fields | undefined;
let answer: Fields | undefined;
let theme = ""; // that the answer is drawn in
let drawn: View | undefined;

const host: Host = new Host({
  asked: (_, args) => {
    asked = args;
    theme = text(fields(args.chart_spec).theme) || "light";
  },
  answered: (result) => {
    answer = answerOf(result);
    void show(result);
  },
  cancelled: say,
  changed: (context) => {
    dress(context);
    if (answer) void draw(answer).then(rethemed);
  },
  gone: () => { stopTelling(); },
});
const stopTelling = tellHeight(host, document.body);

/** What a model reads, wherever the host leaves it. */
const answerOf = (result: Fields): Fields => fields([...answers(result)].find(isFields));

async function show(result: Fields): Promise<void> {
  const refused = refusalOf(result);
  if (refused) say(refused.error);
  else if (answer) await draw(answer);
}

/** Asks for the chart in the host's theme, whose colours the server puts in; without an answer it stays as it is. */
async function rethemed(): Promise<void> {
  const wanted = text(host.context.theme);
  if (!asked || wanted === "" || wanted === theme || !host.can("serverTools")) return;
  theme = wanted;
  const spec = { ...fields(asked.chart_spec), theme: wanted, render: "none" };
  const result = await host.call(DRAWS, { ...asked, chart_spec: spec }).catch((): Fields => ({ isError: true }));
  if (refusalOf(result) || theme !== wanted) return;
  answer = answerOf(result);
  await draw(answer);
}

async function draw(chart: Fields): Promise<void> {
  if (!isFields(chart.vega_lite)) return;
  const spec = compile(chart.vega_lite as unknown as TopLevelSpec).spec;
  const canvas = element("div", { role: "img", "aria-label": `${text(chart.title)}. ${text(chart.summary)}` });
  drawn?.finalize();
  place.replaceChildren(canvas, element("p", { class: "summary" }, text(chart.summary)));
  drawn = new View(parse(spec, {}, { ast: true }), { expr: expressionInterpreter, renderer: "svg", container: canvas, hover: true });
  await drawn.runAsync();
}

function say(words: string): void {
  place.replaceChildren(element("p", { role: "status" }, words));
}

say("Waiting for the chart…");
await host.connect("chart");
