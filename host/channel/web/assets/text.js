// A message's text as nodes, made of the tree that the host has parsed. Whatever is
// not in the tree as a format stays the characters that it is.
import { el } from "./dom.js";

const inline = { b: "strong", i: "em", s: "del" };

export const format = (tree) => tree.map(node);

function node(n) {
  if (typeof n === "string") return n;
  const kids = (n.c ?? []).map(node);
  switch (n.t) {
    case "b": case "i": case "s": return el(inline[n.t], {}, ...kids);
    case "code": return el("code", {}, n.v);
    case "a": return link(n.u, kids);
    case "h": return el("h" + Math.min(n.n + 2, 6), { dir: "auto" }, ...kids);
    case "quote": return el("blockquote", { dir: "auto" }, ...follow(kids));
    case "pre": return code(n.v ?? "");
    case "table": return table(n.c);
    case "rule": return el("hr");
    case "list": return list(n.c);
    default: return el("p", { dir: "auto" }, ...kids);
  }
}

// link leads where its address says; the host lets only such through.
function link(href, kids) {
  if (!/^(https?|mailto):/i.test(href)) return el("span", {}, ...kids);
  return el("a", { href, title: href, target: "_blank", rel: "noopener noreferrer" }, ...kids);
}

const boxes = { "☐": "to do", "☑": "done" };

// follow lets what stands in a list or a quote take its direction, so that the bullets
// and the line stand where its words begin.
function follow(kids) {
  for (const kid of kids) kid.removeAttribute?.("dir");
  return kids;
}

function list(items) {
  const start = parseInt(items[0]?.l, 10);
  return el(isNaN(start) ? "ul" : "ol", { dir: "auto", ...(isNaN(start) ? {} : { start }) }, ...items.map((item) => {
    const kids = follow((item.c ?? []).map(node)), box = boxes[item.l];
    return box ? el("li", { className: "task" }, el("span", { role: "img", "aria-label": box }, item.l), ...kids) : el("li", {}, ...kids);
  }));
}

function table(rows) {
  const row = (r, tag) => el("tr", {}, ...(r.c ?? []).map((c) => el(tag, { className: c.r ? "right" : "", dir: "auto" }, ...(c.c ?? []).map(node))));
  return el("div", { className: "wide", tabIndex: 0 }, el("table", {}, el("thead", {}, row(rows[0], "th")), el("tbody", {}, ...rows.slice(1).map((r) => row(r, "td")))));
}

function code(text) {
  const pre = el("pre", { tabIndex: 0, dir: "ltr" }, el("code", {}, text));
  const copy = el("button", { type: "button", className: "copy" }, "Copy");
  copy.addEventListener("click", async () => {
    copy.textContent = await copied(pre, text) ? "Copied" : "Not copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  });
  return el("div", { className: "codebox" }, pre, copy);
}

// copied needs no secure origin: there, only a selection can be copied.
async function copied(pre, text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { /* the older way, then */ }
  getSelection().selectAllChildren(pre);
  return document.execCommand("copy");
}
