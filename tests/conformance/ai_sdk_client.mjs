// Asks a server for everything that a host shows, with the client of Vercel's AI SDK, and prints the answers as JSON.
import { createMCPClient } from "@ai-sdk/mcp";

const [url, key, statement] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${key}` };
const client = await createMCPClient({ transport: { type: "http", url, headers } });
const { tools } = await client.listTools();
const called = await client.callTool({ name: "run_statement", arguments: JSON.parse(statement) });
const { prompts } = await client.listPrompts();
const tieOut = { name: "tie_out", arguments: { metric: "net_sales", period: "2006-01" } };
const prompt = await client.getPrompt(tieOut);
const completed = await client.complete({
  ref: { type: "ref/prompt", name: "tie_out" },
  argument: { name: "metric", value: "net_s" },
});
const { resources } = await client.listResources();
const { resourceTemplates } = await client.listResourceTemplates();
const read = await client.readResource({ uri: "tieout://metric/net_sales" });
const skill = await client.readResource({ uri: "skill://tieout/flux/SKILL.md" });
const dataset = await client.readResource({ uri: `tieout://dataset/${called.structuredContent.data_ref}` });
const gone = await client.readResource({ uri: `tieout://dataset/ds_${"a".repeat(32)}` }).catch((fault) => fault.message);
const refused = await client.getPrompt({ ...tieOut, name: "nope" }).catch((fault) => fault.message);
await client.close();
console.log(
  JSON.stringify({
    ...{ tools, called, prompts, prompt, completed, resources, resourceTemplates, read, refused },
    ...{ skill, dataset, gone },
  }),
);
