// Calls to the host. The key is in this origin's storage, where no other port sees it,
// and goes to the host in a header.

const place = "longshore.operator.key";

export class SignedOut extends Error {}

export const signedIn = () => localStorage.getItem(place) !== null;
export const forget = () => localStorage.removeItem(place);

const timeout = { GET: 20000, POST: 120000 }; // milliseconds; a reload may take a while

// ask makes a call and returns its Response. It throws SignedOut, or an Error for people.
async function ask(method, path, body) {
  const headers = { Authorization: "Bearer " + (localStorage.getItem(place) ?? "") };
  let res;
  try {
    res = await fetch(path, { method, headers, body, credentials: "omit", signal: AbortSignal.timeout(timeout[method]) });
  } catch {
    throw new Error("The host does not answer. Is it running?");
  }
  if (res.ok) return res;
  const answer = await res.json().catch(() => ({}));
  const { message = "status " + res.status, hint = "" } = answer.error ?? {};
  if (res.status === 401) throw new SignedOut(message);
  throw new Error(message + (hint ? "\nto do: " + hint : ""));
}

export const get = async (path) => (await ask("GET", path)).json();
// call makes a call of the control protocol with its argument.
export const call = async (name, arg) => (await ask("POST", "/v1/" + name, JSON.stringify(arg))).json();
export const signOut = () => ask("POST", "/sign-out");

// signIn uses the token of a sign-in address.
export async function signIn(token) {
  const { key } = await (await ask("POST", "/sign-in", token)).json();
  localStorage.setItem(place, key);
}

// save downloads an answer under a name of ours.
export async function save(path, name) {
  const blob = await (await ask("GET", path)).blob();
  const a = document.createElement("a");
  a.href = URL.createObjectURL(blob);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60000);
}
