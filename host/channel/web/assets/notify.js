// Notifications while a page is open and out of sight. The browser is asked by a click.
// Of several pages, the one that holds the lock notifies and stays connected.
import { $ } from "./dom.js";
import * as push from "./push.js";

const key = "longshore.notify";
const button = $("notify");
const possible = "Notification" in window && "locks" in navigator; // on secure origins
let on = false, chosen = false, notice;

export function init(options) {
  ({ notice } = options);
  if (push.offered && !window.isSecureContext) { button.hidden = false; set(false); return; }
  if (!push.possible && (!possible || !works())) return;
  button.hidden = false;
  try { set(localStorage.getItem(key) === "on" && Notification.permission === "granted"); } catch { set(false); }
  if (on && push.possible) push.on().catch(() => {}); // the host may have forgotten this browser
  navigator.locks?.request("longshore.notify", () => { chosen = true; return new Promise(() => {}); });
}

// works: Chrome on Android has the constructor and refuses to use it.
function works() { return !/Android/.test(navigator.userAgent) || /Firefox/.test(navigator.userAgent); }

function set(wish) {
  on = wish;
  button.setAttribute("aria-pressed", String(on));
  button.title = on ? "Notifications are on. Turn them off" : push.possible ? "Notify me, also while this page is closed" : "Notify me while this page is open";
  try { localStorage.setItem(key, on ? "on" : "off"); } catch { /* lasts for the page */ }
}

button.addEventListener("click", async () => {
  if (!window.isSecureContext) return notice("Notifications need https, or localhost. Ask the operator for such an address.");
  if (on) { set(false); if (push.possible) push.off().catch(() => {}); return; }
  const answer = await Notification.requestPermission();
  if (answer === "granted" && push.possible) {
    try { await push.on(); } catch (e) { return notice(`Notifications could not be turned on: ${e.message}.`); }
  }
  if (answer === "granted") return set(true);
  notice("This browser does not allow notifications of this page. Its settings for the site can change that.");
});

// active says that this page stays connected while it is hidden.
export const active = () => on && chosen && works();

// pushed says that the host notifies this browser while the page is hidden.
export const pushed = () => on && push.possible && !active();

// show notifies of a message in a chat.
export function show(chat, name, from, text, url) {
  if (!active() || !document.hidden) return;
  let note;
  try {
    note = new Notification(name, { body: `${from}: ${text}`.slice(0, 200), tag: chat, renotify: true, icon: "/assets/icon-192.png" });
  } catch { return; } // some phones have it for workers alone
  note.addEventListener("click", () => {
    note.close();
    window.focus();
    if (url !== location.pathname) location.assign(url);
  });
}
