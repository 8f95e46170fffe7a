// The menu of a message: react to it, and edit or delete it if this browser has written
// it. A post of several files is edited and deleted as one, by its first message.
import { $, el, moment } from "./dom.js";

const usual = ["👍", "❤️", "😂", "😮", "😢", "🙏"];
let mark, find, act, doIt; // given by init
let message, first;        // which the menu is for, and the first one of its post

// init takes the reader's mark, what finds a message by its id, and what does something to
// a message: act leaves a refusal to its caller, doIt shows it.
export function init(options) { ({ mark, find, act, doIt } = options); }

export function open(m, button) {
  message = m;
  first = !m.assistant && m.author === mark ? find(m.id.replace(/-\d+$/, "")) : undefined;
  const mine = m.reactions?.find((r) => r.who === mark)?.emoji;
  $("faces").replaceChildren(...(mine && !usual.includes(mine) ? [mine, ...usual] : usual).map((emoji) => face(emoji, emoji === mine)));
  $("emoji").value = "";
  $("edit").hidden = $("delete").hidden = !first;
  $("menutime").textContent = moment(m.time) + (m.editedAt ? `, edited ${moment(m.editedAt)}` : "");
  $("menu").setAttribute("aria-label", `Message of ${m.from}`);
  $("menu").showModal();
  place(button.getBoundingClientRect(), $("menu").getBoundingClientRect());
}

// place puts the menu beside its button, where a wide screen has the room.
function place(at, box) {
  const x = Math.min(at.left, innerWidth - box.width - 8), below = at.bottom + 4;
  $("menu").style.setProperty("--x", Math.max(8, x) + "px");
  $("menu").style.setProperty("--y", Math.max(8, below + box.height > innerHeight ? at.top - box.height - 4 : below) + "px");
}

function face(emoji, pressed) {
  const button = el("button", { type: "button", "aria-pressed": String(pressed), "aria-label": pressed ? `Take ${emoji} back` : `React with ${emoji}` }, emoji);
  button.addEventListener("click", () => react(pressed ? "" : emoji));
  return button;
}

function react(emoji) {
  $("menu").close();
  doIt({ kind: "reaction", target: message.id, emoji });
}
$("emojiform").addEventListener("submit", (e) => {
  e.preventDefault();
  if ($("emoji").value.trim()) react($("emoji").value.trim());
});

$("menu").addEventListener("click", (e) => { if (e.target === $("menu")) $("menu").close(); });
// The message may have changed meanwhile, and its button is another one then.
for (const dialog of [$("menu"), $("editdialog"), $("deletedialog")]) dialog.addEventListener("close", () => {
  if (!document.querySelector("dialog[open]")) document.querySelector(`[data-id="${CSS.escape(message.id)}"] .more`)?.focus({ preventScroll: true });
});

function problem(words) {
  $("editproblem").textContent = words;
  $("editproblem").hidden = !words;
}
$("edit").addEventListener("click", () => {
  $("menu").close();
  problem("");
  $("edittext").value = first.text;
  $("editdialog").showModal();
});
$("editcancel").addEventListener("click", () => $("editdialog").close());
$("edittext").addEventListener("keydown", (e) => {
  if (e.key !== "Enter" || e.shiftKey || e.isComposing || matchMedia("(pointer: coarse)").matches) return;
  e.preventDefault();
  $("editform").requestSubmit();
});
$("editform").addEventListener("submit", async (e) => {
  e.preventDefault();
  const { id } = first;
  try {
    await act({ kind: "edit", target: id, text: $("edittext").value });
    if (first.id === id) $("editdialog").close();
  } catch (error) { problem(`Not saved: ${error.message}.`); }
});

$("delete").addEventListener("click", () => {
  $("menu").close();
  $("deletedialog").returnValue = "";
  $("deletedialog").showModal();
});
$("deletedialog").addEventListener("close", () => { if ($("deletedialog").returnValue === "delete") doIt({ kind: "deletion", target: first.id }); });
