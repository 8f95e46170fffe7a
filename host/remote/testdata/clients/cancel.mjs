// Calls a tool at the door with a client of the TypeScript SDK: one call is cancelled, one times
// out, and the last is answered. argv: node_modules, the SDK's version, URL, token.
import { pathToFileURL } from "node:url";

const [modules, version, url, token] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${modules}/@modelcontextprotocol/${path}`));
const { Client } = await load(version === "1" ? "sdk/dist/esm/client/index.js" : "client/dist/index.mjs");
const { StreamableHTTPClientTransport } = await load(version === "1" ? "sdk/dist/esm/client/streamableHttp.js" : "client/dist/index.mjs");

const client = new Client({ name: "cancel", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }));
const call = (name, args, options) =>
  version === "1" ? client.callTool({ name, arguments: args }, undefined, options) : client.callTool({ name, arguments: args }, options);
const stop = new AbortController();
setTimeout(() => stop.abort("enough"), 300);
for (const options of [{ signal: stop.signal }, { timeout: 300 }]) {
  const ended = await call("send_message", { text: "held" }, options).then(() => "answered", () => "given up");
  console.log(ended);
}
const info = await call("chat_info", {});
console.log(info.structuredContent.summary ? "goes on" : JSON.stringify(info));
process.exit(0);
