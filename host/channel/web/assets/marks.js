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

// later is the further of two statuses.
export const later = (a, b) => rank.indexOf(b) > rank.indexOf(a) ? b : a;
