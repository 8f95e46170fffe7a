// The list of chats: each one's newest message and what was not read of it, the newest
// chat first. What was read is this browser's own affair.
import { $, el, when } from "./dom.js";
import { list } from "./api.js";

const key = "longshore.read"; // chat -> the id of the last message that was shown
const nav = document.querySelector(".chatlist");
const here = document.body.dataset.chat;
let heard = () => {}, stays = () => false, timer = 0, counts = new Map();

function marks() {
  try { return JSON.parse(localStorage.getItem(key)) ?? {}; } catch { return {}; }
}
function mark(next) {
  try { localStorage.setItem(key, JSON.stringify(next)); } catch { /* then everything counts as read */ }
}

// init calls news(chat), also while the page is hidden and stays(), for each chat that got messages which were not read.
export function init(options = {}) {
  heard = options.news ?? heard;
  stays = options.stays ?? stays;
  refresh();
}

// lastRead is the last of this chat's messages that was before the reader's eyes.
export const lastRead = () => marks()[here];

// read says that this chat's messages up to id were before the reader's eyes.
export function read(id) {
  const now = marks();
  if (now[here] === id) return;
  mark({ ...now, [here]: id });
  soon();
}

// soon brings the list up to date, at most twice a second, and once it is seen.
export function soon() { if (!document.hidden || stays()) timer ||= setTimeout(() => { timer = 0; refresh(); }, 500); }

async function refresh() {
  let chats;
  try { ({ chats } = await list(marks())); } catch { return; } // the next news tries again
  const now = marks(), first = Object.fromEntries(chats.filter((c) => now[c.chat] === undefined).map((c) => [c.chat, c.last?.id ?? "0"]));
  if (Object.keys(first).length) mark({ ...now, ...first });
  show(chats);
  for (const c of chats) {
    const unread = c.unread ?? 0;
    if (unread > (counts.get(c.chat) ?? unread)) heard(c);
    counts.set(c.chat, unread);
  }
}

function show(chats) {
  if (!nav) return;
  const at = (c) => c.last ? Date.parse(c.last.time) : 0;
  const rows = new Map([...nav.children].map((li) => [li.dataset.chat, li]));
  const order = chats.toSorted((a, b) => at(b) - at(a)).filter((c) => rows.has(c.chat)); // a new chat comes with the next page
  for (const c of order) fill(rows.get(c.chat), c);
  const nodes = order.map((c) => rows.get(c.chat));
  if (nodes.every((n, i) => nav.children[i] === n)) return;
  const focus = document.activeElement;
  nav.append(...nodes);
  if (nav.contains(focus)) focus.focus({ preventScroll: true });
}

function fill(row, { chat, name, last, unread = 0 }) {
  if (chat === here && document.visibilityState === "visible") unread = 0;
  const words = last ? `${last.from}: ${last.text}` : "No messages yet";
  row.querySelector("small").replaceChildren(el("bdi", {}, words));
  row.querySelector("a").title = `${name}\n${words}`;
  row.querySelector(".when").textContent = last ? when(last.time) : "";
  const badge = row.querySelector(".unread");
  badge.hidden = !unread;
  badge.replaceChildren(unread > 99 ? "99+" : String(unread), el("span", { className: "sr" }, " unread"));
}

// Without a chat of its own, the page has no stream to hear of news: it looks.
if (!here && $("chats")) {
  init();
  setInterval(soon, 4000);
}
document.addEventListener("visibilitychange", soon);
