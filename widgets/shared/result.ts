// The reading of a tool's result: what was rendered for a view, else the data, else the text, else the tool called again.
//
// Hosts strip what they like: some `_meta`, some the structured content too. The second call is made once for what was
// asked, and what it brings is not asked for again, so that a host that strips everything is no loop.

import { fields, isFields, list, parsed, text } from "./shape";
import type { Fields } from "./shape";

const RENDER_BLOCK = "tieout/table";
const PATIENCE_MS = 4000;
const WITHHELD = "The host did not hand over the result.";

export interface Refusal {
  readonly error: string;
  readonly hints: readonly string[];
}

/** What reading takes of a host. */
export interface Source {
  readonly tool: string;
  can(what: "serverTools"): boolean;
  call(tool: string, args: Fields): Promise<Fields>;
}

export interface Shown<Seen> {
  table(seen: Seen, asked: Fields | undefined): void;
  refusal(refusal: Refusal): void;
  waiting(words: string, again?: () => void): void; // again: reads the result anew, where nothing may come by itself
}

/** Where what a view shows may stand, the best place first. */
function* copies(result: Fields): Generator {
  yield fields(result._meta)[RENDER_BLOCK];
  yield* answers(result);
}

/** Where the answer stands that a model reads. */
export function* answers(result: Fields): Generator {
  yield result.structuredContent;
  for (const part of list(result.content)) yield parsed(text(fields(part).text));
}

/** What a view reads in the best of the places that have something for it. */
export function seenIn<Seen>(result: Fields, read: (copy: unknown) => Seen | undefined): Seen | undefined {
  for (const copy of copies(result)) {
    const seen = read(copy);
    if (seen !== undefined) return seen;
  }
  return undefined;
}

export function refusalOf(result: Fields): Refusal | undefined {
  const said = [...copies(result)].find((copy) => isFields(copy) && text(copy.error) !== "");
  if (said === undefined) {
    if (result.isError !== true) return undefined;
    return { error: text(fields(list(result.content)[0]).text) || "The call failed.", hints: [] };
  }
  const closest = list(fields(said).did_you_mean).map(text).filter(Boolean);
  return { error: text(fields(said).error), hints: closest };
}

export class Reading<Seen> {
  private tool = "";
  private args: Fields | undefined; // where the host tells them
  private calledAgain = "";
  private isShown = false;
  private silence: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly host: Source,
    private readonly read: (copy: unknown, asked: Fields | undefined) => Seen | undefined,
    private readonly shown: Shown<Seen>,
  ) {}

  asked(tool: string, args: Fields): void {
    this.tool = tool;
    this.args = args;
    this.isShown = false;
    this.shown.waiting("Reading the books…");
    this.silence = setTimeout(() => { this.offer(); }, PATIENCE_MS);
  }

  cancelled(reason: string): void {
    clearTimeout(this.silence);
    this.shown.refusal({ error: reason ? `Cancelled: ${reason}` : "Cancelled.", hints: [] });
  }

  async answered(result: Fields): Promise<void> {
    clearTimeout(this.silence);
    if (this.isShown || this.show(result)) return; // what comes after is of the view's own calls
    const again = this.again();
    if (again === undefined) {
      this.shown.waiting(`${WITHHELD} Its figures are in the answer beside this view.`);
      return;
    }
    this.shown.waiting("The host withheld the result; reading it again…");
    const second = await again.catch((fault: unknown): Fields => ({ isError: true, content: [{ text: String(fault) }] }));
    if (!this.show(second)) this.shown.waiting(WITHHELD);
  }

  /** Some hosts never say that a result is there: whoever waits may ask for it. */
  private offer(): void {
    if (!this.host.can("serverTools")) return;
    this.shown.waiting("Still waiting for the result.", () => { void this.answered({}); });
  }

  private show(result: Fields): boolean {
    const refusal = refusalOf(result);
    if (refusal !== undefined) {
      this.shown.refusal(refusal);
      return true;
    }
    const seen = seenIn(result, (copy) => this.read(copy, this.args));
    if (seen === undefined) return false;
    this.shown.table(seen, this.args);
    return (this.isShown = true);
  }

  /** The same call through the host, once for one tool and its arguments. */
  private again(): Promise<Fields> | undefined {
    const tool = this.tool || this.host.tool;
    const asked = JSON.stringify([tool, this.args]);
    if (tool === "" || this.args === undefined || asked === this.calledAgain) return undefined;
    if (!this.host.can("serverTools")) return undefined;
    this.calledAgain = asked;
    return this.host.call(tool, this.args);
  }
}
