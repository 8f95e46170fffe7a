// What a member can say in a chat that is still empty.
import { el } from "./dom.js";

// The sample assistant answers each of them with a file; a test walks this list.
const ideas = ["Hello! What can you do?", "Make a chart, and send its figures as a table.", "Plan my week, and send it as a calendar file."];

// suggestions are buttons that say an idea, with the word that the assistant waits for.
export function suggestions(trigger, say) {
  return el("div", { className: "ideas", role: "group", "aria-label": "Suggestions" }, ...ideas.map((idea) => {
    const button = el("button", { type: "button" }, idea);
    button.addEventListener("click", () => say(trigger ? `${trigger} ${idea}` : idea));
    return button;
  }));
}
