// A host page: it shows one view in a sandbox of another origin, and keeps what the view asks for.

import {
  AppBridge,
  PostMessageTransport,
  type McpUiHostCapabilities,
  type McpUiHostContext,
} from "@modelcontextprotocol/ext-apps/app-bridge";
import type { CallToolResult } from "@modelcontextprotocol/client";

/** A view to show: its page, the call that it shows, and what the host is able to do. */
export interface Showing {
  readonly sandbox: string;
  readonly html: string;
  readonly given: Record<string, unknown>;
  readonly result: CallToolResult | null; // null: the host never tells
  readonly capabilities: McpUiHostCapabilities;
  readonly context: McpUiHostContext;
}

/** What a view asked of its host. */
export interface Asked {
  readonly method: string;
  readonly params: unknown;
}

/** What the tests drive a host page by. */
export interface Host {
  readonly asked: Asked[];
  readonly said: unknown[]; // log messages of the view
  readonly show: (showing: Showing) => Promise<void>;
  readonly change: (context: McpUiHostContext) => void;
  readonly close: () => Promise<void>;
}

declare global {
  interface Window {
    host: Host;
    callTool: (name: string, given: Record<string, unknown>) => Promise<CallToolResult>;
  }
}

const asked: Asked[] = [];
const said: unknown[] = [];
let bridge: AppBridge | undefined;

function keep(method: string): (params: unknown) => Promise<Record<string, never>> {
  return (params) => {
    asked.push({ method, params });
    return Promise.resolve({});
  };
}

function dress({ theme }: McpUiHostContext): void {
  document.body.className = theme ?? "light";
}

async function show(showing: Showing): Promise<void> {
  dress(showing.context);
  const frame = document.createElement("iframe");
  frame.title = "Sandbox";
  document.body.replaceChildren(frame);
  if (!frame.contentWindow) throw new Error("the frame has no window");
  const made = new AppBridge(null, { name: "test-host", version: "1" }, showing.capabilities, {
    hostContext: showing.context,
  });
  listen(made, frame, showing);
  bridge = made;
  await made.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.src = showing.sandbox;
}

function listen(made: AppBridge, frame: HTMLIFrameElement, showing: Showing): void {
  made.addEventListener("sandboxready", () => {
    void made.sendSandboxResourceReady({ html: showing.html, sandbox: "allow-scripts" });
  });
  made.addEventListener("initialized", () => {
    void made.sendToolInput({ arguments: showing.given });
    if (showing.result) void made.sendToolResult(showing.result);
  });
  made.addEventListener("sizechange", ({ height }) => {
    if (height) frame.style.height = `${height}px`;
  });
  made.addEventListener("loggingmessage", ({ data }) => said.push(data));
  made.onopenlink = keep("ui/open-link");
  made.ondownloadfile = keep("ui/download-file");
  made.onmessage = keep("ui/message");
  made.onupdatemodelcontext = keep("ui/update-model-context");
  made.oncalltool = ({ name, arguments: given }) => {
    asked.push({ method: "tools/call", params: { name, arguments: given } });
    return window.callTool(name, given ?? {});
  };
}

window.host = {
  asked,
  said,
  show,
  change: (context) => {
    dress(context);
    bridge?.setHostContext(context);
  },
  close: async () => {
    await bridge?.teardownResource({});
  },
};
