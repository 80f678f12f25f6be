// The financial table: a statement or metrics as an MCP host shows them beside the answer.

import "../shared/theme.css";
import "./table.css";
import { element } from "../shared/element";
import { Host } from "../shared/host";
import { Reading } from "../shared/result";
import type { Refusal } from "../shared/result";
import { dress, tellHeight } from "../shared/theme";
import { readTable } from "./table";
import { TableView } from "./view";

const view = document.getElementById("view") ?? document.body;

const say = (words: string, kind: string): void => {
  view.replaceChildren(element("p", { class: `said ${kind}`, role: "status" }, words));
};

const host: Host = new Host({
  asked: (tool, args) => { reading.asked(tool, args); },
  answered: (result) => { void reading.answered(result); },
  cancelled: (reason) => { say(reason ? `Cancelled: ${reason}` : "Cancelled.", "refused"); },
  changed: dress,
  gone: () => { stopTelling(); },
});

const reading = new Reading(host, readTable, {
  table: (table) => { view.replaceChildren(new TableView(table, host).element); },
  refusal: ({ error, hints }: Refusal) => {
    say(hints.length > 0 ? `${error} Did you mean ${hints.join(", ")}?` : error, "refused");
  },
  waiting: (words) => { say(words, "waiting"); },
});

say("Waiting for the result…", "waiting");
const stopTelling = tellHeight(host, document.body);
await host.connect("financial-table");
