// Signing in: the token goes to the host, and what comes back stays in this
// browser: a cookie, which no script sees, and a key, which no other port sees.
import { $ } from "./dom.js";

const query = new URLSearchParams(location.search);
const back = [location.pathname, query.get("to") ?? ""].find((p) => /^\/(c\/[a-z0-9_-]{1,64})?$/.test(p)) ?? "/";

async function signIn(token) {
  const res = await fetch("/login", { method: "POST", body: new URLSearchParams({ token }) });
  const body = await res.json();
  if (!res.ok) throw new Error(body.error.message);
  localStorage.setItem("longshore.key", body.key);
  location.replace(back);
}

function trouble(e) {
  $("wrong").textContent = e.name === "SecurityError" ? "This browser keeps nothing for this page: allow it to store data." : `Not signed in: ${e.message}.`;
  $("wrong").hidden = false;
  $("token").setAttribute("aria-invalid", "true");
  $("token").setAttribute("aria-describedby", "wrong");
  $("token").focus();
}

$("login").addEventListener("submit", (e) => {
  e.preventDefault();
  signIn($("token").value).catch(trouble);
});
$("open").disabled = false; // before this, the browser itself would send the form and show the answer's JSON

// A link with the token signs in by itself; the token must not stay in the
// address.
if (query.has("token")) {
  history.replaceState(null, "", back);
  signIn(query.get("token")).catch(trouble);
}
