// Writing: the text, its keys, the reply, the draft.
import { $ } from "./dom.js";
import * as kept from "./kept.js";
import * as outbox from "./outbox.js";
import * as pending from "./pending.js";
import * as tray from "./tray.js";

const text = $("text");
const touch = matchMedia("(pointer: coarse)").matches;
let reply = null, me, onSend;

// A phone has a button beside the text, and its Enter is a new line; the key says so.
text.enterKeyHint = touch ? "enter" : "send";

export function init(options) {
  ({ me, onSend } = options);
  tray.init({ changed: ready, notice });
  pending.init({ edit: (item) => { outbox.discard(item); restore(item); } });
  const draft = kept.draft();
  text.value = draft.text;
  if (draft.reply) setReply(draft.reply);
  outbox.init({ changed: pending.changed, failed, shown: options.shown });
  written();
}

function ready() { $("send").disabled = !text.value.trim() && !tray.chosen().length; }

function grow() {
  text.style.height = "auto";
  text.style.height = Math.min(text.scrollHeight + 2, innerHeight * 0.34) + "px";
}

function written() {
  grow();
  ready();
}

// write puts words where the member writes, in front of what is there already.
function write(words) {
  text.value = [words, text.value].filter((s) => s.trim()).join("\n");
  written();
  keep();
  text.focus();
}

let timer = 0;
function keep() {
  clearTimeout(timer);
  timer = 0;
  kept.keepDraft(text.value, reply);
}
text.addEventListener("input", () => {
  written();
  clearTimeout(timer);
  timer = setTimeout(keep, 250);
});
addEventListener("pagehide", () => { if (timer) keep(); }); // not what another tab has changed since

text.addEventListener("keydown", (e) => {
  if (e.key === "Enter" && !e.shiftKey && !e.isComposing && !touch) {
    e.preventDefault();
    $("composer").requestSubmit();
  }
  if (e.key === "Escape") setReply(null);
});

export function setReply(m) {
  reply = m;
  $("replybar").hidden = !m;
  keep();
  if (!m) return;
  $("replyfrom").textContent = m.from;
  $("replytext").textContent = m.text || m.file?.name || "";
  text.focus();
}
$("replycancel").addEventListener("click", () => { setReply(null); text.focus(); });

export function notice(message) {
  $("notice").textContent = message;
  $("notice").hidden = !message;
}

$("composer").addEventListener("submit", (e) => {
  e.preventDefault();
  if (!text.value.trim() && !tray.chosen().length) return;
  notice("");
  say(text.value, tray.take(), reply);
  text.value = "";
  setReply(null);
  written();
  text.focus();
});

// say sends words in the member's name.
export function say(words, files = [], answers = null) {
  const item = outbox.send({ text: words, from: me.name, secret: me.secret, ...(answers ? { replyTo: answers.id } : {}) }, files);
  item.answers = answers;
  onSend();
}

// failed gives the member back what the host does not take, unless something else is
// being written there: then it waits in the chat.
function failed(item) {
  if (item.names.length !== item.files.length || text.value.trim() || tray.chosen().length) return;
  outbox.discard(item);
  restore(item);
}

function restore(item) {
  if (item.files.length) tray.restore(item.files, item.error.file);
  if (item.answers) setReply(item.answers);
  write(item.fields.text);
  notice(`Not sent: ${item.error.message}.`);
}
