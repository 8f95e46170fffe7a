// Each person in the chat has a colour of their own, as long as there are colours: their
// name's, or the next that is free. Two browsers with the same name are two people.
import { hue } from "./dom.js";

const all = 8;
const taken = new Map(); // person -> colour

export function colour({ from, author, assistant }) {
  const person = assistant ? "assistant" : author ? "a:" + author : "n:" + from;
  if (!taken.has(person)) {
    const used = new Set(taken.values()), wish = hue(from);
    const free = [...Array(all).keys()].map((i) => (wish + i) % all).find((c) => !used.has(c));
    taken.set(person, free ?? wish);
  }
  return taken.get(person);
}
