//go:build e2e

package web_test

import (
	"bytes"
	"embed"
	"encoding/base64"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/internal/browsertest"
	"github.com/longshore-bridge/longshore/internal/npmtest"
)

//go:embed testdata/webpush
var pushPrograms embed.FS

// TestAMemberIsNotifiedWhileNoPageIsOpen opens the notification with programs that nobody
// here wrote.
func TestAMemberIsNotifiedWhileNoPageIsOpen(t *testing.T) {
	modules := npmtest.Modules(t, pushPrograms, "testdata/webpush")
	for _, withText := range []bool{false, true} {
		service := newPushService(t)
		o := pushing(t, service)
		o.Push.Text = withText
		s := start(t, o)
		b := newBrowser(service.URL + "/send/anna")
		s.wantPush(204, "POST", b.json())
		s.send(channel.Message{Text: "The report is **ready**"})
		p := service.next(t)
		in, _ := json.Marshal(map[string]string{
			"private": base64.RawURLEncoding.EncodeToString(b.key.Bytes()), "auth": base64.RawURLEncoding.EncodeToString(b.auth),
			"body": base64.RawURLEncoding.EncodeToString(p.body), "token": p.token, "key": p.key, "audience": service.URL,
		})
		program, err := filepath.Abs("testdata/webpush/open.mjs")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "node", program, modules)
		cmd.Stdin = bytes.NewReader(in)
		out, err := cmd.CombinedOutput()
		var got struct {
			Text   string
			Claims struct{ Sub string }
		}
		if err != nil || json.Unmarshal(out, &got) != nil {
			t.Fatalf("%v: %s", err, out)
		}
		want := `{"chat":"family","title":"Family"}`
		if withText {
			want = `{"chat":"family","title":"Family","text":"Andy: The report is ready"}`
		}
		if strings.TrimRight(got.Text, "\x00") != want || got.Claims.Sub != "mailto:ops@example.org" {
			t.Errorf("%q for %q", got.Text, got.Claims.Sub)
		}
		if h := p.header; p.path != "/send/anna" || h.Get("TTL") != "86400" || h.Get("Content-Encoding") != "aes128gcm" || len(h.Get("Topic")) != 32 || len(p.body) > 4096 {
			t.Errorf("%s %v, %d bytes", p.path, h, len(p.body))
		}
		s.stop()
	}
}

// TestThePageSubscribesItsBrowserAndItsWorkerNotifies has Chromium run the page and its
// worker. The subscription is made up: a real one needs the browser maker's service.
func TestThePageSubscribesItsBrowserAndItsWorkerNotifies(t *testing.T) {
	service := newPushService(t)
	s := start(t, pushing(t, service))
	chrome := browsertest.Start(t)
	p := s.page(chrome, "/c/family", desk)
	p.Eval(`Notification.requestPermission = () => Promise.resolve("granted");
		PushManager.prototype.getSubscription = () => Promise.resolve(null);
		PushManager.prototype.subscribe = function (options) { window.asked = options; return Promise.resolve({ toJSON: () => (`+newBrowser(service.URL+"/tab").json()+`) }); };`, nil)
	p.Eval(`document.getElementById("notify").click()`, nil)
	p.Wait(`document.getElementById("notify").getAttribute("aria-pressed") === "true"`)
	var options struct {
		Visible bool
		Key     int
	}
	p.Eval(`({ Visible: asked.userVisibleOnly, Key: asked.applicationServerKey.length })`, &options)
	if n := web.Subscriptions(s.Web); n != 1 || !options.Visible || options.Key != 65 {
		t.Errorf("%d browsers, asked with %+v", n, options)
	}
	var active string
	p.Eval(`navigator.serviceWorker.ready.then((r) => r.active.scriptURL + " " + r.scope)`, &active)
	if want := s.at("/assets/worker.js") + " " + s.at("/"); active != want {
		t.Errorf("the worker is %s, want %s", active, want)
	}
}
