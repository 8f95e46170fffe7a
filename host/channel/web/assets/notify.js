// Notifications while a page is open and out of sight. The browser is asked by a click.
// Of several pages, the one that holds the lock notifies and stays connected.
import { $ } from "./dom.js";

const key = "longshore.notify";
const button = $("notify");
const possible = "Notification" in window && "locks" in navigator; // on secure origins
let on = false, chosen = false, notice;

export function init(options) {
  ({ notice } = options);
  if (!possible || !works()) return;
  button.hidden = false;
  try { set(localStorage.getItem(key) === "on" && Notification.permission === "granted"); } catch { set(false); }
  navigator.locks.request("longshore.notify", () => { chosen = true; return new Promise(() => {}); });
}

// works: Chrome on Android has the constructor and refuses to use it.
function works() { return !/Android/.test(navigator.userAgent) || /Firefox/.test(navigator.userAgent); }

function set(wish) {
  on = wish;
  button.setAttribute("aria-pressed", String(on));
  button.title = on ? "Notifications are on. Turn them off" : "Notify me while this page is open";
  try { localStorage.setItem(key, on ? "on" : "off"); } catch { /* lasts for the page */ }
}

button.addEventListener("click", async () => {
  if (on) return set(false);
  const answer = await Notification.requestPermission();
  if (answer === "granted") return set(true);
  notice("This browser does not allow notifications of this page. Its settings for the site can change that.");
});

// active says that this page stays connected while it is hidden.
export const active = () => on && chosen;

// show notifies of a message in a chat.
export function show(chat, name, from, text, url) {
  if (!active() || !document.hidden) return;
  const note = new Notification(name, { body: `${from}: ${text}`.slice(0, 200), tag: chat, icon: "/assets/icon-192.png" });
  note.addEventListener("click", () => {
    note.close();
    window.focus();
    if (url !== location.pathname) location.assign(url);
  });
}
