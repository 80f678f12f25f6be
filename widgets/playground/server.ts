// The server as any MCP client sees it: Streamable HTTP, one POST a message, stateless, JSON answers.

import { NO_ANSWER } from "./faults";
import { at, objects } from "./json";
import { fields, isFields, text, type Fields } from "../shared/shape";

const VERSION = "2026-07-28";
const NAMESPACE = "io.modelcontextprotocol";
const APP = { [`${NAMESPACE}/ui`]: { mimeTypes: ["text/html;profile=mcp-app"] } };
const ABOUT = {
  [`${NAMESPACE}/protocolVersion`]: VERSION,
  [`${NAMESPACE}/clientInfo`]: { name: "tieout-playground", version: "1" },
  [`${NAMESPACE}/clientCapabilities`]: { extensions: APP },
};
export const JSON_BOTH_WAYS = {
  "Content-Type": "application/json",
  Accept: "application/json, text/event-stream",
} as const;

export class KeyRefused extends Error {}

/** One tool, as it is listed. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly schema: Fields;
  readonly widget: string | undefined;
}

/** One call and what came of it. */
export interface Call {
  readonly tool: string;
  readonly asked: Fields;
  readonly result: Fields; // as views are handed it: content, structuredContent, _meta
  readonly answer: Fields; // what the model reads, as data
  readonly text: string; // and as text
  readonly isError: boolean;
  readonly ms: number;
  readonly bytes: number; // of the whole message
}

interface Answered {
  readonly result: Fields;
  readonly bytes: number;
}

export class Server {
  private asked = 0;
  private readonly auth: Readonly<Record<string, string>>;

  constructor(key: string) {
    this.auth = { Authorization: `Bearer ${key}` };
  }

  async tools(): Promise<readonly Tool[]> {
    const { result } = await this.post("tools/list", {});
    return objects(result.tools).map((tool) => ({
      name: text(tool.name),
      title: text(tool.title),
      description: text(tool.description),
      schema: fields(tool.inputSchema),
      widget: text(at(tool, "_meta", "ui", "resourceUri")) || undefined,
    }));
  }

  async call(tool: string, asked: Fields, signal?: AbortSignal): Promise<Call> {
    const began = performance.now();
    const { result, bytes } = await this.post("tools/call", { name: tool, arguments: asked }, tool, signal);
    const answer = fields(result.structuredContent);
    return {
      tool,
      asked,
      result,
      answer,
      text: text(objects(result.content)[0]?.text),
      isError: result.isError === true,
      ms: performance.now() - began,
      bytes,
    };
  }

  /** A page of the server's own. */
  async page(path: string): Promise<string> {
    const response = await reached(path, { headers: this.auth });
    if (!response.ok) throw new Error(`The server answered with status ${response.status}.`);
    return await response.text();
  }

  /** The page of a widget. */
  async read(uri: string): Promise<Fields> {
    return (await this.post("resources/read", { uri }, uri)).result;
  }

  private async post(method: string, params: Fields, name = "", signal?: AbortSignal): Promise<Answered> {
    const response = await reached("/mcp", {
      method: "POST",
      headers: {
        ...JSON_BOTH_WAYS,
        ...this.auth,
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": method,
        ...(name && { "Mcp-Name": name }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: ++this.asked, method, params: { ...params, _meta: ABOUT } }),
      signal: signal ?? null,
    });
    if (response.status === 401 || response.status === 429) throw new KeyRefused(await said(response));
    const body = await response.text();
    return { result: resultOf(body, response.status), bytes: new TextEncoder().encode(body).length };
  }
}

/** What the server answers; that it does not is said in words. */
async function reached(path: string, asked: RequestInit): Promise<Response> {
  try {
    return await fetch(path, asked);
  } catch (fault) {
    throw fault instanceof TypeError ? new Error(NO_ANSWER) : fault;
  }
}

async function said(response: Response): Promise<string> {
  const refused: unknown = await response.json().catch(() => null) as unknown;
  return text(at(refused, "error_description")) || text(at(refused, "error"));
}

function resultOf(body: string, status: number): Fields {
  const message = JSON.parse(body) as unknown;
  const result = at(message, "result");
  if (isFields(result)) return result;
  throw new Error(text(at(message, "error", "message")) || `The server answered with status ${status}.`);
}
