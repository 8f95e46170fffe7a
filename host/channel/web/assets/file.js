// A file in a message: shown in place where it can be, a card otherwise.
import { $, el, icon, size } from "./dom.js";

const families = [
  ["pdf", /^pdf$/], ["table", /^(csv|tsv|xlsx?|ods)$/], ["slides", /^(pptx?|odp|key)$/], ["text", /^(docx?|odt|rtf|txt|md|epub)$/],
  ["archive", /^(zip|gz|tgz|tar|7z|rar|xz|bz2|zst)$/], ["code", /^(json|ya?ml|xml|html?|js|ts|py|go|sh|css|svg|sql|toml)$/],
  ["image", /^(png|jpe?g|gif|webp|heic|bmp|tiff?)$/], ["video", /^(mp4|webm|mov|avi|mkv)$/], ["audio", /^(mp3|ogg|opus|aac|m4a|wav|flac)$/],
];

export function badge(name) {
  const ext = (/\.([a-z0-9]{1,5})$/i.exec(name)?.[1] ?? "").toLowerCase();
  const family = families.find(([, form]) => form.test(ext))?.[0] ?? "other";
  return el("span", { className: "sheetlet f-" + family, "aria-hidden": "true" }, (ext || "file").toUpperCase());
}

const names = { "application/octet-stream": "Binary file", "application/pdf": "PDF document", "text/plain": "Text", "text/markdown": "Markdown", "text/html": "Web page", "application/json": "JSON", "image/svg+xml": "SVG drawing", "application/gzip": "Archive",
  "application/msword": "Word document", "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "Word document",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "Excel workbook", "application/vnd.openxmlformats-officedocument.presentationml.presentation": "Presentation",
  "text/csv": "Table", "text/calendar": "Calendar", "application/zip": "Zip archive" };
export const typeName = (file) => names[file.mime.split(";")[0]] ?? file.mime.split(";")[0];

const about = (file) => [badge(file.name),
  el("span", {}, el("bdi", { className: "name", title: file.name }, file.name), el("small", {}, `${size(file.size)} · ${typeName(file)}`))];

export function card(file) {
  const save = { href: file.url, download: file.name, "aria-label": `Download ${file.name}, ${typeName(file)}, ${size(file.size)}` };
  if (file.mime.split(";")[0] !== "application/pdf" || !navigator.pdfViewerEnabled) return el("a", { className: "card", ...save }, ...about(file), icon("save"));
  const view = el("button", { type: "button", className: "look", "aria-label": `View ${file.name}, ${typeName(file)}, ${size(file.size)}` }, ...about(file));
  view.addEventListener("click", () => enlarge(file, el("iframe", { src: file.url + "?view", title: file.name })));
  return el("div", { className: "card" }, view, el("a", { className: "icon", title: "Download", ...save }, icon("save")));
}

// waiting is a card for a file that is still on its way.
export function waiting(name, total, sent) {
  const note = el("small");
  const bar = el("progress", { max: Math.max(total, 1), "aria-label": "Progress of " + name });
  const node = el("div", { className: "card" }, badge(name), el("span", {}, el("bdi", { className: "name" }, name), note, bar));
  const update = (n) => {
    bar.value = n;
    note.textContent = n >= total ? size(total) : `${size(n)} of ${size(total)}`;
  };
  update(sent);
  return { node, update };
}

// shown returns the node for a file, and whether it fills its bubble.
export function shown(file) {
  const kind = file.inline ? file.mime.split("/")[0] : "";
  if (kind === "image") return { node: picture(file), media: true };
  if (kind === "video") return { node: film(file), caption: caption(file), media: true };
  if (kind === "audio") return { node: el("audio", { className: "sound", controls: true, preload: "metadata", src: file.url, "aria-label": file.name }), caption: caption(file) };
  return { node: card(file) };
}

function picture(file) {
  const img = el("img", { alt: file.alt || file.name, loading: "lazy", decoding: "async", src: file.url });
  if (file.width && file.height) { img.width = file.width; img.height = file.height; }
  const button = el("button", { type: "button", className: "shot" + (file.width ? "" : " bare"), "aria-label": `Open picture ${file.alt || file.name}` }, img);
  button.addEventListener("click", () => enlarge(file, el("img", { id: "lightimage", src: file.url, alt: file.alt || file.name })));
  img.addEventListener("error", () => button.replaceWith(card(file)), { once: true });
  return button;
}

function film(file) {
  const video = el("video", { className: "clip", controls: !file.loop, preload: "metadata", playsInline: true, src: file.url, "aria-label": file.alt || file.name });
  if (file.loop) { video.muted = true; video.loop = true; video.autoplay = true; }
  video.addEventListener("loadedmetadata", () => { video.dataset.ready = "1"; }, { once: true });
  return video;
}

function caption(file) {
  return el("div", { className: "caption" }, el("bdi", {}, file.name), size(file.size),
    el("a", { href: file.url, download: file.name, "aria-label": "Download " + file.name }, "Save"));
}

// enlarge shows a file over the whole page, by what the browser itself has for it.
function enlarge(file, node) {
  $("lightview").replaceChildren(node);
  $("lightname").textContent = `${file.name} · ${size(file.size)}`;
  $("lightsave").href = file.url;
  $("lightsave").download = file.name;
  $("lightbox").showModal();
}

$("lightbox").addEventListener("click", (e) => {
  if (e.target === $("lightbox") || e.target === $("lightview") || e.target.id === "lightimage") $("lightbox").close();
});
$("lightbox").addEventListener("close", () => $("lightview").replaceChildren());
