// An album: pictures that were sent together stand in one bubble. The page has a message
// for each of them: the first one's bubble shows all, and the others are hidden.
import { el, dayKey } from "./dom.js";
import { shown } from "./file.js";

const picture = (m) => !m.removed && m.file?.inline && m.file.kind !== "sticker" && m.file.mime.startsWith("image/");
const post = (m) => m.id.replace(/-\d+$/, "");
const samePost = (p, m) => !m.assistant && post(p) === post(m);
const atOnce = (p, m) => m.assistant && p.assistant && new Date(m.time) - new Date(p.time) < 10000 && dayKey(p.time) === dayKey(m.time);

// joins says whether m stands in the bubble of p, the message before: as a further picture,
// or since all of its post was deleted.
export const joins = (p, m) => m.removed ? samePost(p, m)
  : picture(p) && picture(m) && !m.text && !m.quote && (samePost(p, m) || atOnce(p, m));

// grid shows the pictures among messages; null if there is no second one.
export function grid(messages) {
  const pictures = messages.filter(picture);
  return pictures.length < 2 ? null : el("div", { className: "album", role: "group", "aria-label": `${pictures.length} pictures` }, ...pictures.map((m) => shown(m.file).node));
}
