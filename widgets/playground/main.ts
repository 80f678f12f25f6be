// The playground: a person calls the tools that models call, and sees what models see.

import "../shared/theme.css";
import "./playground.css";
import { Ask } from "./ask";
import { Books } from "./books";
import { byId } from "./dom";
import { objects } from "./json";
import { element } from "../shared/element";
import { text, type Fields } from "../shared/shape";
import { faultWords } from "./faults";
import { DRAWS, gallery } from "./gallery";
import { forget, keep, keyOf } from "./key";
import { Menu } from "./menu";
import { msWords, outcome, tokensWords } from "./outcome";
import { Proof } from "./proof";
import { KeyRefused, Server, type Call, type Tool } from "./server";
import { theme, themed } from "./theme";
import { Views } from "./views";

const OPENS_WITH = "run_statement";
const WAITING = "Asking the server …";
const REPLACED = "Another call was made.";
const STOPPED = "Stopped.";
const ROOM = 0.8; // of the window's height, for a view; half of it beside the rows behind a figure

class Playground {
  private readonly calls: Call[] = [];
  private readonly books: Books;
  private readonly menu: Menu;
  private readonly views: Views;
  private readonly proof: Proof;
  private readonly came = byId("came");
  private ask: Ask | undefined;
  private running = new AbortController();

  constructor(private readonly server: Server, private readonly tools: readonly Tool[]) {
    this.books = new Books(server, this.calls);
    this.views = new Views(server, {
      theme,
      called: (call) => { this.took(call); },
      said: (_, told, of) => void this.drill(told, of),
    });
    const call = async (tool: string, asked: Fields): Promise<Call> => this.took(await server.call(tool, asked));
    this.proof = new Proof(call, (made) => this.views.of(made, this.toolOf(made.tool), innerHeight / 2));
    this.menu = new Menu(tools, (tool) => { this.begin(tool); }, (call) => { this.show(call); });
    byId("tools").append(this.menu.element);
  }

  /** Name the books, and begin with the report that they show where nothing is asked for. */
  async open(): Promise<void> {
    const first = this.toolOf(OPENS_WITH) ?? this.tools[0];
    await Promise.all([this.name(), first && this.openWith(first)]);
  }

  private async name(): Promise<void> {
    byId("books").textContent = text((await this.books.answer("svc_orientation")).name);
  }

  private async openWith(tool: Tool): Promise<void> {
    const ask = this.choose(tool);
    const call = await this.run({});
    if (call && !call.isError && this.ask === ask) ask.form.set(questionOf(call.answer));
  }

  retheme(): void {
    this.views.change(innerHeight * ROOM);
  }

  /** Show a tool that was picked; one that takes nothing is called at once. */
  private begin(tool: Tool): void {
    if (this.choose(tool).form.isEmpty) void this.run({});
  }

  private choose(tool: Tool): Ask {
    const ask: Ask = new Ask(tool, this.books, (asked) => void this.run(asked), tool.name === DRAWS ? [this.gallery()] : []);
    byId("ask").replaceChildren(ask.element);
    this.menu.mark(tool.name);
    this.ask = ask;
    return ask;
  }

  private gallery(): HTMLElement {
    return gallery(this.server, (tool, asked) => this.made(tool, asked), (asked) => {
      this.ask?.form.set(asked);
      void this.run(asked);
    });
  }

  /** Call the tool that is shown, and show what comes of it. */
  private async run(asked: Fields): Promise<Call | undefined> {
    const call = this.ask && (await this.made(this.ask.tool.name, asked));
    if (call) this.showResult(call);
    return call;
  }

  /** Call a tool in the place of whatever is under way; nothing where that fails or is stopped. */
  private async made(tool: string, asked: Fields): Promise<Call | undefined> {
    this.running.abort(REPLACED);
    const stop = (this.running = new AbortController());
    this.ask?.busy(() => { stop.abort(STOPPED); });
    this.came.setAttribute("aria-busy", "true");
    try {
      return this.took(await this.server.call(tool, asked, stop.signal));
    } catch (fault) {
      if (fault !== REPLACED) this.fail(fault);
      return undefined;
    } finally {
      if (stop === this.running) {
        this.ask?.busy();
        this.came.removeAttribute("aria-busy");
      }
    }
  }

  /** Say what went wrong above what is shown. */
  private fail(fault: unknown): void {
    this.came.querySelector(".failed")?.remove();
    if (fault instanceof KeyRefused) signIn(fault.message);
    else this.came.prepend(element("p", { class: "failed", role: "alert" }, faultWords(fault)));
  }

  /** Show a call of before, with the form that asked it. */
  private show(call: Call): void {
    const tool = this.toolOf(call.tool);
    if (tool) this.choose(tool).form.set(call.asked);
    this.showResult(call);
  }

  private showResult(call: Call): void {
    const retry = (asked: Fields): void => {
      this.ask?.form.set(asked);
      void this.run(asked);
    };
    const view = (): HTMLElement => this.views.of(call, this.toolOf(call.tool), innerHeight * ROOM);
    const said = `${call.tool} · ${msWords(call)} · ${call.isError ? text(call.answer.error_type) : tokensWords(call)}`;
    this.came.replaceChildren(element("p", { class: "said", role: "status" }, said), outcome(call, view, retry));
  }

  private async drill(told: Fields, of: Call): Promise<void> {
    const shown = await this.proof.of(told, of).catch((fault: unknown) => { this.fail(fault); });
    if (!shown) return;
    this.came.querySelector(".proof")?.remove();
    this.came.append(shown);
    this.views.change((innerHeight * ROOM) / 2);
    shown.scrollIntoView({ block: "nearest" });
    shown.focus();
  }

  private took(call: Call): Call {
    this.calls.unshift(call);
    this.menu.add(call);
    return call;
  }

  private toolOf(name: string): Tool | undefined {
    return this.tools.find((tool) => tool.name === name);
  }
}

/** The question that a report answers, with what was left to the books filled in. */
function questionOf(answer: Fields): Fields {
  const columns = objects(answer.columns).map(({ scenario, alias }) => ({ scenario, alias }));
  const period = answer.period as Fields;
  return { statement: answer.statement, scenarios: columns, period_start: period.start, period_end: period.end };
}

/** Ask for the key where there is none, or where the server does not know it. */
function signIn(words: string): void {
  forget();
  const box = element("input", { id: "key", type: "password", autocomplete: "off", required: true });
  const enter = (event: Event): void => {
    event.preventDefault();
    keep(box.value.trim());
    location.reload();
  };
  byId("books").textContent = "";
  byId("play").hidden = true;
  byId("sign-in").hidden = false;
  byId("sign-in").replaceChildren(
    element(
      "form",
      { onsubmit: enter },
      element("h2", {}, "The key of this server"),
      element("p", {}, words || "The server prints it when it starts, with an address that has it in."),
      element("label", { for: "key" }, "Key"),
      box,
      element("button", { type: "submit", class: "run" }, "Open"),
    ),
  );
  box.focus();
}

async function start(): Promise<void> {
  const key = keyOf(location);
  if (key === undefined) {
    themed(byId("theme"), () => undefined);
    signIn("");
    return;
  }
  const server = new Server(key);
  byId("books").textContent = WAITING;
  try {
    const playground = new Playground(server, await server.tools());
    themed(byId("theme"), () => { playground.retheme(); });
    byId("play").hidden = false;
    await playground.open();
  } catch (fault) {
    themed(byId("theme"), () => undefined);
    if (fault instanceof KeyRefused) signIn(fault.message);
    else byId("books").textContent = faultWords(fault);
  }
}

void start();
