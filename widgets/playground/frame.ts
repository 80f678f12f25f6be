// A view in its frame: what MCP Apps asks of a host, for a page that comes from elsewhere and is not trusted.
//
// The frame has no origin: it reaches nothing of this page but the messages that are answered here.

import type { McpUiHostCapabilities, McpUiHostContext } from "@modelcontextprotocol/ext-apps";
import { faultWords } from "./faults";
import { at, objects } from "./json";
import { element } from "../shared/element";
import { fields, isFields, text, type Fields } from "../shared/shape";

const PROTOCOL = "2026-01-26";
const CAPABILITIES: McpUiHostCapabilities = {
  downloadFile: {},
  message: { text: {} },
  openLinks: {},
  serverTools: {},
  updateModelContext: { structuredContent: {}, text: {} },
};
const NO_SUCH_METHOD = -32601;
const FAILED = -32000;

/** What a view shows, and what it may ask of the page. */
export interface Shown {
  readonly title: string;
  readonly tool: string;
  readonly page: string; // its HTML
  readonly asked: Fields;
  readonly result: Fields;
  call(tool: string, asked: Fields): Promise<Fields>;
  read(uri: string): Promise<Fields>;
  /** The view says something to the model, with what it told it before. */
  say(words: string, told: Fields): void;
}

type Answers = (params: Fields) => unknown;

export class Frame {
  readonly element: HTMLIFrameElement;
  private told: Fields = {};
  private readonly listen = (event: MessageEvent): void => {
    if (event.source === this.element.contentWindow && isFields(event.data)) void this.heed(event.data);
  };

  constructor(
    private readonly shown: Shown,
    private readonly theme: () => "light" | "dark",
    private maxHeight: number,
  ) {
    this.element = element("iframe", { src: "/view", title: shown.title, class: "view" });
    addEventListener("message", this.listen);
  }

  close(): void {
    removeEventListener("message", this.listen);
    this.element.remove();
  }

  /** Tell the view how much room there is, and the theme, which may be another one by now. */
  change(maxHeight: number): void {
    this.maxHeight = maxHeight;
    this.send("ui/notifications/host-context-changed", { theme: this.theme(), containerDimensions: { maxHeight } });
  }

  private readonly notices: Readonly<Record<string, (params: Fields) => void>> = {
    "ui/notifications/sandbox-proxy-ready": () => {
      this.send("ui/notifications/sandbox-resource-ready", { html: this.shown.page });
    },
    "ui/notifications/initialized": () => {
      this.send("ui/notifications/tool-input", { arguments: this.shown.asked });
      this.send("ui/notifications/tool-result", this.shown.result);
    },
    "ui/notifications/size-changed": ({ height }) => {
      if (typeof height === "number") this.element.style.height = `${Math.ceil(height)}px`;
    },
  };

  private readonly requests: Readonly<Record<string, Answers>> = {
    "ui/initialize": () => ({
      protocolVersion: PROTOCOL,
      hostInfo: { name: "tieout-playground", version: "1" },
      hostCapabilities: CAPABILITIES as unknown as Fields,
      hostContext: this.surroundings() as unknown as Fields,
    }),
    "ui/update-model-context": (params) => {
      this.told = params;
      return {};
    },
    "ui/message": (params) => {
      this.shown.say(objects(params.content).map((part) => text(part.text)).join("\n"), this.told);
      return {};
    },
    "ui/open-link": ({ url }) => ({ isError: !opened(text(url)) }),
    "ui/download-file": ({ contents }) => ({ isError: !objects(contents).every(downloaded) }),
    "ui/request-display-mode": () => ({ mode: "inline" }),
    "tools/call": (params) =>
      this.shown.call(text(params.name), fields(params.arguments)),
    "resources/read": ({ uri }) => this.shown.read(text(uri)),
    ping: () => ({}),
  };

  private surroundings(): McpUiHostContext {
    return {
      theme: this.theme(),
      displayMode: "inline",
      availableDisplayModes: ["inline"],
      containerDimensions: { maxHeight: this.maxHeight },
      toolInfo: { tool: { name: this.shown.tool, inputSchema: { type: "object" } } },
      locale: navigator.language,
      timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
      platform: "web",
    };
  }

  private async heed(message: Fields): Promise<void> {
    const method = text(message.method);
    const params = fields(message.params);
    const id = message.id;
    if (id === undefined) this.notices[method]?.(params);
    else this.post({ id, ...(await answered(this.requests[method], params)) });
  }

  private send(method: string, params: Fields): void {
    this.post({ method, params });
  }

  private post(message: Fields): void {
    this.element.contentWindow?.postMessage({ jsonrpc: "2.0", ...message }, "*"); // a frame without an origin has no name
  }
}

async function answered(answers: Answers | undefined, params: Fields): Promise<Fields> {
  if (!answers) return { error: { code: NO_SUCH_METHOD, message: "The playground does not do that." } };
  try {
    return { result: await answers(params) };
  } catch (fault) {
    return { error: { code: FAILED, message: faultWords(fault) } };
  }
}

/** Open a link of this server; others are not for a view to open. */
function opened(url: string): boolean {
  const own = URL.canParse(url) && new URL(url).host === location.host;
  if (own) element("a", { href: url, target: "_blank", rel: "noopener noreferrer", download: "" }).click();
  return own;
}

/** Save what a view made, or what it links to. */
function downloaded(part: Fields): boolean {
  if (part.type === "resource_link") return opened(text(part.uri));
  const resource = part.resource;
  const name = text(at(resource, "uri")).split("/").pop() ?? "download";
  const blob = at(resource, "blob");
  const bytes = typeof blob === "string" ? Uint8Array.from(atob(blob), (one) => one.charCodeAt(0)) : text(at(resource, "text"));
  const url = URL.createObjectURL(new Blob([bytes], { type: text(at(resource, "mimeType")) }));
  element("a", { href: url, download: decodeURIComponent(name) }).click();
  setTimeout(() => { URL.revokeObjectURL(url); });
  return true;
}
