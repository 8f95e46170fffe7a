// Web Push: the host reaches this browser while no page is open, if the operator and the member want it.
import { subscribe, unsubscribe } from "./api.js";

const key = document.body.dataset.push;
export const offered = Boolean(key);
export const possible = offered && window.isSecureContext && "serviceWorker" in navigator && "PushManager" in window;

const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
const same = (a, b) => a && a.byteLength === b.length && new Uint8Array(a).every((v, i) => v === b[i]);

const name = "/assets/worker.js";
const policy = possible ? window.trustedTypes?.createPolicy("longshore-worker", { createScriptURL: () => name }) : null;

async function worker() {
  await navigator.serviceWorker.register(policy ? policy.createScriptURL(name) : name, { scope: "/" });
  return navigator.serviceWorker.ready;
}

let registration; // once there is one

// on subscribes this browser, or tells the host of its subscription again.
export async function on() {
  const { pushManager } = registration ??= await worker();
  let own = await pushManager.getSubscription();
  if (own && !same(own.options.applicationServerKey, bytes(key))) { await own.unsubscribe(); own = null; }
  own ??= await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(key) });
  await subscribe(own.toJSON());
}

export async function off() {
  const { pushManager } = registration ??= await worker();
  const own = await pushManager.getSubscription();
  if (!own) return;
  await own.unsubscribe(); // first: then the service itself says that it is gone
  await unsubscribe(own.toJSON());
}
