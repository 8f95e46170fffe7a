// Shows what the host sends while no page is open. It keeps and fetches nothing.
const chatForm = /^[a-z0-9][a-z0-9_-]{0,63}$/;

self.addEventListener("push", (e) => {
  let news = {};
  try { news = e.data.json(); } catch { /* not the host's: something came all the same */ }
  const chat = chatForm.test(news?.chat) ? news.chat : "";
  e.waitUntil(self.registration.showNotification(String(news?.title || "Longshore").slice(0, 100), {
    body: String(news?.text || "New message").slice(0, 200), tag: chat, renotify: chat !== "", icon: "/assets/icon-192.png", data: chat ? "/c/" + chat : "/",
  }));
});

self.addEventListener("notificationclick", (e) => {
  e.notification.close();
  e.waitUntil((async () => {
    const url = e.notification.data;
    const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
    const page = pages.find((p) => new URL(p.url).pathname === url);
    return page ? page.focus() : self.clients.openWindow(url);
  })());
});
