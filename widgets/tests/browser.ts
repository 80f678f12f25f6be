// The browser of a test run, and the two origins that its pages come from; it ends with its standard input.

import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { env, stdin, stdout } from "node:process";
import { build } from "esbuild";
import { chromium } from "playwright-core";

const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "media-src 'self' data:",
  "connect-src 'none'",
  "frame-src 'none'",
  "object-src 'none'",
  "base-uri 'self'",
].join("; "); // what the specification has a host enforce where a view names no domains

const SPARING = [
  "--disable-features=IsolateSandboxedIframes", // else each view starts a process; what keeps it in is the policy
  "--renderer-process-limit=1",
  "--disable-gpu",
  "--disable-software-rasterizer", // pages are flat: a software GPU would draw them at a third more of processor time
];

interface Page {
  readonly type: string;
  readonly body: string;
  readonly policy?: string;
}

/** Serve some pages at an origin of their own; whatever else is asked for there is kept and told at /hits. */
async function origin(pages: Readonly<Record<string, Page>>): Promise<string> {
  const hits: string[] = [];
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://origin").pathname;
    const page = path === "/hits" ? { type: "application/json", body: JSON.stringify(hits) } : pages[path];
    if (!page) hits.push(`${request.method ?? ""} ${path}`);
    send(response, page);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function send(response: ServerResponse, page: Page | undefined): void {
  response.writeHead(page ? 200 : 404, {
    "Content-Type": page?.type ?? "text/plain",
    "Access-Control-Allow-Origin": "*", // so that nothing but the policy keeps a view from asking
    ...(page?.policy ? { "Content-Security-Policy": page.policy } : {}),
  });
  response.end(page?.body);
}

const made = await build({
  entryPoints: ["tests/host/page.ts"],
  bundle: true,
  write: false,
  format: "esm",
  logLevel: "error",
});
const host = await origin({
  "/": { type: "text/html", body: readFileSync("tests/host/index.html", "utf8") },
  "/page.js": { type: "text/javascript", body: made.outputFiles[0]?.text ?? "" },
});
const proxy = { type: "text/html", body: readFileSync("tests/host/sandbox.html", "utf8") };
const sandbox = await origin({ "/": { ...proxy, policy: POLICY }, "/lax": proxy });
const browser = await chromium.launchServer({
  args: SPARING,
  ...(env.CHROMIUM ? { executablePath: env.CHROMIUM } : {}),
});
stdout.write(`${JSON.stringify({ TEST_BROWSER: browser.wsEndpoint(), TEST_HOST: host, TEST_SANDBOX: sandbox })}\n`);
stdin.resume().on("end", () => {
  void browser.close().then(() => process.exit());
});
