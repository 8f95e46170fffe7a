// Writing: the text, the files to send, the reply, and what is on its way.
import { $, el, icon, size, random } from "./dom.js";
import { badge, waiting } from "./file.js";
import * as api from "./api.js";

const text = $("text"), tray = $("tray"), pending = $("pending");
const limits = { size: Number(document.body.dataset.maxUpload), count: Number(document.body.dataset.maxFiles) };
const sending = new Map(); // key -> item
let files = [], reply = null, me, onSend;

export function init(options) {
  ({ me, onSend } = options);
  ready();
}

function ready() { $("send").disabled = !text.value.trim() && !files.length; }

function grow() {
  text.style.height = "auto";
  text.style.height = Math.min(text.scrollHeight + 2, innerHeight * 0.34) + "px";
}
text.addEventListener("input", () => { grow(); ready(); });
text.addEventListener("keydown", (e) => {
  // On a phone, Enter makes a new line: there is a button beside it.
  if (e.key === "Enter" && !e.shiftKey && !e.isComposing && !matchMedia("(pointer: coarse)").matches) {
    e.preventDefault();
    $("composer").requestSubmit();
  }
  if (e.key === "Escape") setReply(null);
});

export function setReply(m) {
  reply = m;
  $("replybar").hidden = !m;
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

export function attach(list) {
  notice("");
  for (const f of list) {
    if (f.size > limits.size) notice(`${f.name} is ${size(f.size)}; one file may have up to ${size(limits.size)}.`);
    else if (files.length >= limits.count) notice(`Up to ${limits.count} files can be sent at once.`);
    else files.push(f);
  }
  show();
}

function show() {
  tray.querySelectorAll("img").forEach((i) => URL.revokeObjectURL(i.src));
  tray.hidden = !files.length;
  tray.replaceChildren(...files.map((f) => {
    const remove = el("button", { type: "button", className: "icon", "aria-label": "Remove " + f.name }, icon("close"));
    remove.addEventListener("click", () => { files = files.filter((x) => x !== f); show(); text.focus(); });
    const sign = /^image\/(png|jpeg|gif|webp)$/.test(f.type) ? el("img", { alt: "", src: URL.createObjectURL(f) }) : badge(f.name);
    return el("li", {}, sign, el("span", { className: "names" }, el("b", {}, f.name), el("small", {}, size(f.size))), remove);
  }));
  ready();
}

$("attach").addEventListener("click", () => $("files").click());
$("files").addEventListener("change", () => { attach($("files").files); $("files").value = ""; text.focus(); });
text.addEventListener("paste", (e) => {
  if (e.clipboardData.files.length) { e.preventDefault(); attach(e.clipboardData.files); }
});

let depth = 0;
const carries = (e) => e.dataTransfer?.types.includes("Files");
const hover = (n) => { depth = Math.max(0, n); $("drop").hidden = depth === 0; };
addEventListener("dragenter", (e) => { if (carries(e)) { e.preventDefault(); hover(depth + 1); } });
addEventListener("dragleave", (e) => { if (carries(e)) hover(depth - 1); });
addEventListener("dragover", (e) => { if (carries(e)) e.preventDefault(); });
addEventListener("drop", (e) => { if (carries(e)) { e.preventDefault(); hover(0); attach(e.dataTransfer.files); text.focus(); } });

$("composer").addEventListener("submit", (e) => {
  e.preventDefault();
  if (!text.value.trim() && !files.length) return;
  const fields = { text: text.value, from: me.name, author: me.author, key: random() };
  if (reply) fields.replyTo = reply.id;
  const item = draft(fields, files);
  text.value = "";
  files = [];
  setReply(null);
  notice("");
  show();
  grow();
  item.start();
  onSend();
  text.focus();
});

// draft is a message on its way. It goes when the host has shown the real one.
function draft(fields, files) {
  const rows = files.map((f) => ({ size: f.size, ...waiting(f.name, f.size, 0) }));
  const foot = el("div");
  const node = el("li", { className: "msg own first" }, el("div", { className: "bubble" }, ...rows.map((r) => r.node),
    fields.text ? el("div", { className: "text", dir: "auto" }, fields.text) : null, foot));
  const button = (label, act) => { const b = el("button", { type: "button" }, label); b.addEventListener("click", act); return b; };
  const item = {
    node,
    async start() {
      node.classList.remove("failed");
      const { done, cancel } = api.post(fields, files, (n) => {
        for (const r of rows) { r.update(Math.min(r.size, n)); n = Math.max(0, n - r.size); }
      });
      foot.replaceChildren(files.length ? el("div", { className: "choices" }, button("Cancel", cancel)) : el("div", { className: "meta" }, "Sending…"));
      try {
        await done;
        foot.replaceChildren(el("div", { className: "meta" }, "Sent"));
      } catch (err) {
        if (err.code === "cancelled") return item.remove();
        node.classList.add("failed");
        foot.replaceChildren(el("p", { className: "trouble", role: "alert" }, "Not sent: " + err.message + "."),
          el("div", { className: "choices" }, button("Try again", () => item.start()), button("Discard", () => item.remove())));
      }
    },
    remove() { node.remove(); sending.delete(fields.key); },
  };
  sending.set(fields.key, item);
  pending.append(node);
  return item;
}

// arrived takes a draft away once its message is in the history.
export const arrived = (key) => sending.get(key)?.remove();
