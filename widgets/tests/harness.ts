// What the browser tests share: the tools of a real server, and a host page in a real browser that shows its views.

import assert from "node:assert/strict";
import { env } from "node:process";
import { after } from "node:test";
import { Client, StreamableHTTPClientTransport, type CallToolResult, type Tool } from "@modelcontextprotocol/client";
import type { McpUiHostCapabilities, McpUiHostContext } from "@modelcontextprotocol/ext-apps/app-bridge";
import axe from "axe-core";
import { chromium, type Frame, type Page } from "playwright-core";
import type { Asked, Showing } from "./host/page";

export type Json = Record<string, unknown>;

/** What a host passes on of a result, by the name of what it leaves out. */
export const STRIPPED = {
  nothing: (result: CallToolResult): CallToolResult | null => result,
  meta: ({ content, structuredContent }: CallToolResult) => ({ content, ...(structuredContent ? { structuredContent } : {}) }),
  structured: ({ content }: CallToolResult) => ({ content }),
  content: (): CallToolResult => ({ content: [] }),
  everything: () => null, // no notification of a result at all
};
export const ABLE: McpUiHostCapabilities = {
  openLinks: {},
  downloadFile: {},
  serverTools: {},
  updateModelContext: { text: {} },
  message: { text: {} },
  logging: {},
};

/** How a call is shown. */
export interface Shown {
  readonly tool: string;
  readonly given: Json;
  readonly told?: Json; // the arguments that the host tells the view, where they are others
  readonly stripped?: keyof typeof STRIPPED;
  readonly width?: number;
  readonly height?: number;
  readonly context?: McpUiHostContext;
  readonly able?: McpUiHostCapabilities;
  readonly edited?: (html: string) => string;
  readonly lax?: boolean; // a sandbox without any policy, to see that it is the policy that keeps a view from something
}

/** A call for each view, as the first that a newcomer makes. */
export const VIEWS = {
  "financial-table": { tool: "run_statement", given: {} },
  "inspection-grid": {
    tool: "inspect_rows",
    given: { source_key: "gl", scenario_id: "actual", period_start: "2026-09", filters: { metric: "revenue" } },
  },
};

function setting(name: string): string {
  const value = env[name];
  if (!value) throw new Error(`${name} is not set: run these tests by pytest tests/integration/browser`);
  return value;
}

const SANDBOX = setting("TEST_SANDBOX");
/** The origin of the host page; it tells at /hits what else was asked of it. */
export const HOST = setting("TEST_HOST");
const client = new Client({ name: "browser-tests", version: "1" });
await client.connect(
  new StreamableHTTPClientTransport(new URL(setting("TEST_SERVER")), {
    requestInit: { headers: { Authorization: `Bearer ${setting("TEST_KEY")}` } },
  }),
);
const tools = new Map<string, Tool>((await client.listTools()).tools.map((tool) => [tool.name, tool]));
const browser = await chromium.connect(setting("TEST_BROWSER"));
after(async () => {
  await browser.close();
  await client.close();
});

/** Call a tool of the server. */
export async function call(tool: string, given: Json): Promise<CallToolResult> {
  return await client.callTool({ name: tool, arguments: given });
}

/** Call a tool that must answer, and return its result object. */
export async function ask(tool: string, given: Json): Promise<Json> {
  const answer = await call(tool, given);
  assert.ok(!answer.isError, JSON.stringify(answer.structuredContent));
  return answer.structuredContent as Json;
}

async function pageOf(tool: Tool): Promise<string> {
  const { ui } = (tool._meta ?? {}) as { ui?: { resourceUri: string } };
  assert.ok(ui, `${tool.name} has no view: are the widgets built?`);
  const { contents } = await client.readResource({ uri: ui.resourceUri });
  const [page] = contents;
  assert.ok(page && "text" in page);
  return page.text;
}

/** A view in its host, in a page of its own. */
export class View {
  constructor(
    readonly page: Page,
    readonly frame: Frame,
    readonly result: CallToolResult,
    private readonly complaints: readonly string[],
  ) {}

  /** Return what the view has asked of its host so far. */
  async asked(method: string): Promise<Asked[]> {
    return (await this.page.evaluate(() => window.host.asked)).filter((one) => one.method === method);
  }

  /** Wait until the view has asked something of its host, and return the last of it. */
  async waitForAsked(method: string): Promise<unknown> {
    await this.page.waitForFunction((name) => window.host.asked.some((one) => one.method === name), method);
    return (await this.asked(method)).at(-1)?.params;
  }

  /** Tell the view of a change in its host. */
  async change(context: McpUiHostContext): Promise<void> {
    await this.page.evaluate((changed: Json) => { window.host.change(changed); }, context as Json);
  }

  /** Wait until the view is drawn, and as high in its host as it has told it to be. */
  async settled(): Promise<void> {
    await this.frame.waitForSelector("tbody tr");
    const frame = await this.page.waitForSelector("iframe");
    const height = (): Promise<number> => this.frame.evaluate(() => document.body.getBoundingClientRect().height);
    await this.frame.waitForFunction(() => document.readyState === "complete");
    for (let tries = 0; tries < 100; tries++) {
      const [inner, outer] = [await height(), (await frame.boundingBox())?.height ?? 0];
      if (Math.ceil(inner) === Math.round(outer)) return;
      await this.page.waitForTimeout(20);
    }
    throw new Error("the view and its frame differ in height");
  }

  /** Return what lies on the clipboard. */
  async clipboard(): Promise<string> {
    await this.page.bringToFront();
    return await this.page.evaluate(() => navigator.clipboard.readText());
  }

  /** Return what axe finds wrong with the view, in words. */
  async violations(): Promise<string[]> {
    await this.frame.evaluate(axe.source);
    const found = await this.frame.evaluate(`axe.run().then(({ violations }) => violations.flatMap(
      ({ id, help, nodes }) => nodes.map(({ html }) => id + ": " + help + ": " + html.slice(0, 200))))`);
    return found as string[];
  }

  /** Fail where the view broke a policy, threw, or logged an error. */
  assertQuiet(): void {
    assert.deepEqual(this.complaints, []);
  }
}

/** A page of its own context, and what it has complained of. */
interface Tab {
  readonly page: Page;
  readonly size: string;
  readonly complaints: string[];
}

const idle: Tab[] = []; // pages that a view was shown in before: a new one costs two processes of the browser

async function tab(width: number, height: number, isFresh: boolean): Promise<Tab> {
  const size = `${width}x${height}`;
  const at = isFresh ? -1 : idle.findIndex((one) => one.size === size && !one.page.isClosed());
  const [found] = at < 0 ? [] : idle.splice(at, 1);
  if (found) {
    found.complaints.splice(0);
    return found;
  }
  const context = await browser.newContext({
    viewport: { width, height },
    permissions: ["clipboard-read"],
    reducedMotion: "reduce",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const complaints: string[] = [];
  page.on("console", (said) => { if (said.type() === "error") complaints.push(said.text()); });
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.exposeFunction("callTool", call);
  return { page, size, complaints };
}

/** Show a call in a host until some work is done. A view that was not edited may stand in a page that was used before. */
export async function shown(asked: Shown, work: (view: View) => Promise<void>): Promise<void> {
  const tool = tools.get(asked.tool);
  assert.ok(tool, `there is no tool ${asked.tool}`);
  const isFresh = asked.edited !== undefined || asked.lax === true;
  const used = await tab(asked.width ?? 1440, asked.height ?? 900, isFresh);
  const { page, complaints } = used;
  let isDone = false;
  try {
    const result = await call(asked.tool, asked.given);
    const showing: Showing = {
      sandbox: asked.lax ? `${SANDBOX}/lax` : SANDBOX,
      html: (asked.edited ?? ((html) => html))(await pageOf(tool)),
      given: asked.told ?? asked.given,
      result: STRIPPED[asked.stripped ?? "nothing"](result),
      capabilities: asked.able ?? ABLE,
      context: { theme: "light", toolInfo: { tool }, ...asked.context },
    };
    await work(new View(page, await opened(page, showing), result, complaints));
    isDone = true;
  } finally {
    if (isDone && !isFresh) {
      await page.emulateMedia({ media: null });
      idle.push(used);
    } else await page.context().close();
  }
}

async function opened(page: Page, showing: Showing): Promise<Frame> {
  await page.goto(HOST);
  await page.waitForFunction(() => "host" in window);
  const inner = page.waitForEvent("framenavigated", (frame) => frame.url() === "about:srcdoc");
  await page.evaluate((given: Json) => window.host.show(given as unknown as Showing), showing as unknown as Json);
  return await inner;
}
