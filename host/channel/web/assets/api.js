// What the page says to the host and hears from it.

const base = "/api/chats/" + encodeURIComponent(document.body.dataset.chat);

async function check(res) {
  if (res.status === 401) location.reload();
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
  return (await check(await fetch(`${base}/messages?${q}`))).json();
}

export const seen = async (ids) => check(await fetch(base + "/seen", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ ids }) }));

// post sends fields and files; onProgress hears the bytes of the files sent
// so far. It needs XMLHttpRequest: fetch has no upload progress.
export function post(fields, files, onProgress) {
  const xhr = new XMLHttpRequest();
  const done = new Promise((resolve, reject) => {
    xhr.open("POST", base + "/messages");
    xhr.onload = () => xhr.status === 201 ? resolve(JSON.parse(xhr.responseText)) : reject(problem(xhr.status, xhr.responseText));
    xhr.onerror = () => reject(new Error("the host cannot be reached"));
    xhr.onabort = () => reject(Object.assign(new Error("cancelled"), { code: "cancelled" }));
    if (!files.length) {
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

// listen keeps a stream of events open: it catches up from the last message
// after every break, and rests while the page has been hidden for a minute,
// because a browser allows only a few connections to one server.
export function listen({ last, message, activity, state }) {
  let source = null, wait = 1000, timer = 0, hidden = 0;
  const open = () => {
    source?.close();
    clearTimeout(timer);
    source = new EventSource(`${base}/events?after=${encodeURIComponent(last())}`);
    source.onopen = () => { wait = 1000; state("live"); };
    source.addEventListener("message", (e) => message(JSON.parse(e.data)));
    source.addEventListener("activity", (e) => activity(JSON.parse(e.data)));
    source.onerror = () => {
      state("lost");
      if (source?.readyState === EventSource.CLOSED) retry();
    };
  };
  const retry = () => {
    timer = setTimeout(async () => {
      wait = Math.min(wait * 2, 30000);
      try {
        if (last() !== "0") await history({ after: last(), limit: 1 });
        open();
      } catch (e) {
        if (e.status === 404) location.reload(); // the history is another one now
        else retry();
      }
    }, wait);
  };
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hidden);
    if (document.visibilityState === "visible") { if (!source) open(); return; }
    hidden = setTimeout(() => { clearTimeout(timer); source?.close(); source = null; }, 60000);
  });
  addEventListener("online", open);
  open();
}
