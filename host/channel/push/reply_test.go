package push_test

import (
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/push"
	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
	"github.com/longshore-bridge/longshore/host/setting"
)

// A reply that somebody has recorded comes once more, also after a restart.
func TestAReplayedReplyIsRefused(t *testing.T) {
	w := newWorld(t)
	in, stop := w.run(t)
	at := time.Now()
	answers(t, "the first", w.reply(t, "msg_1", at, hello()), http.StatusAccepted, "")
	answers(t, "once more", w.reply(t, "msg_1", at, hello()), http.StatusConflict, "seen_before")
	in.Wait(t, 1)
	stop()
	in, _ = w.made(t).run(t)
	answers(t, "after a restart", w.reply(t, "msg_1", at, hello()), http.StatusConflict, "seen_before")
	answers(t, "another", w.reply(t, "msg_2", at, hello()), http.StatusAccepted, "")
	if got := in.Wait(t, 1); len(got) != 1 {
		t.Errorf("%d came in after the restart, want 1", len(got))
	}
}

func TestOfOneReplyAtOnceOneIsTaken(t *testing.T) {
	w := newWorld(t)
	w.run(t)
	var taken sync.Map
	var all sync.WaitGroup
	for i := range 8 {
		req := w.reply(t, "msg_1", time.Now(), hello())
		all.Go(func() {
			if status, _, err := pushtest.Do(req); err == nil && status == http.StatusAccepted {
				taken.Store(i, true)
			}
		})
	}
	all.Wait()
	n := 0
	taken.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d were taken", n)
	}
}

func TestAReplyThatIsNoneIsRefused(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	now := time.Now()
	with := func(change func(*pushtest.Reply)) *http.Request {
		r := hello()
		change(&r)
		return w.reply(t, pushtest.NewID(), now, r)
	}
	forged := w.reply(t, "msg_3", now, hello())
	forged.Header.Set("webhook-signature", "v1,Zm9yZ2Vk")
	get := w.reply(t, "msg_4", now, nil)
	get.Method, get.Body, get.ContentLength = http.MethodGet, nil, 0
	browser := w.reply(t, "msg_5", now, hello())
	browser.Header.Set("Origin", "https://evil.example")
	rebound := w.reply(t, "msg_6", now, hello())
	rebound.Host = "evil.example"
	header := w.reply(t, "msg_7", now, hello())
	header.Header.Set("X-Long", strings.Repeat("x", 64<<10))
	for what, tt := range map[string]struct {
		req    *http.Request
		status int
		code   string
	}{
		"older than five minutes":  {w.reply(t, "msg_1", now.Add(-5*time.Minute-10*time.Second), hello()), 401, "bad_signature"},
		"from the future":          {w.reply(t, "msg_2", now.Add(5*time.Minute+10*time.Second), hello()), 401, "bad_signature"},
		"forged":                   {forged, 401, "bad_signature"},
		"not posted":               {get, 405, "bad_method"},
		"from another site":        {browser, 403, "cross_site"},
		"by a rebound name":        {rebound, 421, "unknown_host"},
		"with a huge header":       {header, 431, ""},
		"with a huge body":         {with(func(r *pushtest.Reply) { r.Text = strings.Repeat("x", 300<<10) }), 413, "body_too_large"},
		"with unknown keys":        {w.reply(t, "msg_8", now, map[string]string{"type": "message", "chat": "push:desk", "id": "1", "admin": "yes"}), 400, "bad_json"},
		"that is a list":           {w.reply(t, "msg_9", now, []string{"message"}), 400, "bad_json"},
		"without an id":            {with(func(r *pushtest.Reply) { r.ID = "" }), 400, "bad_json"},
		"with an id that is long":  {with(func(r *pushtest.Reply) { r.ID = strings.Repeat("x", 257) }), 400, "bad_json"},
		"with an id of two lines":  {with(func(r *pushtest.Reply) { r.Sender = "a\nb" }), 400, "bad_json"},
		"of another kind":          {with(func(r *pushtest.Reply) { r.Type = "payment" }), 400, "bad_json"},
		"for another channel":      {with(func(r *pushtest.Reply) { r.Chat = "web:family" }), 400, "bad_json"},
		"for nobody's chat":        {with(func(r *pushtest.Reply) { r.Chat = string(nobody) }), 404, "unknown_chat"},
		"for a path":               {with(func(r *pushtest.Reply) { r.Chat = "push:../x" }), 400, "bad_json"},
		"with too many files":      {with(func(r *pushtest.Reply) { r.Files = make([]pushtest.ReplyFile, 11) }), 400, "bad_json"},
		"with a file that is none": {with(func(r *pushtest.Reply) { r.Files = make([]pushtest.ReplyFile, 1) }), 400, "bad_json"},
	} {
		answers(t, what, tt.req, tt.status, tt.code)
	}
	answers(t, "after all of them", w.reply(t, "msg_10", now, hello()), http.StatusAccepted, "")
	if got := in.Wait(t, 1); len(got) != 1 {
		t.Errorf("%d came in, want 1", len(got))
	}
}

// A group that is added while the channel runs is heard at once.
func TestAGroupIsHeardWithoutARestart(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	r := hello()
	r.Chat = string(nobody)
	answers(t, "before", w.reply(t, "msg_1", time.Now(), r), http.StatusNotFound, "unknown_chat")
	setup := w.setup
	setup.Chats = []channel.NamedChat{{JID: nobody, Name: "Nobody"}}
	w.ch.(channel.Applier).Apply(setup)
	answers(t, "then", w.reply(t, "msg_1", time.Now(), r), http.StatusAccepted, "")
	if got := in.Wait(t, 1); got[0].Chat != nobody {
		t.Errorf("came in: %+v", got)
	}
}

func TestAReplySaysWhatAMemberWrote(t *testing.T) {
	w := newWorld(t)
	in, _ := w.run(t)
	r := hello()
	r.Thread, r.Direct = "t-1", true
	r.Quote = &pushtest.Quote{ID: "R000001", From: "the assistant\u202e", Text: "what we wrote"}
	if err := w.Post(t.Context(), w.listens(t), r); err != nil {
		t.Fatal(err)
	}
	got := in.Wait(t, 1)[0]
	if time.Since(got.Time).Abs() > time.Minute {
		t.Errorf("it came at %v", got.Time)
	}
	got.Time = time.Time{}
	want := channel.Inbound{
		ID: "m-1", Chat: desk, Thread: "t-1", From: "Ada", Sender: "u-1", Text: "hello", Direct: true,
		Quote: &channel.Quote{ID: "R000001", From: "the assistant", Text: "what we wrote", Unverified: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// While the secret is replaced, the receiver still signs with the old one.
func TestTheOldSecretIsTakenWhileItIsReplaced(t *testing.T) {
	w := newWorld(t)
	set := w.setup.Settings.(*push.Settings)
	old := set.Secret.Reveal()
	set.Secret = setting.NewSecret(pushtest.Secret() + " " + old)
	in, _ := w.made(t).run(t)
	if err := w.Post(t.Context(), w.listens(t), hello()); err != nil {
		t.Fatal(err)
	}
	in.Wait(t, 1)
	if _, err := w.ch.Send(t.Context(), text("signed with the new one")); channel.ClassOf(err) != channel.Held {
		t.Errorf("the receiver, which has the old secret alone: %v", err)
	}
}

// A member's file may lie where the operator allows, and nowhere else, also
// behind a redirect.
func TestAFileIsFetchedOnlyFromWhereItMayLie(t *testing.T) {
	inside := http.NewServeMux()
	w := newWorld(t)
	secret := pushtest.New(t, pushtest.Secret())
	private := secret.Keep("keys", []byte("private keys"))
	inside.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, private, http.StatusFound) })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: inside}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { srv.Close() })
	set := w.setup.Settings.(*push.Settings)
	set.FilesFrom = append(set.FilesFrom, "http://"+l.Addr().String(), "cdn.example", ".files.example")
	set.MaxFile = 1000
	in, _ := w.made(t).run(t)

	good := map[string]string{w.Keep("photo", []byte("a photo")): "a photo", w.Keep("whole", make([]byte, 1000)): string(make([]byte, 1000))}
	bad := map[string]string{}
	for _, address := range []string{
		"http://169.254.169.254/latest/meta-data/", "https://169.254.169.254/", private, "http://" + l.Addr().String() + "/redirect",
		w.Keep("large", make([]byte, 1001)), w.Origin + "/files/gone", "file:///etc/passwd", "http://cdn.example/a", "https://evil.example/a",
		"https://cdn.example:8443/", "https://user@cdn.example/", strings.Replace(w.Origin, "http:", "https:", 1) + "/files/photo", "::", "https://files.example/",
	} {
		bad[address] = ""
	}
	n := 0
	all := maps.Clone(good)
	maps.Copy(all, bad)
	for address := range all {
		r := hello()
		r.Files = []pushtest.ReplyFile{{URL: address, Name: "a.txt", MIME: "text/plain", Size: 1}}
		if err := w.Post(t.Context(), w.listens(t), r); err != nil {
			t.Fatal(err)
		}
		n++
		f := in.Wait(t, n)[n-1].Files[0]
		body, err := w.ch.(channel.Fetcher).Fetch(t.Context(), channel.FileRef{Chat: desk, Ref: f.Ref})
		want, allowed := good[address]
		if !allowed {
			if channel.ClassOf(err) != channel.Permanent {
				t.Errorf("%s: %v, want a permanent error", address, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if got, err := io.ReadAll(body); string(got) != want || err != nil {
			t.Errorf("%s: %d bytes, %v", address, len(got), err)
		}
		body.Close()
	}
	for _, ref := range []string{"", "http://127.0.0.1/ 1 msg", w.Origin + "/files/photo", w.Origin + "/files/photo 7 msg_7"} {
		if _, err := w.ch.(channel.Fetcher).Fetch(t.Context(), channel.FileRef{Chat: desk, Ref: ref}); channel.ClassOf(err) != channel.Permanent {
			t.Errorf("%q, which no reply has brought: %v", ref, err)
		}
	}
}
