// The bridge to the host: JSON-RPC over postMessage as MCP Apps 2026-01-26 has it, and nothing but the parent heard.

import { fields, isFields, number, text } from "./shape";
import type { Fields } from "./shape";

const PROTOCOL = "2026-01-26";
const NOTIFICATION = "ui/notifications/";
const VERSION = "0.3.0";
const NO_SUCH_METHOD = -32601;

export type Capability = "serverTools" | "openLinks" | "downloadFile" | "message" | "updateModelContext";

export interface Listeners {
  asked(tool: string, args: Fields): void; // what the tool is called with, once all of it is known
  answered(result: Fields): void;
  cancelled(reason: string): void;
  changed(context: Fields): void;
  gone(): void;
}

interface Waiting {
  answer(result: Fields): void;
  refuse(fault: Error): void;
}

export class Host {
  context: Fields = {};
  private readonly waiting = new Map<number, Waiting>();
  private capabilities: Fields = {};
  private sent = 0;

  constructor(private readonly listeners: Listeners) {
    window.addEventListener("message", this.hear);
  }

  async connect(name: string): Promise<void> {
    const asked = {
      protocolVersion: PROTOCOL,
      appInfo: { name, version: VERSION },
      appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
    };
    const found = await this.request("ui/initialize", asked);
    this.capabilities = fields(found.hostCapabilities);
    this.change(fields(found.hostContext));
    this.notify("initialized", {});
  }

  can(what: Capability): boolean {
    return isFields(this.capabilities[what]);
  }

  get tool(): string {
    return text(fields(fields(this.context.toolInfo).tool).name);
  }

  request(method: string, params: Fields): Promise<Fields> {
    const id = ++this.sent;
    return new Promise((answer, refuse) => {
      this.waiting.set(id, { answer, refuse });
      this.post({ id, method, params });
    });
  }

  notify(method: string, params: Fields): void {
    this.post({ method: NOTIFICATION + method, params });
  }

  call(tool: string, args: Fields): Promise<Fields> {
    return this.request("tools/call", { name: tool, arguments: args });
  }

  private post(message: Fields): void {
    window.parent.postMessage({ jsonrpc: "2.0", ...message }, "*"); // whose origin a view cannot know
  }

  private readonly hear = ({ source, data }: MessageEvent<unknown>): void => {
    const message = fields(data);
    if (source !== window.parent || message.jsonrpc !== "2.0") return;
    const id = message.id;
    if (typeof message.method !== "string") this.settle(message);
    else if (id === undefined) this.told[message.method.replace(NOTIFICATION, "")]?.(fields(message.params));
    else this.reply(id, message.method);
  };

  private settle(message: Fields): void {
    const id = number(message.id) ?? 0;
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    if (isFields(message.error)) waiting?.refuse(new Error(text(message.error.message) || "refused by the host"));
    else waiting?.answer(fields(message.result));
  }

  private reply(id: unknown, method: string): void {
    const known = method === "ping" || method === "ui/resource-teardown";
    this.post({ id, ...(known ? { result: {} } : { error: { code: NO_SUCH_METHOD, message: `no method ${method}` } }) });
    if (method !== "ui/resource-teardown") return;
    window.removeEventListener("message", this.hear);
    this.listeners.gone();
  }

  private change(context: Fields): void {
    this.context = { ...this.context, ...context };
    this.listeners.changed(this.context);
  }

  private readonly told: Readonly<Record<string, (params: Fields) => void>> = {
    "tool-input": (params) => {
      this.listeners.asked(this.tool, fields(params.arguments));
    },
    "tool-result": (params) => {
      this.listeners.answered(params);
    },
    "tool-cancelled": (params) => {
      this.listeners.cancelled(text(params.reason));
    },
    "host-context-changed": (params) => {
      this.change(params);
    },
  };
}
