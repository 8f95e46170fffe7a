// What each section shows of an overview. The acts come from main.js.
import { button, count, el, line, size, when } from "./dom.js";

const card = (lines, ...acts) => el("li", { className: "card" }, el("div", { className: "what" }, lines), el("div", { className: "acts" }, acts));
const list = (cards, none) => (cards.length ? el("ul", {}, cards) : el("p", { className: "muted" }, none));

// findings says what "longshore status" says, in the same words, with a button for what the page can do itself.
export const findings = ({ status: s }, acts) => list(s.findings.map((f) => card([
  line("bad", `${f.severity} ${f.name}: ${f.cause}`),
  line("", "to do: " + f.remedy),
  line("muted", `since ${when(f.since)}`),
],
f.operation === "reload" ? button("Reload", () => acts.act("reload", false)) : null,
f.operation === "link" ? button("Link", () => acts.pair(f.part.replace("channel ", ""))) : null)), "Nothing is wrong.");

// used says how much there is of something that has a bound, in words and as a bar.
const used = (label, n, most, words) => [line(n >= most ? "bad" : "", `${label}: ${words(n)} of ${words(most)}`), el("meter", { min: 0, max: most, high: most * 0.8, value: n, "aria-label": label })];

// quotas are those of a group: what the outbox may hold of it, its inbox, and its links.
const quotas = (use, quota) => (use && quota ? [
  used("messages under way", use.pending, quota.pending, String),
  used("their files", use.bytes, quota.bytes, size),
  use.retained ? used("kept of failed messages", use.retained, quota.bytes, size) : null,
  quota.inbox ? used("files in the inbox", use.inbox, quota.inbox, size) : null,
  quota.links ? used("files behind links", use.links, quota.links, size) : null,
] : null);

export function host({ status: s }) {
  const low = s.disk.total && (s.disk.free / s.disk.total < 0.05 || s.disk.free < 2 * (s.disk.floor ?? 0));
  return list([
    card([line("name", `version ${s.version}`, `process ${s.pid}`), line("muted", `since ${when(s.started)}`, `configuration of ${when(s.applied)}`)]),
    card([
      line(low ? "bad" : "", `${size(s.disk.free)} of ${size(s.disk.total)} free`, s.disk.floor && `nothing is accepted below ${size(s.disk.floor)}`),
      s.disk.total ? el("meter", { min: 0, max: s.disk.total, high: s.disk.total * 0.95, value: s.disk.total - s.disk.free, "aria-label": "disk used" }) : null,
      line("muted", s.state),
    ]),
    card([line("", s.quota ? `each group may have ${count(s.quota.pending, "message")} and ${size(s.quota.bytes)} waiting` : "")]),
  ]);
}

export const channels = ({ status: s }, acts) => list(s.channels.map((c) => card([
  line("name", c.name),
  line(c.connected ? "good" : "bad", c.connected ? "connected" : "not connected"),
  c.detail ? line("muted", c.detail) : null,
], c.scan && !c.connected ? button("Pair", () => acts.pair(c.name)) : null)), "No channel is configured.");

export function groups({ status: s, requests }, acts) {
  const people = requests.map((r) => card([line("name", r.from, `waits in ${r.channel}`), line("muted", r.chat), line("", `longshore groups approve ${r.code}`)]));
  return list(people.concat(s.groups.map((g) => {
    const now = s.assistants.filter((a) => a.group === g.folder);
    const waits = [g.waiting && `${count(g.waiting, "request")} not yet taken`, g.pending && `${count(g.pending, "delivery").replace("deliverys", "deliveries")}, ${size(g.bytes)}`, g.approvals && `${g.approvals} to approve`, g.pending && when(g.oldest) && `oldest ${when(g.oldest)}`];
    const ignored = [g.not_called && `${g.not_called} not called`, g.not_allowed && `${g.not_allowed} not allowed`];
    return card([
      line("name", g.name || g.folder, g.main ? "main" : ""),
      line("muted", g.folder, g.chat),
      line(g.assistant ? "" : "warn", g.assistant ? `assistant ${g.assistant}` : "nobody answers", g.trigger && `called by ${g.trigger}`, !now.length && g.assistant && "idle"),
      now.map((a) => line(a.cause || a.state === "broken" ? "bad" : "good", a.state, a.started && `since ${when(a.started)}`, a.cause, a.next && `next attempt ${when(a.next)}`, a.detail)),
      now.some((a) => a.cause || a.state === "broken") ? line("muted", `longshore why ${g.folder}`) : null,
      g.turn_done ? line("muted", `last answer ${when(g.turn_done)}`, `answers ${g.turns_answered}`, g.turns_broken && `broken turns ${g.turns_broken}`) : null,
      g.trouble ? line("warn", `last trouble ${when(g.turn_broke)}: ${g.trouble}`) : null,
      waits.some(Boolean) ? line("", ...waits) : null,
      quotas(g.use, s.quota),
      ignored.some(Boolean) ? line("muted", ...ignored) : null,
    ], now.length ? button("Stop", () => acts.act("stop", g.folder), "Stop now?") : null);
  })), "No group is configured.");
}

function delivery(i, acts, ...more) {
  const waits = i.state === "waiting"; // its code and hint are for the assistant
  return card([
    line("name", i.group, i.chat && `to ${i.chat}`),
    i.names ? line("file", i.names.join(", ") + (i.files > i.names.length ? ` and ${i.files - i.names.length} more` : "")) : null,
    i.text ? line("quote", i.text) : null,
    line(i.state === "failed" || i.state === "refused" ? "bad" : "", i.state, waits ? "" : i.code, i.files ? count(i.files, "file") : "", size(i.bytes), i.attempts ? count(i.attempts, "attempt") : "", when(i.created)),
    i.message ? line("", i.message) : null,
    i.hint && !waits ? line("muted", "to do: " + i.hint) : null,
    i.state === "sending" && i.bytes ? el("progress", { max: i.bytes, value: i.done ?? 0, "aria-label": "sent" }) : null,
  ], waits ? ["yes", "no"].map((answer) => button(answer === "yes" ? "Approve" : "Refuse", () => acts.act("decide", { id: i.id, yes: answer === "yes" }), answer === "yes" ? "Send it?" : "Refuse it?")) : null,
  button("Details", () => acts.show(i.id)), more, waits ? null : button("Drop", () => acts.act("drop", i.id), "Drop it?"));
}

export function approvals(o, acts) {
  const all = o.status.groups.reduce((n, g) => n + g.approvals, 0);
  return [
    list(o.approvals.map((i) => delivery(i, acts)), "Nothing waits for an approval."),
    all > o.approvals.length ? el("p", { className: "muted" }, `These are the oldest of ${all}. All: longshore approvals list`) : "",
  ];
}

export const queue = (o, acts) => list(o.queue.map((i) => delivery(i, acts)), "Nothing waits.");

export const failed = (o, acts) => list(o.failed.toReversed().map((i) => delivery(i, acts,
  i.kind === "request" ? button("Original", () => acts.save("/v1/original/" + encodeURIComponent(i.id))) : null,
  button("Retry", () => acts.act("retry", i.id)))), "No errors.");

export const tasks = (o, acts) => list(o.tasks.map((t) => {
  const verb = (v, ask) => button(v, () => acts.act("operate-task", { id: t.id, verb: v }), ask);
  return card([
    line("name", t.name || t.id, t.group),
    line("", t.words, t.status, t.running && "running", t.next_run && `next ${when(t.next_run)}`),
    line("muted", t.prompt),
  ], verb("run"), t.status === "paused" ? verb("resume") : verb("pause"), verb("cancel", "Cancel it?"));
}), "No task is scheduled.");

export function logLine(l) {
  const kind = { ERROR: "bad", WARN: "warn" }[l.level] ?? "";
  return el("li", { className: kind }, `${when(l.time)} ${l.level} ${l.group ? "[" + l.group + "] " : ""}${l.message} ${l.fields ?? ""}`);
}

// trail is what a search of the audit trail found, the newest first.
export function trail({ entries, incomplete }) {
  return [
    list(entries.toReversed().map((e) => card([
      line("name", when(e.time), e.group, e.chat && `to ${e.chat}`),
      line(e.event === "sent" ? "good" : "bad", e.event, e.code),
      e.message ? line("", e.message) : null,
      (e.parts ?? []).map((p) => [
        p.text ? line("quote", p.text) : null,
        line("", p.kind, p.name, p.bytes ? size(p.bytes) : "", p.link ? "as a link" : "", p.status === e.event ? "" : p.status, p.code),
        p.sha256 ? line("muted hash", "SHA-256 " + p.sha256) : null,
      ]),
      line("muted", e.delivery && `delivery ${e.delivery.slice(0, 12)}`, `entry ${e.n}`),
    ])), "Nothing in the trail fits."),
    incomplete ? el("p", { className: "warn" }, "The search took too long: older entries were not looked at. Give a first day, or: longshore audit search") : "",
  ];
}

// details is one item with its timeline.
export function details(i) {
  return [
    el("h2", {}, `${i.kind} of ${i.group}`),
    line("muted", i.id),
    line("", i.state, i.code, i.message),
    i.hint ? line("muted", "to do: " + i.hint) : null,
    el("ol", { className: "timeline" }, (i.timeline ?? []).map((s) => el("li", { className: "card" },
      line("", s.part ? `part ${s.part}` : "", s.what, when(s.time), s.detail)))),
    el("ul", {}, (i.parts ?? []).map((p, n) => el("li", { className: "card" }, el("div", { className: "what" }, [
      line("name", `part ${n + 1}`, p.kind, p.name),
      line("muted", p.mime, p.bytes ? size(p.bytes) : "", p.state),
      p.text ? line("", p.text) : null,
      p.alt ? line("", "alt text: " + p.alt) : null,
      (p.choices ?? []).map((c) => line("", "choice: " + c)),
      p.sha256 ? line("muted", "SHA-256 " + p.sha256) : null,
    ])))),
    i.raw ? el("pre", {}, i.raw) : null,
  ].filter(Boolean);
}

// pairing is a channel that is being linked: its code, or how that ended.
export function pairing(name, l) {
  const head = el("h2", {}, "Link " + name);
  if (l.account) return [head, line("good", "Linked to " + l.account)];
  if (l.failed) return [head, line("bad", l.failed)];
  return [head, line("", l.scan), l.code ? qr(l.code) : line("muted", "Waiting for the first code…")];
}

// qr draws a code with its margin of four squares, black on white in either theme.
function qr(rows) {
  const square = Math.max(2, Math.floor(300 / (rows.length + 8)));
  const canvas = el("canvas", { width: (rows.length + 8) * square, height: (rows.length + 8) * square });
  const pen = canvas.getContext("2d");
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.fillStyle = "#000";
  rows.forEach((row, y) => [...row].forEach((bit, x) => bit === "1" && pen.fillRect((x + 4) * square, (y + 4) * square, square, square)));
  return canvas;
}
