// Elements, and the only way by which foreign text becomes visible. Nothing on this page
// is ever made from a string of markup.

export const $ = (id) => document.getElementById(id);

// clean shows what moves a cursor, turns the direction of writing or cannot be seen as
// its number. Emoji need the joiner U+200D.
export const clean = (s) => String(s).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => (c === "\u200d" || c === "\n" ? c : "\\u{" + c.codePointAt(0).toString(16) + "}"));

// el makes an element. A string among its children becomes a text of its own direction.
export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("aria-")) node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== "").map((c) => (c instanceof Node ? c : bdi(c))));
  return node;
}

function bdi(text) {
  const node = document.createElement("bdi");
  node.textContent = clean(text);
  return node;
}

export const line = (kind, ...parts) => el("span", { className: "line " + kind }, parts.filter(Boolean).flatMap((p, i) => (i ? [document.createTextNode(" · "), p] : [p])));

// button acts on a click; with ask, on a second click within four seconds. After it has
// acted it asks anew.
export function button(label, act, ask) {
  const node = el("button", { type: "button" }, label);
  let timer; // runs while the button waits for the second click
  const arm = (on) => {
    clearTimeout(timer);
    timer = on ? setTimeout(arm, 4000, false) : undefined;
    node.classList.toggle("sure", on);
    node.replaceChildren(on ? ask : label);
  };
  node.addEventListener("click", async () => {
    if (ask && timer === undefined) return arm(true);
    if (ask) arm(false);
    node.disabled = true;
    try {
      await act();
    } finally {
      node.disabled = false;
    }
  });
  return node;
}

export function size(bytes) {
  if (bytes < 1024) return bytes + (bytes === 1 ? " byte" : " bytes");
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let i = -1;
  do { bytes /= 1024; i++; } while (bytes >= 1023.95 && i < units.length - 1);
  return (bytes < 9.95 ? bytes.toFixed(1).replace(".0", "") : Math.round(bytes)) + " " + units[i];
}

export const count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

// when is a time for people; empty if there is none.
export function when(time) {
  if (!time || time.startsWith("0001-")) return "";
  const t = new Date(time);
  return t.toDateString() === new Date().toDateString() ? t.toLocaleTimeString() : t.toLocaleString();
}
