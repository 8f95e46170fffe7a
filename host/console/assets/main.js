// The page: signs in, asks every two seconds while somebody looks, and shows the answer.
import { SignedOut, call, forget, get, save, signIn, signOut, signedIn } from "./api.js";
import { $, button, clean, count, el } from "./dom.js";
import * as views from "./views.js";

const sections = ["findings", "approvals", "host", "channels", "groups", "queue", "failed", "tasks"];
const onlyIfAny = ["findings", "approvals"]; // these sections are hidden while they are empty
const maxLines = 500;
const shown = {}; // by section: the JSON that it shows
let after = 0;    // the cursor in the log
let timer;

function say(text, bad) {
  $("news").textContent = clean(text);
  $("news").className = bad ? "bad" : "";
  $("news").hidden = text === "";
}

function signedOut(text) {
  forget();
  clearTimeout(timer);
  for (const id of ["main", "actions"]) $(id).hidden = true;
  for (const id of sections) { delete shown[id]; document.querySelector(`#${id} .body`).replaceChildren(); }
  for (const id of ["log", "audit"]) document.querySelector(`#${id} .body`).replaceChildren();
  $("search").reset();
  after = 0;
  $("item").close();
  $("signin").hidden = false;
  $("state").textContent = "not signed in";
  say(text ?? "", true);
}

// attempt runs something for the operator, and says what went wrong.
async function attempt(what) {
  try {
    return await what();
  } catch (e) {
    if (e instanceof SignedOut) signedOut(e.message);
    else say(e.message, true);
  }
}

let pairs; // the linking that the dialog shows
const acts = {
  act: (name, arg) => attempt(async () => {
    const done = await call(name, arg);
    say(done.words ?? (done.turns !== undefined ? `Stopped: turns ${done.turns}, messages that waited ${done.waited}.` : "Done."));
    await refresh();
  }),
  show: (id) => attempt(async () => {
    const item = await call("show", id);
    pairs = undefined;
    document.querySelector("#item .body").replaceChildren(...views.details(item));
    if (!$("item").open) $("item").showModal();
  }),
  pair: (name) => attempt(async () => {
    const run = {};
    pairs = run; // a later one takes the dialog over
    $("item").close();
    $("item").showModal();
    while ($("item").open && pairs === run) {
      const link = await call("link", name);
      if (!$("item").open || pairs !== run) return;
      document.querySelector("#item .body").replaceChildren(...views.pairing(name, link));
      if (link.account || link.failed) return;
      await new Promise((done) => setTimeout(done, 1000));
    }
  }),
  save: (path) => attempt(() => save(path, "request.json")),
};

// of is what a section shows of an overview.
const of = {
  findings: (o) => o.status.findings,
  approvals: (o) => o.approvals,
  host: ({ status: { channels, groups, findings, failures, ...rest } }) => rest,
  channels: (o) => o.status.channels,
  groups: (o) => [o.status.groups, o.status.assistants, o.requests],
};

function show(overview) {
  for (const id of sections) {
    // Only what changed is drawn anew: a button keeps its focus, a text its selection. A
    // button that waits for its second click stays, too.
    const part = of[id]?.(overview) ?? overview[id];
    const now = JSON.stringify(part);
    const body = document.querySelector(`#${id} .body`);
    if (shown[id] === now || body.querySelector("button.sure")) continue;
    shown[id] = now;
    body.replaceChildren(...[views[id](overview, acts)].flat());
    if (onlyIfAny.includes(id)) $(id).hidden = part.length === 0;
  }
  const { groups, errors, findings } = overview.status;
  const sum = (key) => groups.reduce((n, g) => n + g[key], 0);
  const approvals = sum("approvals");
  const parts = [`${sum("pending") - approvals} in the queue`, approvals && `${approvals} to approve`, `${sum("waiting")} requests wait`, `${errors} in the errors folder`, findings.length ? count(findings.length, "finding") : "nothing is wrong"];
  $("state").textContent = parts.filter(Boolean).join(", ");
}

function showLog({ lines, next }) {
  const body = document.querySelector("#log .body");
  const atEnd = body.scrollTop + body.clientHeight >= body.scrollHeight - 8;
  after = next;
  body.append(...lines.slice(-maxLines).map(views.logLine));
  while (body.childElementCount > maxLines) body.firstElementChild.remove();
  filter();
  if (atEnd) body.scrollTop = body.scrollHeight;
}

function filter() {
  const wanted = $("filter").value.toLowerCase();
  for (const li of document.querySelectorAll("#log li")) li.hidden = wanted !== "" && !li.textContent.toLowerCase().includes(wanted);
}

async function refresh() {
  show(await get("/v1/overview"));
  showLog(await call("log", { after, limit: maxLines }));
  $("main").hidden = $("actions").hidden = false;
  $("signin").hidden = true;
}

// watch refreshes while somebody looks.
let silent = false;
async function watch() {
  clearTimeout(timer);
  if (!signedIn()) return signedOut();
  if (!document.hidden) {
    try {
      await refresh();
      if (silent) say("");
      silent = false;
    } catch (e) {
      if (e instanceof SignedOut) return signedOut(e.message);
      silent = true;
      say(e.message, true);
    }
  }
  clearTimeout(timer);
  timer = setTimeout(watch, 2000);
}

// reload applies the file. One that ends most groups is applied after a confirmation.
async function reload(remove) {
  const { changes, problems, removes } = await call("reload", remove);
  if (problems?.length) say("Not applied:\n" + problems.join("\n"), true);
  else say(changes?.length ? "Applied:\n" + changes.join("\n") : "Nothing changed.");
  $("remove").replaceChildren(...(removes?.length ? [button("End " + count(removes.length, "group"), () => attempt(() => reload(true)), "End them?")] : []));
  await refresh();
}
$("reload").replaceWith(el("span", { id: "reload" }, button("Reload configuration", () => attempt(() => reload(false))), el("span", { id: "remove" })));
$("leave").addEventListener("click", () => attempt(async () => { await signOut(); signedOut(); }));
$("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const query = { text: $("words").value, event: $("event").value };
  const day = (value, more) => { const t = new Date(value + "T00:00"); t.setDate(t.getDate() + more); return t.toISOString(); };
  if ($("from").value) query.from = day($("from").value, 0);
  if ($("to").value) query.to = day($("to").value, 1); // to its end
  attempt(async () => document.querySelector("#audit .body").replaceChildren(...views.trail(await call("audit", query))));
});
$("filter").addEventListener("input", filter);
document.addEventListener("visibilitychange", () => { if (!document.hidden && signedIn()) watch(); });
addEventListener("storage", () => watch()); // another tab signed in or out

async function start() {
  const token = location.hash.slice(1);
  if (token) {
    history.replaceState(null, "", "/"); // the token must not stay in the address
    try {
      await signIn(token);
    } catch (e) {
      if (!signedIn()) return signedOut(e.message);
      say(e.message, true);
    }
  }
  watch();
}
addEventListener("hashchange", start);
start();
