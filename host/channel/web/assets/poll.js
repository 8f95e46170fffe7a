// A question with choices: a button for each, with who has chosen it.
import { el } from "./dom.js";

const most = 12; // names below a choice

// poll returns the choices of a message; vote gets all that the reader, whose mark is
// given, chooses from now on.
export function poll({ text, poll: p }, mark, vote) {
  const mine = p.votes.find((v) => v.who === mark)?.choices ?? [];
  const voters = p.votes.filter((v) => v.choices.length).length;
  const node = el("div", { className: "poll", role: "group", "aria-label": text });
  for (const choice of p.choices) {
    const names = p.votes.filter((v) => v.choices.includes(choice)).map((v) => v.name), has = mine.includes(choice);
    const bar = el("progress", { max: Math.max(voters, 1), value: names.length, "aria-hidden": "true" });
    const button = el("button", { type: "button", disabled: p.ended, "aria-pressed": String(has) },
      el("span", { dir: "auto" }, choice), el("span", { className: "count", "aria-label": names.length === 1 ? "1 vote" : `${names.length} votes` }, String(names.length)), bar);
    button.addEventListener("click", () => vote(has ? mine.filter((c) => c !== choice) : p.several ? [...mine, choice] : [choice]));
    const more = names.length > most ? ` and ${names.length - most} more` : "";
    node.append(button, el("small", {}, names.slice(0, most).join(", ") + more));
  }
  node.append(el("p", {}, p.ended ? p.outcome || "The question is closed." : p.several ? "Choose one or more." : "Choose one."));
  return node;
}
