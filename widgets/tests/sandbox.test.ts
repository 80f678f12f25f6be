// What a view cannot do in the strictest sandbox: reach anything outside it, or run what did not come with it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { HOST, shown, VIEWS, type Shown } from "./harness";

type Attempt = () => unknown;

/** Try what a view must not do, inside it, and log the names of what worked; it stands in the page as text. */
function attempts(canary: string): void {
  const happens = (element: HTMLElement, add: () => void): Promise<void> =>
    new Promise((resolve, reject) => {
      element.addEventListener("load", () => { resolve(); });
      element.addEventListener("error", () => { reject(new Error("not loaded")); });
      add();
    });
  const loaded = (kind: string, address: Record<string, string>): Promise<void> => {
    const element = Object.assign(document.createElement(kind), address);
    return happens(element, () => { document.head.append(element); });
  };
  const opened = (channel: EventTarget): Promise<void> =>
    new Promise((resolve, reject) => {
      channel.addEventListener("open", () => { resolve(); });
      channel.addEventListener("error", () => { reject(new Error("not opened")); });
    });
  const must = (done: unknown): void => {
    if (!done) throw new Error("nothing was done");
  };
  const script = (): string => URL.createObjectURL(new Blob(["globalThis.ran = true"], { type: "text/javascript" }));
  const wasm = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
  const tried: Record<string, Attempt> = {
    "fetch": () => fetch(`${canary}/fetch`),
    "fetch of the host": () => fetch(new URL("/hits", canary)),
    "XMLHttpRequest": () => {
      const request = new XMLHttpRequest();
      request.open("GET", `${canary}/xhr`, false);
      request.send();
    },
    "sendBeacon": () => {
      navigator.sendBeacon(`${canary}/beacon`, "figures");
      throw new Error("only the canary knows");
    },
    "WebSocket": () => opened(new WebSocket(canary.replace("http", "ws"))),
    "EventSource": () => opened(new EventSource(`${canary}/events`)),
    "image": () => loaded("img", { src: `${canary}/image.png` }),
    "style sheet": () => loaded("link", { rel: "stylesheet", href: `${canary}/style.css` }),
    "preloading": () => loaded("link", { rel: "preload", as: "fetch", href: `${canary}/preload` }),
    "script": () => loaded("script", { src: `${canary}/script.js` }),
    "blob script": () => loaded("script", { src: script() }),
    "import": () => import(`${canary}/module.js`),
    "worker": () => new Promise((resolve, reject) => {
      const worker = new Worker(script());
      worker.onerror = reject;
      setTimeout(resolve, 500);
    }),
    "eval": () => { (0, eval)("globalThis.evaluated = true"); },
    "Function": () => { Reflect.construct(Function, ["return 1"]); },
    "a timer of text": () => { must((setTimeout as (code: string) => number)("globalThis.timed = true")); },
    "WebAssembly": () => WebAssembly.compile(wasm),
    "localStorage": () => { localStorage.setItem("key", "value"); },
    "sessionStorage": () => { sessionStorage.setItem("key", "value"); },
    "cookie": () => {
      document.cookie = "key=value";
      must(document.cookie);
    },
    "indexedDB": () => indexedDB.open("books"),
    "caches": () => caches.open("books"),
    "the sandbox's page": () => parent.document.title,
    "the host's page": () => top?.document.title,
    "the host's location": () => { if (top) top.location.href = `${canary}/navigated`; },
    "a window": () => { must(open(`${canary}/window`)); },
    "a form": () => {
      const form = Object.assign(document.createElement("form"), { action: `${canary}/form`, target: "_blank" });
      document.body.append(form);
      form.submit();
      throw new Error("only the canary knows");
    },
    "reading the clipboard": () => navigator.clipboard.readText(),
    "the camera": () => navigator.mediaDevices.getUserMedia({ video: true }),
    "the position": () => new Promise((resolve, reject) => { navigator.geolocation.getCurrentPosition(resolve, reject); }),
    "a frame of the host": () => new Promise((_, reject) => {
      const frame = Object.assign(document.createElement("iframe"), { src: `${canary}/frame` });
      document.body.append(frame);
      setTimeout(() => { reject(new Error("only the canary knows")); }, 500);
    }),
  };
  const outcome = async ([name, attempt]: [string, Attempt]): Promise<string[]> => {
    try {
      await Promise.race([attempt(), new Promise((_, reject) => setTimeout(reject, 2000))]);
      return [name];
    } catch {
      return [];
    }
  };
  addEventListener("load", () => {
    void Promise.all(Object.entries(tried).map(outcome)).then((worked) => {
      const params = { level: "info", data: worked.flat() };
      parent.postMessage({ jsonrpc: "2.0", method: "notifications/message", params }, "*");
    });
  });
}

interface Tried {
  readonly worked: string[];
  readonly hits: string[]; // what asked for something outside
}

/** Return what works in a view, and what it reached. */
async function tried(name: string, view: Shown): Promise<Tried> {
  const canary = `${HOST}/${name}`;
  const probe = `<script>(${attempts.toString()})(${JSON.stringify(canary)})</script>`;
  const worked: string[] = [];
  const edited = (html: string): string => html.replace("<head>", () => `<head>${probe}`);
  await shown({ ...view, edited }, async ({ page }) => {
    const handle = await page.waitForFunction(() => window.host.said[0]);
    worked.push(...((await handle.jsonValue()) as string[]));
  });
  const hits = (await (await fetch(`${HOST}/hits`)).json()) as string[];
  return { worked, hits: hits.filter((hit) => hit.includes(`/${name}/`)) };
}

for (const [name, view] of Object.entries(VIEWS)) {
  test(`in ${name} nothing of what must not work does, and no request leaves it`, async () => {
    assert.deepEqual(await tried(name, view), { worked: [], hits: [] });
  });
}

test("without the policy the same attempts reach out, so that their silence says something", async () => {
  const { worked, hits } = await tried("lax", { ...VIEWS["inspection-grid"], lax: true });
  for (const name of ["fetch", "blob script", "worker", "eval", "Function", "WebAssembly"])
    assert.ok(worked.includes(name), name);
  for (const path of ["fetch", "xhr", "beacon", "image.png", "script.js", "module.js", "frame"])
    assert.ok(hits.some((hit) => hit.endsWith(`/lax/${path}`)), path);
});
