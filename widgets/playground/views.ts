// The views of results: which page shows a call, in a frame of its own.

import { faultWords, Once } from "./faults";
import { at, objects } from "./json";
import { element } from "../shared/element";
import { isFields, text, type Fields } from "../shared/shape";
import { Frame } from "./frame";
import { plain } from "./plain";
import type { Call, Server, Tool } from "./server";

/** What a view may set off in the page. */
export interface Reach {
  readonly theme: () => "light" | "dark";
  readonly called: (call: Call) => void;
  readonly said: (words: string, told: Fields, of: Call) => void;
}

export class Views {
  private readonly pages = new Once<string>();
  private readonly open = new Set<Frame>();

  constructor(
    private readonly server: Server,
    private readonly reach: Reach,
  ) {}

  /** A call as people look at it: its view in a frame, else its data in plain tables. */
  of(call: Call, tool: Tool | undefined, room: number): HTMLElement {
    const page = this.pageOf(call, tool);
    if (!page) return plain(call.answer);
    const place = element("div", { class: "place" });
    Promise.all([page, this.server.page("/view")]).then(
      ([html]) => {
        const frame = new Frame(this.shown(call, tool, html), this.reach.theme, room);
        this.open.add(frame);
        place.append(frame.element);
      },
      (fault: unknown) => {
        const words = `The view could not be read, so here are the data as they are. ${faultWords(fault)}`;
        place.append(element("p", { role: "alert" }, words), plain(call.answer));
      },
    );
    return place;
  }

  /** Tell every view how much room there is now, in which theme. */
  change(room: number): void {
    for (const frame of this.open) {
      if (frame.element.isConnected) frame.change(room);
      else this.close(frame);
    }
  }

  private close(frame: Frame): void {
    frame.close();
    this.open.delete(frame);
  }

  private pageOf({ answer }: Call, tool: Tool | undefined): Promise<string> | undefined {
    if (isFields(answer.vega_lite)) return this.pages.of("/chart", () => this.server.page("/chart"));
    const uri = tool?.widget;
    return uri === undefined ? undefined : this.pages.of(uri, async () => textOf(await this.server.read(uri)));
  }

  private shown(call: Call, tool: Tool | undefined, page: string): ConstructorParameters<typeof Frame>[0] {
    return {
      title: tool?.title ?? call.tool,
      tool: call.tool,
      page,
      asked: call.asked,
      result: call.result,
      call: async (name, asked) => {
        const made = await this.server.call(name, asked);
        this.reach.called(made);
        return made.result;
      },
      read: (uri) => this.server.read(uri),
      say: (words, told) => { this.reach.said(words, told, call); },
    };
  }
}

const textOf = (read: Fields): string => text(at(objects(read.contents)[0], "text"));
