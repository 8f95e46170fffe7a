// A message's text as nodes: code, bold, italic and links. Whatever is not
// one of these stays the characters that it is.
import { el } from "./dom.js";

const inline = /(https?:\/\/[^\s<>"'`]+)|`([^`\n]+)`|\*\*(\S(?:[^*\n]*\S)?)\*\*|(?<![\w*])\*(\S(?:[^*\n]*\S)?)\*(?![\w*])|(?<![\w_])_(\S(?:[^_\n]*\S)?)_(?![\w_])/g;

export function format(text) {
  const out = document.createDocumentFragment();
  const parts = text.split(/^```[^\n`]*\n([\s\S]*?)\n?```[ \t]*(?:\n|$)/m);
  parts.forEach((part, i) => {
    if (i % 2) out.append(el("pre", { tabIndex: 0 }, el("code", {}, part)));
    else if (part) out.append(spans(part));
  });
  return out;
}

function spans(text) {
  const out = document.createDocumentFragment();
  let at = 0;
  for (const m of text.matchAll(inline)) {
    out.append(text.slice(at, m.index));
    at = m.index + m[0].length;
    if (m[1]) {
      const { node, rest } = link(m[1]);
      out.append(node, rest);
    } else if (m[2]) out.append(el("code", {}, m[2]));
    else if (m[3] || m[4]) out.append(el("strong", {}, m[3] || m[4]));
    else out.append(el("em", {}, m[5]));
  }
  out.append(text.slice(at));
  return out;
}

// link takes punctuation that ends a sentence out of the address.
function link(raw) {
  let url = raw.replace(/[.,;:!?*_]+$/, "");
  if (url.endsWith(")") && !url.includes("(")) url = url.slice(0, -1);
  const rest = raw.slice(url.length);
  try {
    const { protocol } = new URL(url);
    if (protocol === "http:" || protocol === "https:")
      return { node: el("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, url), rest };
  } catch { /* no address after all */ }
  return { node: url, rest };
}
