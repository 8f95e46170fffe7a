// What became of the member's own messages: the host has them, the assistant's side has
// them, the assistant has begun to work with them or answered after them.
import { el, icon } from "./dom.js";

const words = { received: "Sent", delivered: "Delivered", read: "Read" };
const rank = Object.keys(words);

// tick is the sign of a status.
export function tick(status) {
  const node = el("span", { className: "tick " + status, title: words[status] ?? "" }, icon(status === "received" ? "check" : "checks"));
  node.append(el("span", { className: "sr" }, words[status] ?? ""));
  return node;
}

// raise gives item and the own messages before it a status, unless they have a later one.
export function raise(item, status) {
  for (let n = item; n; n = n.previousElementSibling) {
    const old = n.querySelector(":scope > .bubble > .meta > .tick");
    if (!old) continue;
    const has = rank.findIndex((r) => old.classList.contains(r));
    if (has >= rank.indexOf(status)) return;
    old.replaceWith(tick(status));
  }
}
