// Lists the tools of the server that argv names, and calls them with what stdin
// holds: [{"name", "arguments"}, …]. All answers are held against the tools'
// schemas, by the SDK itself and once more here. Prints the server's version and
// one line for each complaint.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { Ajv } from "ajv";
import { readFileSync } from "node:fs";

const calls = JSON.parse(readFileSync(0, "utf8"));
const client = new Client({ name: "strict", version: "1" });
const [command, ...args] = process.argv.slice(2);
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
console.log("version " + client.getServerVersion().version);

const ajv = new Ajv({ strict: true, allowUnionTypes: true, allErrors: true });
const outputs = {};
for (const tool of (await client.listTools()).tools) {
  const schema = tool.inputSchema;
  if (schema.type !== "object" || typeof schema.properties !== "object") console.log(`bad ${tool.name}: its input schema has no properties`);
  try {
    ajv.compile(schema);
    outputs[tool.name] = ajv.compile(tool.outputSchema);
  } catch (e) {
    console.log(`bad ${tool.name}: ${e.message}`);
  }
}
for (const { name, arguments: given } of calls) {
  const what = `${name} ${JSON.stringify(given)}`;
  try {
    const answer = await client.callTool({ name, arguments: given });
    if (!answer.structuredContent) console.log(`bad ${what}: no structured content`);
    else if (!outputs[name](answer.structuredContent)) console.log(`bad ${what}: ${ajv.errorsText(outputs[name].errors)}`);
    else console.log(`${answer.isError ? "error" : "ok"} ${what}`);
  } catch (e) {
    console.log(`bad ${what}: ${e.message}`);
  }
}
await client.close();
