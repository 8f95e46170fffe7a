// The chat's scheduled tasks: a button that is there if there are any, and a list.
import { $, el } from "./dom.js";
import * as api from "./api.js";

const dialog = $("taskdialog"), note = $("tasknote"), items = $("tasklist");
const verbs = { run: "Run now", pause: "Pause", resume: "Resume", cancel: "Cancel" };
let timer;

// soon asks for the list a moment later, however often it is called until then.
export function soon() {
  clearTimeout(timer);
  timer = setTimeout(() => refresh().catch(() => {}), 1000);
}

async function refresh() {
  const { tasks } = await api.tasks();
  $("tasks").hidden = tasks.length === 0 && !dialog.open;
  if (dialog.open) items.replaceChildren(...tasks.map(item));
  if (dialog.open && tasks.length === 0) note.textContent ||= "There are no tasks.";
}

function item(t) {
  const possible = t.ended ? ["cancel"] : [t.paused ? "resume" : "pause", ...(t.running ? [] : ["run"]), "cancel"];
  const buttons = possible.map((verb) => {
    const button = el("button", { type: "button", className: "quiet", "aria-label": `${verbs[verb]}: ${t.name}` }, t.ended ? "Remove" : verbs[verb]);
    button.addEventListener("click", () => operate(t, verb));
    return button;
  });
  return el("li", {}, el("b", { dir: "auto", title: t.prompt }, t.name), el("small", {}, t.running ? "running now" : t.ended ? "over" : t.words), el("span", { className: "verbs" }, ...buttons));
}

async function operate(t, verb) {
  for (const b of items.querySelectorAll("button")) b.disabled = true;
  try { note.textContent = (await api.task(t.id, verb)).words; } catch (e) { note.textContent = `Not done: ${e.message}.`; }
  await refresh().catch((e) => { note.textContent = `The list could not be loaded: ${e.message}.`; });
  dialog.querySelector(".actions button").focus();
}

dialog.addEventListener("close", soon);
$("tasks").addEventListener("click", async () => {
  note.textContent = "";
  items.replaceChildren();
  dialog.showModal();
  await refresh().catch((e) => { note.textContent = `The list could not be loaded: ${e.message}.`; });
});
