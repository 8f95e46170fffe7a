// What this browser keeps of a chat over a reload: the draft, and the messages that the
// host does not have yet. It is bounded, and deleted at log-out. Files are not kept.
const prefix = "longshore.chat.";
const here = prefix + document.body.dataset.chat;
const most = { items: 20, text: 20000, all: 200000 }; // characters

const string = (v, max) => typeof v === "string" && v.length <= max ? v : "";
const strings = (list) => Array.isArray(list) ? list.filter((s) => string(s, 255)).slice(0, 100) : [];
const isID = (v) => typeof v === "string" && /^[A-Za-z0-9._-]{1,64}$/.test(v);

function read() {
  try {
    const kept = JSON.parse(localStorage.getItem(here)) ?? {};
    return { draft: kept.draft ?? {}, waiting: Array.isArray(kept.waiting) ? kept.waiting.slice(-most.items) : [] };
  } catch { return { draft: {}, waiting: [] }; }
}

// Logged out, here or in another tab: nothing is kept any more.
const session = () => { try { return localStorage.getItem("longshore.key"); } catch { return null; } };
const mine = session();
let left = false;

function write(kept) {
  if (left || session() !== mine) return;
  try {
    if (!kept.draft.text && !kept.draft.reply && !kept.waiting.length) localStorage.removeItem(here);
    else localStorage.setItem(here, JSON.stringify(kept));
  } catch { /* nothing can be kept: it lasts for the page */ }
}

// draft returns the text that was being written, and the message that it answers or null.
export function draft() {
  const { text, reply } = read().draft;
  return { text: string(text, most.text), reply: isID(reply?.id) ? { id: reply.id, from: string(reply.from, 255), text: string(reply.text, 1000) } : null };
}

export function keepDraft(text, reply) {
  write({ ...read(), draft: { text: text.slice(0, most.text), reply: reply && { id: reply.id, from: reply.from, text: (reply.text ?? "").slice(0, 1000) } } });
}

// waiting returns what was not sent: the fields of each message and its files' names.
export function waiting() {
  return read().waiting.filter((w) => isID(w?.fields?.key)).map(({ fields: f, names }) => ({
    fields: { text: string(f.text, most.text), from: string(f.from, 255), secret: string(f.secret, 64), key: f.key, ...(isID(f.replyTo) ? { replyTo: f.replyTo } : {}) },
    names: strings(names),
  }));
}

export function keep(fields, names) {
  const kept = read();
  const waiting = kept.waiting.filter((w) => w?.fields?.key !== fields.key).concat({ fields, names }).slice(-most.items);
  while (waiting.length > 1 && JSON.stringify(waiting).length > most.all) waiting.shift();
  write({ ...kept, waiting });
}

export function forget(key) {
  const kept = read();
  write({ ...kept, waiting: kept.waiting.filter((w) => w?.fields?.key !== key) });
}

// clear deletes what was kept of every chat, and the session's key.
export function clear() {
  left = true;
  try {
    Object.keys(localStorage).filter((k) => k.startsWith(prefix) || k === "longshore.key").forEach((k) => localStorage.removeItem(k));
  } catch { /* nothing was kept */ }
}

document.getElementById("leave")?.form.addEventListener("submit", clear);
