// The files that go with the next message.
import { $, el, icon, size } from "./dom.js";
import { badge } from "./file.js";

const tray = $("tray");
const limits = { size: Number(document.body.dataset.maxUpload), count: Number(document.body.dataset.maxFiles) };
let files = [], bad = new Set(), changed, notice;

export function init(options) { ({ changed, notice } = options); }

export const chosen = () => files;

// take empties the tray and returns what was in it.
export function take() {
  const all = files;
  files = [];
  show();
  return all;
}

// attach adds files; those that cannot be sent are named and left out.
export function attach(list) {
  const refused = [];
  for (const f of list) {
    if (!f.size) refused.push(`${f.name} is empty, or a folder.`);
    else if (f.size > limits.size) refused.push(`${f.name} is ${size(f.size)}; one file may have up to ${size(limits.size)}.`);
    else if (files.length >= limits.count) refused.push(`${f.name} is one too many: up to ${limits.count} files can be sent at once.`);
    else files.push(f);
  }
  notice(refused.length > 3 ? `${refused.slice(0, 3).join(" ")} And ${refused.length - 3} more.` : refused.join(" "));
  show();
}

// restore puts back what was not sent, and marks the file that is to blame.
export function restore(list, culprit) {
  files = files.concat(list.filter((f) => !files.includes(f)));
  if (culprit) bad.add(culprit);
  show();
}

function show() {
  tray.querySelectorAll("img").forEach((i) => URL.revokeObjectURL(i.src));
  bad = new Set([...bad].filter((f) => files.includes(f)));
  tray.hidden = !files.length;
  tray.replaceChildren(...files.map(entry));
  changed();
}

function entry(f) {
  const remove = el("button", { type: "button", className: "icon", "aria-label": "Remove " + f.name }, icon("close"));
  remove.addEventListener("click", () => {
    files = files.filter((x) => x !== f);
    if (bad.has(f)) notice("");
    show();
    $("text").focus();
  });
  const sign = /^image\/(png|jpeg|gif|webp)$/.test(f.type) ? el("img", { alt: "", src: URL.createObjectURL(f) }) : badge(f.name);
  return el("li", { className: bad.has(f) ? "bad" : "" }, sign,
    el("span", { className: "names", title: f.name }, el("b", {}, f.name), el("small", {}, bad.has(f) ? "cannot be sent" : size(f.size))), remove);
}

$("attach").addEventListener("click", () => $("files").click());
$("files").addEventListener("change", () => { attach($("files").files); $("files").value = ""; $("text").focus(); });
$("text").addEventListener("paste", (e) => {
  if (e.clipboardData.files.length) { e.preventDefault(); attach(e.clipboardData.files); }
});

let depth = 0;
const carries = (e) => e.dataTransfer?.types.includes("Files");
const hover = (n) => { depth = Math.max(0, n); $("drop").hidden = depth === 0; };
addEventListener("dragenter", (e) => { if (carries(e)) { e.preventDefault(); hover(depth + 1); } });
addEventListener("dragleave", (e) => { if (carries(e)) hover(depth - 1); });
addEventListener("dragover", (e) => { if (carries(e)) e.preventDefault(); });
addEventListener("drop", (e) => { if (carries(e)) { e.preventDefault(); hover(0); attach(e.dataTransfer.files); $("text").focus(); } });
