// Starts a program with the client of the TypeScript SDK, in both of its releases: prints its tools and one statement.
import { Client as Newest } from "@modelcontextprotocol/client";
import { StdioClientTransport as NewestTransport } from "@modelcontextprotocol/client/stdio";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [program, statement] = process.argv.slice(2).map((text) => JSON.parse(text));
const told = [];
for (const [Kind, Transport] of [[Newest, NewestTransport], [Client, StdioClientTransport]]) {
  const client = new Kind({ name: "test", version: "1" });
  await client.connect(new Transport({ ...program, stderr: "inherit" }));
  const { tools } = await client.listTools();
  const called = await client.callTool({ name: "run_statement", arguments: statement });
  told.push({ tools: tools.map((tool) => tool.name), statement: called.structuredContent });
  await client.close();
}
console.log(JSON.stringify(told));
