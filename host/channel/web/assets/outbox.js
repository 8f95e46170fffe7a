// The one road on which a message leaves the page. A message whose way broke is sent
// again by itself, under the same key, so that the host has it once. Texts leave in the
// order of their writing; so do messages with files, which do not hold the texts up.
import { random } from "./dom.js";
import * as api from "./api.js";
import * as kept from "./kept.js";

const items = new Map(); // key -> item
const lanes = { texts: { wake() {} }, files: { wake() {} } };
let changed, failed, shown; // given by init

// init gives an item's news: changed(item) whenever its state is another, failed(item)
// if the host does not take it as it is. shown(id) says that the chat shows a message
// already. It takes up what was not sent before a reload.
export function init(options) {
  ({ changed, failed, shown } = options);
  for (const { fields, names } of kept.waiting()) {
    const item = add(fields, [], names);
    if (names.length) stop(item, new Error(`the page was loaded anew before it had sent ${names.join(", ")}; attach ${names.length > 1 ? "them" : "it"} again`));
  }
  run("texts");
}

// send takes a message: its fields, without a key, and its files.
export function send(fields, files = []) {
  const item = add({ ...fields, key: random() }, files, files.map((f) => f.name));
  kept.keep(item.fields, item.names);
  run(item.lane);
  return item;
}

function add(fields, files, names) {
  const item = { fields, files, names, lane: names.length ? "files" : "texts", state: "queued", error: null, progress() {}, cancel() {} };
  items.set(fields.key, item);
  changed(item);
  return item;
}

function set(item, state, error = null) {
  item.state = state;
  item.error = error;
  changed(item);
}

function stop(item, error) {
  set(item, "failed", error);
  failed(item);
}

export function discard(item) {
  items.delete(item.fields.key);
  kept.forget(item.fields.key);
  item.cancel();
  set(item, "gone", item.error);
  lanes[item.lane].wake();
}

// arrived takes away the message of a key: the host has shown it.
export function arrived(key) {
  if (items.has(key)) discard(items.get(key));
}

// connected says that the host answers again, or that a member wants it now.
export function connected() {
  for (const lane of Object.values(lanes)) { lane.wait = 1000; lane.wake(); }
}

// uploading says that leaving the page would lose files.
export const uploading = () => [...items.values()].some((i) => i.files.length && (i.state === "queued" || i.state === "sending" || i.state === "waiting"));

const next = (name) => [...items.values()].find((i) => i.lane === name && (i.state === "queued" || i.state === "waiting"));

async function run(name) {
  const lane = lanes[name];
  if (lane.busy) return;
  lane.busy = true;
  lane.wait = 1000;
  for (let item; (item = next(name));) {
    await attempt(item);
    if (item.state !== "waiting") { lane.wait = 1000; continue; }
    await new Promise((wake) => { lane.wake = wake; setTimeout(wake, lane.wait); });
    lane.wait = Math.min(lane.wait * 2, 30000);
  }
  lane.busy = false;
}

async function attempt(item) {
  const { done, cancel } = api.post(item.fields, item.files, (n) => item.progress(n));
  item.cancel = cancel;
  set(item, "sending");
  try {
    const { messages } = await done;
    kept.forget(item.fields.key);
    if (item.state === "gone") return;
    if (shown(messages[0].id)) discard(item); // posted before a reload: no news of it comes any more
    else set(item, "sent");
  } catch (error) {
    if (item.state === "gone") return;
    if (error.code === "cancelled" || error.code === "message_gone") return discard(item);
    error.file = await unreadable(item.files) ?? item.files.find((f) => error.message.startsWith(f.name + " "));
    if (passes(error) && !error.file) set(item, "waiting", error);
    else stop(item, error.status ? error : Object.assign(new Error(`${error.file.name} cannot be read any more; attach it again`), { file: error.file }));
  }
}

// passes says that the same message can be taken another time.
const passes = ({ status }) => !status || status === 401 || status === 408 || status === 429 || (status >= 500 && status !== 507);

// unreadable is the first file that was changed or deleted since it was chosen: the
// browser reports it as a lost connection.
async function unreadable(files) {
  for (const f of files) {
    try { await f.slice(0, 1).arrayBuffer(); } catch { return f; }
  }
  return undefined;
}

addEventListener("beforeunload", (e) => { if (uploading()) e.preventDefault(); });
addEventListener("online", connected);
