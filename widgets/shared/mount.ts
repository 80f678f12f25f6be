// The mounting of a view in its page: the host connected, the result read, and what there is to say until it is there.

import { button, element } from "./element";
import { Host } from "./host";
import { Reading } from "./result";
import type { Refusal } from "./result";
import type { Fields } from "./shape";
import { dress, tellHeight } from "./theme";

export interface Kind<Seen> {
  readonly name: string;
  read(copy: unknown, asked: Fields | undefined): Seen | undefined; // nothing where this is not what the view shows
  show(seen: Seen, host: Host, asked: Fields | undefined): HTMLElement;
}

export async function mount<Seen>(kind: Kind<Seen>): Promise<void> {
  const view = document.getElementById("view") ?? document.body;
  const say = (words: string, manner: string, ...beside: readonly HTMLElement[]): void => {
    view.replaceChildren(element("p", { class: `said ${manner}`, role: "status" }, words, " ", ...beside));
  };
  const host: Host = new Host({
    asked: (tool, args) => { reading.asked(tool, args); },
    answered: (result) => { void reading.answered(result); },
    cancelled: (reason) => { reading.cancelled(reason); },
    changed: dress,
    gone: () => { stopTelling(); },
  });
  const reading = new Reading(host, (copy, asked) => kind.read(copy, asked), {
    table: (seen, asked) => { view.replaceChildren(kind.show(seen, host, asked)); },
    refusal: ({ error, hints }: Refusal) => {
      say(hints.length > 0 ? `${error} Did you mean ${hints.join(", ")}?` : error, "refused");
    },
    waiting: (words, again) => { say(words, "waiting", ...(again ? [button("Read it now", "Call the tool again", again)] : [])); },
  });
  say("Waiting for the result…", "waiting");
  const stopTelling = tellHeight(host, document.body);
  await host.connect(kind.name);
}
