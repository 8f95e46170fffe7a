// Small helpers. Nothing on this page is ever made from a string of markup.

export const $ = (id) => document.getElementById(id);

// el makes an element; properties that start with "aria-" or "data-" become
// attributes, everything else is set as it is.
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (/^(aria-|data-|role$)/.test(name)) node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children.filter((c) => c !== null && c !== undefined));
  return node;
}

export function icon(name) {
  const ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  const use = document.createElementNS(ns, "use");
  use.setAttribute("href", "#i-" + name);
  svg.setAttribute("aria-hidden", "true");
  svg.append(use);
  return svg;
}

export function size(bytes) {
  if (bytes < 1024) return bytes + (bytes === 1 ? " byte" : " bytes");
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let i = -1;
  do { bytes /= 1024; i++; } while (bytes >= 1023.95 && i < units.length - 1);
  return (bytes < 9.95 ? bytes.toFixed(1).replace(".0", "") : Math.round(bytes)) + " " + units[i];
}

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "short" });
const near = new Intl.DateTimeFormat(undefined, { weekday: "long" });
const far = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "long", year: "numeric" });

export const time = (iso) => clock.format(new Date(iso));
export const moment = (iso) => full.format(new Date(iso));
export const dayKey = (iso) => new Date(iso).toDateString();

export function dayName(iso) {
  const day = new Date(new Date(iso).toDateString());
  const ago = Math.round((new Date(new Date().toDateString()) - day) / 86400000);
  if (ago === 0) return "Today";
  if (ago === 1) return "Yesterday";
  return ago > 1 && ago < 7 ? near.format(day) : far.format(day);
}

const week = new Intl.DateTimeFormat(undefined, { weekday: "short" });
const date = new Intl.DateTimeFormat(undefined, { dateStyle: "short" });

// when is a time in few characters.
export function when(iso) {
  const ago = (new Date(new Date().toDateString()) - new Date(dayKey(iso))) / 86400000;
  return ago < 1 ? time(iso) : (ago < 7 ? week : date).format(new Date(iso));
}

// hue gives a name one of the style sheet's eight colours.
export function hue(name) {
  let n = 0;
  for (const c of name) n = (n * 31 + c.codePointAt(0)) & 0xffff;
  return n % 8;
}

// random makes a key; crypto.randomUUID exists on secure origins only.
export function random() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
}
