// The list of messages: order, days, groups, scrolling, earlier ones, receipts.
import { $, el, icon, time, moment, dayKey, dayName } from "./dom.js";
import { colour } from "./colours.js";
import { tick, later } from "./marks.js";
import { suggestions } from "./suggest.js";
import { format } from "./text.js";
import { shown } from "./file.js";
import { poll } from "./poll.js";
import { joins, grid } from "./album.js";
import * as api from "./api.js";

const log = $("log"), list = $("messages"), start = $("start");
const known = new Map(); // id -> message
const nodes = new Map(); // id -> its node
let isOwn, onReply, onShow, onMenu, say, onVote, mark; // given by init
let answered = false;      // the assistant has written after whatever comes before
let oldest = null, more = false, gone = false, loading = null, missed = 0, stuck = true;

export const settings = document.body.dataset;
export let last = "0"; // the newest message's id; "0" while there is none
export let changed = 0; // the number of the last change that is shown

export async function init(options) {
  ({ isOwn, onReply, onShow, onMenu, say, onVote, mark } = options);
  const page = await api.history({});
  ({ more, gone, changed = 0 } = page);
  page.messages.forEach((m) => insert(m, null));
  arrange(page.messages);
  page.messages.findLast((m) => m.assistant && raise(m.id, "read"));
  oldest = page.messages[0]?.id ?? null;
  if (page.messages.length) last = page.messages.at(-1).id;
  frame();
  bottom();
  await resume(options.read);
  atTop(); // a tall screen has room for more
}

// resume begins at the first message of others after the one that was read last, if that
// is further up than the screen reaches.
async function resume(read) {
  if (!read || read === last) return;
  let first;
  try { first = (await api.history({ after: read })).messages.find((m) => !own(m))?.id; } catch { return; } // it is not of this history
  for (let i = 0; i < 5 && first && more && !known.has(first); i++) await older();
  news(first);
  const line = list.querySelector(".unseen");
  if (!line || line.getBoundingClientRect().top > log.getBoundingClientRect().top) return;
  stuck = false;
  line.scrollIntoView({ block: "start" });
  top = log.scrollTop;
  pill();
}

// news draws the line above the first message that the reader has not seen.
export function news(id) {
  list.querySelector(".unseen")?.remove();
  const item = nodes.get(id), day = item?.previousElementSibling;
  (day?.classList.contains("day") ? day : item)?.before(el("li", { className: "unseen" }, el("span", {}, "New messages")));
}

// add takes a message that has just happened.
export function add(m) {
  last = m.id;
  if (known.has(m.id)) return;
  oldest ??= m.id;
  insert(m, null);
  arrange([m]);
  if (m.assistant) raise(m.id, "read");
  if (own(m)) news(null);
  else if (!stuck && !missed) news(m.id);
  frame();
  if (stuck || own(m)) return bottom();
  missed++;
  pill();
}

// change takes a message that was edited, removed or reacted to.
export function change({ n, message: m }) {
  changed = n;
  const old = nodes.get(m.id);
  if (!old) return; // it comes with the earlier ones
  const shown = together(old), focus = [...shown[0].querySelectorAll("button")].indexOf(document.activeElement), focused = shown[0].contains(document.activeElement);
  if (own(m)) m.status = later(m.status, known.get(m.id).status); // "read" is known to this page alone
  known.set(m.id, m);
  const messages = shown.map((item) => known.get(item.dataset.id));
  shown.forEach((item, i) => renew(item, [messages[i]]));
  arrange(messages);
  const item = nodes.get(messages[0].id);
  if (focused) (item.querySelectorAll("button:enabled")[focus] ?? item.querySelector("button.reply"))?.focus({ preventScroll: true });
  follow();
}

export const has = (id) => known.has(id), find = (id) => known.get(id);

// raise says what became of the member's messages up to the one with an id.
export function raise(id, status) {
  let item = nodes.get(id);
  for (let n = item && nextMessage(item); n?.dataset.id.startsWith(id + "-"); n = nextMessage(n)) item = n; // the files of the same post
  for (let n = item; n; n = prevMessage(n)) {
    const m = known.get(n.dataset.id);
    if (!own(m)) continue;
    if (later(m.status, status) === m.status) break; // so have those before it
    m.status = status;
    n.querySelector(":scope > .bubble > .meta > .tick")?.replaceWith(tick(status));
  }
  return !!item;
}

const own = (m) => !m.assistant && m.author !== undefined && isOwn(m.author);

function insert(m, before) {
  known.set(m.id, m);
  const item = build(m);
  nodes.set(m.id, item);
  onShow(m);
  list.insertBefore(item, before);
  boundary(item);
  if (item.nextElementSibling) boundary(nextMessage(item));
  answered ||= m.assistant;
  if (unseen(m)) eyes.observe(item);
}

const isMessage = (n) => n?.classList.contains("msg");
function nextMessage(item) { let n = item.nextElementSibling; while (n && !isMessage(n)) n = n.nextElementSibling; return n; }
function prevMessage(item) { let n = item.previousElementSibling; while (n && !isMessage(n)) n = n.previousElementSibling; return n; }

// together are the nodes whose messages stand in one bubble with that of item.
function together(item) {
  const of = (n) => known.get(n.dataset.id), all = [item];
  for (let p; (p = prevMessage(all[0])) && joins(of(p), of(all[0]));) all.unshift(p);
  for (let n; (n = nextMessage(all.at(-1))) && joins(of(all.at(-1)), of(n));) all.push(n);
  return all;
}

// arrange puts messages that are on the page together with their neighbours.
function arrange(messages) {
  for (const m of messages) {
    const [head, ...others] = nodes.get(m.id).hidden ? [] : together(nodes.get(m.id));
    if (!others.length) continue;
    others.forEach((item) => { item.hidden = true; item.replaceChildren(); });
    renew(head, [head, ...others].map((item) => known.get(item.dataset.id)));
  }
}

// renew builds the node of the first of messages anew, which shows them all.
function renew(old, messages) {
  const item = build(messages[0], messages);
  nodes.set(messages[0].id, item);
  eyes.unobserve(old);
  old.replaceWith(item);
  item.classList.toggle("first", old.classList.contains("first"));
  const who = item.querySelector(".who");
  if (who) who.hidden = !item.classList.contains("first");
  if (messages.some(unseen)) eyes.observe(item);
}

const unseen = (m) => m.assistant && m.status !== "read";

// above is where a message's own lines begin: its day, and that of news.
function above(item) {
  while (item?.previousElementSibling && !isMessage(item.previousElementSibling)) item = item.previousElementSibling;
  return item;
}

// boundary sets what depends on the message before: the day and the group.
function boundary(item) {
  if (!item) return;
  if (item.previousElementSibling?.classList.contains("day")) item.previousElementSibling.remove();
  const m = known.get(item.dataset.id), p = known.get(prevMessage(item)?.dataset.id);
  const newDay = !p || dayKey(p.time) !== dayKey(m.time);
  if (newDay) item.before(el("li", { className: "day" }, el("span", {}, dayName(m.time))));
  const first = newDay || p.from !== m.from || p.assistant !== m.assistant || p.author !== m.author || new Date(m.time) - new Date(p.time) > 600000;
  item.classList.toggle("first", first);
  const who = item.querySelector(".who");
  if (who) who.hidden = !first;
}

function build(m, messages = [m]) {
  const mine = own(m);
  const bubble = el("div", { className: "bubble" });
  if (!mine) bubble.append(el("span", { className: "who ink" + colour(m), title: m.from }, el("bdi", {}, m.from), m.assistant ? el("span", { className: "tag" }, "assistant") : null));
  if (m.removed) bubble.append(el("div", { className: "text gone" }, "This message was removed."));
  if (m.forwarded) bubble.append(el("div", { className: "forwarded" }, "Forwarded from ", el("bdi", {}, m.forwarded)));
  if (m.quote) bubble.append(quoted(m));
  const album = grid(messages);
  if (album) {
    bubble.classList.add("media");
    bubble.append(album);
  } else if (m.file) {
    const f = shown(m.file);
    bubble.classList.toggle("media", !!f.media);
    bubble.append(f.node);
    if (f.caption) bubble.append(f.caption);
  }
  if (m.text) bubble.append(el("div", { className: "text", dir: "auto" }, ...format(m.tree ?? [m.text])));
  if (m.poll) bubble.append(poll(m, mark, (choices) => onVote(m, choices)));
  bubble.append(el("div", { className: "meta" }, m.edited && !m.removed ? el("span", { className: "edited", title: moment(m.editedAt) }, "edited") : null, el("time", { dateTime: m.time, title: moment(m.time) }, time(m.time)), mine ? tick(m.status) : null));
  const reply = el("button", { type: "button", className: "icon reply", "aria-label": `Reply to ${m.from}`, title: "Reply" }, icon("reply"));
  reply.addEventListener("click", () => onReply(m));
  const more = m.removed ? null : el("button", { type: "button", className: "icon more", "aria-label": `More for the message of ${m.from}`, title: "More", "aria-haspopup": "dialog" }, icon("more"));
  more?.addEventListener("click", () => onMenu(m, more));
  const item = el("li", { className: "msg " + (mine ? "own" : "other"), "data-id": m.id }, bubble, el("div", { className: "tools" }, reply, more));
  const liked = messages.flatMap((one) => one.reactions ?? []);
  if (liked.length) bubble.append(reactions(liked));
  if (mine) bubble.prepend(el("span", { className: "sr" }, "You: "));
  if (m.file?.kind === "sticker" && m.file.inline) item.classList.add("sticker");
  return item;
}

// reactions are shown once for each emoji, with the number of people if there are more.
function reactions(all) {
  const by = new Map();
  for (const r of all) by.set(r.emoji, [...(by.get(r.emoji) ?? []), r.name]);
  const row = el("div", { className: "reactions" });
  for (const [emoji, names] of by) {
    const words = `${emoji} by ${names.join(", ")}`;
    row.append(el("span", { title: words, role: "img", "aria-label": words }, emoji, names.length > 1 ? " " + names.length : null));
  }
  return row;
}

function quoted(m) {
  const node = el("button", { type: "button", className: "quote", title: `Go to the message of ${m.quote.from} that this answers` },
    el("b", {}, m.quote.from), el("span", {}, m.quote.text));
  node.addEventListener("click", () => reveal(m.replyTo));
  return node;
}

async function reveal(id) {
  for (let i = 0; i < 10 && !known.has(id) && more; i++) await older();
  let item = nodes.get(id);
  while (item?.hidden) item = prevMessage(item); // the one that shows it
  if (!item) return;
  item.scrollIntoView({ block: "center", behavior: "smooth" });
  item.classList.add("flash");
  setTimeout(() => item.classList.remove("flash"), 1500);
}

// frame shows what stands above the first message.
function frame() {
  $("older").hidden = !more;
  start.hidden = more;
  document.body.classList.toggle("empty-chat", known.size === 0);
  start.replaceChildren(...(known.size ? [gone ? "Earlier messages are no longer kept." : "This is where the chat begins."] :
    [el("b", {}, gone ? "Nothing is kept here now" : "Nothing here yet"), settings.trigger ? `${settings.assistant} answers if a message contains ${settings.trigger}, or replies to it. You can drop a file anywhere on this page.` : `Write to ${settings.assistant} below, or drop a file anywhere on this page.`,
      suggestions(settings.trigger, say)]));
}

const older = async () => more && oldest && (loading ??= loadOlder());

async function loadOlder() {
  try {
    const page = await api.history({ before: oldest, limit: 100 });
    const height = log.scrollHeight, top = log.scrollTop;
    log.style.overflowAnchor = "none"; // this once, the place is kept by hand: at the top, no browser keeps it
    const first = list.querySelector(".msg"), later = answered;
    page.messages.forEach((m) => known.has(m.id) || insert(m, above(first)));
    arrange(page.messages);
    page.messages.findLast((m) => (later || m.assistant) && raise(m.id, "read"));
    if (page.messages.length) oldest = page.messages[0].id;
    boundary(first);
    ({ more, gone } = page);
    frame();
    log.scrollTop = top + log.scrollHeight - height;
    requestAnimationFrame(() => { log.style.overflowAnchor = ""; atTop(); });
  } catch { /* the next scroll tries again */ } finally { loading = null; }
}
const atTop = () => { if (log.scrollTop < 500) older(); };

// While the reader is at the end, the end stays in view whatever grows.
export function bottom() {
  stuck = true;
  missed = 0;
  log.scrollTop = log.scrollHeight;
  top = log.scrollTop; // a scroll that comes before this one's event is measured from here
  pill();
}
export const follow = () => stuck && bottom();
// Only who scrolls up leaves the end: a picture may grow before this event comes.
let top = 0;
log.addEventListener("scroll", () => {
  stuck = log.scrollHeight - log.scrollTop - log.clientHeight < 60 || stuck && log.scrollTop >= top;
  top = log.scrollTop;
  atTop();
  if (stuck) missed = 0;
  pill();
}, { passive: true });
const grown = new ResizeObserver(follow);
[log, list, $("pending"), $("arriving")].forEach((n) => grown.observe(n));

function pill() {
  const far = log.scrollHeight - log.scrollTop - log.clientHeight > 400;
  $("newer").hidden = stuck || (!missed && !far);
  $("newer").classList.toggle("quietly", !missed);
  $("newercount").classList.toggle("sr", !missed);
  $("newercount").textContent = missed ? (missed === 1 ? "1 new message" : missed + " new messages") : "Go to the newest message";
}
$("newer").addEventListener("click", () => { bottom(); $("text").focus({ preventScroll: true }); });

// Receipts: what has been on a visible page for a moment was seen.
const read = new Set();
let timer = 0;
const eyes = new IntersectionObserver((entries) => {
  for (const e of entries) for (const { dataset: { id } } of together(e.target)) {
    if (e.isIntersecting) read.add(id); else if (!sent.has(id)) read.delete(id);
  }
  tell();
}, { root: log, threshold: 0.3 });
const sent = new Set();
export function tell() {
  clearTimeout(timer);
  if (document.visibilityState !== "visible" || !read.size) return;
  timer = setTimeout(async () => {
    const ids = [...read].filter((id) => !sent.has(id)).slice(0, 200);
    if (!ids.length) return;
    ids.forEach((id) => { sent.add(id); read.delete(id); eyes.unobserve(nodes.get(id)); });
    try { await api.seen(ids); } catch { ids.forEach((id) => { sent.delete(id); read.add(id); }); }
  }, 400);
}
document.addEventListener("visibilitychange", tell);
