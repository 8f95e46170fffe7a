// What a member can say in a chat that is still empty.
import { el } from "./dom.js";

const ideas = ["Hello! What can you help me with?", "Make a small file and send it here.", "Summarize the next file that I send you."];

// suggestions are buttons that write an idea, with the word that the assistant waits for.
export function suggestions(trigger, write) {
  return el("div", { className: "ideas", role: "group", "aria-label": "Suggestions" }, ...ideas.map((idea) => {
    const button = el("button", { type: "button" }, idea);
    button.addEventListener("click", () => write(trigger ? `${trigger} ${idea}` : idea));
    return button;
  }));
}
