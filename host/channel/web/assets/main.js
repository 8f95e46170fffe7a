// The chat page.
import { $, el, random } from "./dom.js";
import { colour } from "./colours.js";
import * as chats from "./chats.js";
import * as notify from "./notify.js";
import { waiting } from "./file.js";
import * as api from "./api.js";
import * as log from "./log.js";
import * as composer from "./composer.js";
import * as menu from "./menu.js";
import * as outbox from "./outbox.js";
import * as tasks from "./tasks.js";

const { chat, name, assistant } = document.body.dataset;

// Who writes in this browser. Where nothing can be kept, it lasts for the page.
function remember(key, make) {
  try {
    const kept = localStorage.getItem(key);
    if (kept) return kept;
    localStorage.setItem(key, make());
    return localStorage.getItem(key);
  } catch { return make(); }
}
// The secret stands for this browser's messages; the mark that the host makes of it is
// public. Earlier pages had a mark alone.
const me = { secret: remember("longshore.secret", random), mark: "", former: remember("longshore.author", () => "-"), name: remember("longshore.name", () => "Member") };
const isOwn = (author) => author !== undefined && (author === me.mark || author === me.former);
$("whoname").textContent = $("whoname").title = me.name;

$("who").addEventListener("click", () => {
  $("whoinput").value = me.name === "Member" ? "" : me.name;
  $("whodialog").returnValue = "";
  $("whodialog").showModal();
});
// Enter in the field means the button that saves, not the first one.
$("whoinput").addEventListener("keydown", (e) => { if (e.key === "Enter") { e.preventDefault(); $("whodialog").close("save"); } });
$("whodialog").addEventListener("close", () => {
  if ($("whodialog").returnValue !== "save") return;
  me.name = $("whoinput").value.trim().slice(0, 64) || "Member";
  $("whoname").textContent = $("whoname").title = me.name;
  try { localStorage.setItem("longshore.name", me.name); } catch { /* lasts for the page */ }
});

// The line below the chat's name.
let live = "connecting", working = false;
function state() {
  const [words, look] = live === "lost" ? ["Connection lost, trying again…", "off"]
    : live !== "live" ? ["Connecting…", ""]
    : working ? [`${assistant} is working…`, "busy"] : [`with ${assistant}`, ""];
  $("state").textContent = words;
  $("state").className = look;
}

let unread = 0;
function title() { document.title = (unread ? `(${unread}) ` : "") + name + " · Longshore"; }
function seen() {
  if (document.hidden) return;
  unread = 0;
  title();
  chats.read(log.last);
}
document.addEventListener("visibilitychange", seen);

function message(m) {
  log.add(m);
  chats.soon();
  if (m.assistant) tasks.soon();
  seen();
  if (!document.hidden || isOwn(m.author)) return;
  if (!unread++) log.news(m.id);
  title();
  notify.show(chat, name, m.from, m.text || m.file?.name || "", location.pathname);
}

// elsewhere is told of another chat's news.
function elsewhere(c) {
  if (c.chat !== chat && c.last && !isOwn(c.last.author)) notify.show(c.chat, c.name, c.last.from, c.last.text, c.url);
}

// Files that are arriving, kept by id so that their bars move smoothly. One
// that is over at once is not shown at all.
const arriving = new Map();
function activity({ typing, arriving: now, delivered, read }) {
  log.raise(delivered, "delivered");
  log.raise(read, "read");
  working = typing || now.length > 0;
  stoppable();
  const visible = typing && !now.length;
  if ($("typing").hidden === visible) { $("typing").hidden = !visible; log.follow(); }
  for (const [id, a] of arriving) if (!now.some((f) => f.id === id)) { a.node.remove(); arriving.delete(id); }
  for (const f of now) {
    const shown = arriving.get(f.id);
    if (shown) { shown.update(f.sent); continue; }
    const card = waiting(f.name, f.size, f.sent);
    const node = el("div", { className: "msg first" }, el("div", { className: "bubble" }, el("span", { className: "who ink" + colour({ from: assistant, assistant: true }) }, assistant), card.node));
    $("arriving").append(node);
    arriving.set(f.id, { node, update: card.update });
  }
  state();
}

// Stopping is something that the member says, as everything is.
function stoppable() {
  if ($("stop").hidden === !working) return;
  $("stop").disabled = false;
  $("stop").hidden = !working;
}
$("stop").addEventListener("click", () => { $("stop").disabled = true; composer.say("/stop"); $("text").focus(); });

// act does something to a message in the member's name; doIt shows it if that is refused.
const act = (fields) => api.act({ ...fields, secret: me.secret, from: me.name });
const doIt = (fields) => act(fields).then(() => composer.notice(""), (e) => composer.notice(`Not done: ${e.message}.`));

// ready lets the member write on. A wide screen has its keyboard at hand; on a phone it would cover the chat.
const ready = () => { if (!matchMedia("(pointer: coarse)").matches) $("text").focus(); };
const suggest = (words) => { composer.say(words); ready(); };

const read = chats.lastRead();
async function begin() {
  try {
    me.mark ||= await api.mark(me.secret);
    menu.init({ mark: me.mark, find: log.find, act, doIt });
    await log.init({ isOwn, onReply: composer.setReply, say: suggest, onShow: (m) => outbox.arrived(m.key), mark: me.mark, read, onMenu: menu.open,
      onVote: (m, choices) => doIt({ kind: "vote", target: m.id, choices }) });
  } catch (e) {
    composer.notice(`The messages could not be loaded: ${e.message}.`);
    setTimeout(begin, 3000);
    return;
  }
  composer.notice("");
  tasks.soon();
  chats.init({ news: elsewhere, stays: notify.active });
  seen();
  api.listen({ stays: notify.active, leaves: notify.pushed, chats: chats.soon, last: () => log.last, changed: () => log.changed, message, change: log.change, activity, state: (s) => { live = s; state(); if (s === "live") { outbox.connected(); chats.soon(); } } });
}

ready();
notify.init({ notice: composer.notice });
composer.init({ me, onSend: log.bottom, shown: log.has });
begin();
