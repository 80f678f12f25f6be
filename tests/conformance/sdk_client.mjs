// Asks a server for what a host shows, with the client of the TypeScript SDK in both of its releases: over HTTP where it
// is given an address, else of a program that it starts. Prints the answers of each as JSON.
import { createHash } from "node:crypto";
import { Client as Newest, StreamableHTTPClientTransport as NewestHttp } from "@modelcontextprotocol/client";
import { StdioClientTransport as NewestStdio } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { z } from "zod";

const [server, statement] = process.argv.slice(2).map((text) => JSON.parse(text));
const headers = { Authorization: `Bearer ${server.key}` };
const open = (Http, Stdio) =>
  server.url
    ? new Http(new URL(server.url), { requestInit: { headers } })
    : new Stdio({ ...server, stderr: "inherit" });

const told = [];
for (const [Kind, ...transports] of [
  [Newest, NewestHttp, NewestStdio],
  [Client, StreamableHTTPClientTransport, StdioClientTransport],
]) {
  const client = new Kind({ name: "test", version: "1" });
  await client.connect(open(...transports));
  const ask = (method, params) => client.request({ method, params }, z.looseObject({}));
  const read = async (uri) => (await client.readResource({ uri })).contents[0].text;
  const fault = (promise) => promise.then(() => null, ({ code, message }) => ({ code, message }));
  const { tools } = await client.listTools();
  const called = await client.callTool({ name: "run_statement", arguments: statement });
  const { skills } = await ask("skills/list", {});
  const got = await Promise.all(skills.map(({ uri }) => ask("skills/get", { uri })));
  const others = [];
  for (const { uri, digest } of skills.flatMap((skill) => skill.resources)) {
    const found = `sha256:${createHash("sha256").update(await read(uri)).digest("hex")}`;
    if (found !== digest) others.push(uri);
  }
  told.push({
    tools: tools.map((tool) => tool.name),
    loaded: tools.filter((tool) => tool._meta["anthropic/alwaysLoad"]).map((tool) => tool.name),
    statement: called.structuredContent,
    extensions: client.getServerCapabilities().extensions,
    skills,
    got: got.map(({ skill }) => skill),
    others,
    dataset: JSON.parse(await read(`tieout://dataset/${called.structuredContent.data_ref}`)),
    absent: await fault(ask("skills/get", { uri: "skill://tieout/closing/SKILL.md" })),
    outside: await fault(read("skill://tieout/flux/../tie-out/SKILL.md")),
    gone: await fault(read("tieout://dataset/ds_none")),
  });
  await client.close();
}
console.log(JSON.stringify(told));
