// How a message looks that is on its way. It goes when the host has shown the real one.
import { $, el } from "./dom.js";
import { waiting } from "./file.js";
import * as outbox from "./outbox.js";

const shown = new Map(); // item -> its node and the foot below its text
let edit;                // given by init: puts a message back to where it was written

export function init(options) { ({ edit } = options); }

// changed shows an item's state.
export function changed(item) {
  if (item.state === "gone") {
    shown.get(item)?.node.remove();
    shown.delete(item);
    return;
  }
  const { node, foot } = shown.get(item) ?? build(item);
  node.classList.toggle("failed", item.state === "failed");
  node.classList.toggle("waits", item.state === "waiting");
  foot.replaceChildren(...states[item.state](item));
}

function build(item) {
  const rows = item.files.map((f) => ({ size: f.size, ...waiting(f.name, f.size, 0) }));
  item.progress = (n) => { for (const r of rows) { r.update(Math.min(r.size, n)); n = Math.max(0, n - r.size); } };
  const foot = el("div");
  const lost = item.names.length && !item.files.length ? item.names.map((n) => el("div", { className: "card" }, n)) : [];
  const node = el("li", { className: "msg own first" }, el("div", { className: "bubble" }, ...rows.map((r) => r.node), ...lost,
    item.fields.text ? el("div", { className: "text", dir: "auto" }, item.fields.text) : null, foot));
  shown.set(item, { node, foot });
  $("pending").append(node);
  return { node, foot };
}

const line = (words) => [el("div", { className: "meta" }, words)];
function choices(...list) {
  return el("div", { className: "choices" }, ...list.map(([label, act]) => {
    const button = el("button", { type: "button" }, label);
    button.addEventListener("click", act);
    return button;
  }));
}

const states = {
  queued: (item) => item.files.length ? states.sending(item) : line("Sending…"),
  sending: (item) => item.files.length ? [choices(["Cancel", () => outbox.discard(item)])] : line("Sending…"),
  sent: () => line("Sent"),
  waiting: (item) => [el("p", { className: "trouble", role: "status" }, `Not sent yet: ${item.error.message}. It is sent by itself as soon as that is possible.`),
    choices(["Try now", outbox.connected], ["Discard", () => outbox.discard(item)])],
  failed: (item) => [el("p", { className: "trouble", role: "alert" }, `Not sent: ${item.error.message}.`),
    choices(["Edit", () => edit(item)], ["Discard", () => outbox.discard(item)])],
};
