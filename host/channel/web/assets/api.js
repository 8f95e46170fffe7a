// What the page says to the host and hears from it.

const base = "/api/chats/" + encodeURIComponent(document.body.dataset.chat ?? "");

// The cookie of a session goes to every port of this host name; the key that
// proves it is this page is kept for this port alone.
function proof() {
  let key = null;
  try { key = localStorage.getItem("longshore.key"); } catch { /* nothing can be kept: then there is no session */ }
  return key ? { "X-Longshore-Key": key } : {};
}

const signIn = () => location.replace("/login?to=" + encodeURIComponent(location.pathname));

async function check(res) {
  if (res.status === 401) signIn();
  if (!res.ok) throw await problem(res.status, await res.text());
  return res;
}

function problem(status, body) {
  let e = {};
  try { e = JSON.parse(body).error ?? {}; } catch { /* not ours, a proxy's perhaps */ }
  const error = new Error(e.message ? `${e.message}${e.hint ? "; " + e.hint : ""}` : `the host answered ${status}`);
  return Object.assign(error, { code: e.code, status });
}

export async function history({ before, after, limit = 50 }) {
  const q = new URLSearchParams({ limit });
  if (before) q.set("before", before);
  if (after) q.set("after", after);
  return (await check(await fetch(`${base}/messages?${q}`, { headers: proof() }))).json();
}

// list asks for the chats, and for what each has after the message that was read last.
export async function list(read) {
  const q = Object.entries(read).slice(0, 500).map(([chat, id]) => `read=${encodeURIComponent(chat)}:${encodeURIComponent(id)}`);
  return (await check(await fetch("/api/chats?" + q.join("&"), { headers: proof() }))).json();
}

export const seen = async (ids) => check(await fetch(base + "/seen", { method: "POST", headers: { ...proof(), "Content-Type": "application/json" }, body: JSON.stringify({ ids }) }));

// act does something to a message: a reaction, an edit, a deletion, a vote.
export const act = async (fields) => check(await fetch(base + "/acts", { method: "POST", headers: { ...proof(), "Content-Type": "application/json" }, body: JSON.stringify(fields) }));

// mark returns the public mark of a browser's secret.
export const mark = async (secret) => (await (await check(await fetch("/api/mark", { method: "POST", headers: { ...proof(), "Content-Type": "application/json" }, body: JSON.stringify({ secret }) }))).json()).author;

// tasks lists the chat's scheduled tasks; task does something with one.
export const tasks = async () => (await check(await fetch(base + "/tasks", { headers: proof() }))).json();
export const task = async (id, what) => (await check(await fetch(`${base}/tasks/${encodeURIComponent(id)}`, { method: "POST", headers: { ...proof(), "Content-Type": "application/json" }, body: JSON.stringify({ do: what }) }))).json();

const tellPush = (method) => async (own) => check(await fetch("/api/push", { method, headers: { ...proof(), "Content-Type": "application/json" }, body: JSON.stringify(own) }));
export const subscribe = tellPush("POST"), unsubscribe = tellPush("DELETE");

// post sends fields and files; onProgress hears the bytes of the files sent
// so far. It needs XMLHttpRequest: fetch has no upload progress.
export function post(fields, files, onProgress) {
  const xhr = new XMLHttpRequest();
  const done = new Promise((resolve, reject) => {
    xhr.open("POST", base + "/messages");
    for (const [name, value] of Object.entries(proof())) xhr.setRequestHeader(name, value);
    xhr.onload = () => {
      if (xhr.status === 401) signIn();
      xhr.status === 201 ? resolve(JSON.parse(xhr.responseText)) : reject(problem(xhr.status, xhr.responseText));
    };
    xhr.onerror = xhr.ontimeout = () => reject(new Error("the host cannot be reached"));
    xhr.onabort = () => reject(Object.assign(new Error("cancelled"), { code: "cancelled" }));
    if (!files.length) {
      xhr.timeout = 30000;
      xhr.setRequestHeader("Content-Type", "application/json");
      xhr.send(JSON.stringify(fields));
      return;
    }
    const form = new FormData();
    for (const [k, v] of Object.entries(fields)) form.append(k, v);
    let total = 0;
    for (const f of files) { form.append("files", f, f.name); total += f.size; }
    xhr.upload.onprogress = (e) => onProgress(Math.max(0, e.loaded - Math.max(0, e.total - total)));
    xhr.send(form);
  });
  return { done, cancel: () => xhr.abort() };
}

// follow hears one stream of events until it ends. It is no EventSource, which
// cannot send a header.
async function follow(after, changed, signal, { open, ...hear }) {
  const res = await check(await fetch(`${base}/events?after=${encodeURIComponent(after)}&changed=${changed}`, { headers: proof(), signal }));
  open();
  const reader = res.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (rest + value).split("\n\n");
    rest = events.pop();
    for (const e of events) {
      const field = (name) => e.split("\n").find((line) => line.startsWith(name + ": "))?.slice(name.length + 2);
      hear[field("event")]?.(JSON.parse(field("data")));
    }
  }
}

// listen keeps a stream of events open: it catches up from the last message
// after every break, and rests while the page has been hidden for a minute,
// because a browser allows only a few connections to one server; a page that stays()
// does not rest. One that leaves() rests at once: it is notified otherwise.
export function listen({ last, changed, message, change, activity, chats, state, stays, leaves }) {
  let stream = null, wait = 1000, timer = 0, hidden = 0;
  const open = async () => {
    stream?.abort();
    clearTimeout(timer);
    const mine = stream = new AbortController();
    try {
      await follow(last(), changed(), mine.signal, { open: () => { wait = 1000; state("live"); }, message, change, activity, chats });
    } catch (e) {
      if (e.status === 404) location.reload(); // the history is another one now
    }
    if (stream !== mine) return;
    state("lost");
    timer = setTimeout(open, wait);
    wait = Math.min(wait * 1.5, 5000);
  };
  const rest = () => { if (stays()) return; clearTimeout(timer); stream?.abort(); stream = null; };
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hidden);
    if (document.visibilityState === "visible") { if (!stream) open(); return; }
    hidden = setTimeout(rest, leaves() ? 0 : 60000);
  });
  addEventListener("online", () => { if (document.visibilityState === "visible" || stays()) open(); });
  open();
}
