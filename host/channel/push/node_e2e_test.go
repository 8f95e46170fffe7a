//go:build e2e

package push_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/push"
	"github.com/longshore-bridge/longshore/host/channel/push/pushtest"
)

// What npm's standardwebhooks signs is taken, and what is signed here it takes.
func TestAgainstStandardWebhooksOfNPM(t *testing.T) {
	secret := pushtest.Secret()
	node := pushtest.NewNode(t, secret)
	w := newWorld(t, func(s *push.Settings) { *s = withSecret(*s, node.URL, secret) })
	in, _ := w.run(t)
	for _, m := range []channel.Message{text("Grüße & <b>good</b> morning 🚢"), withFiles("files", "one", strings.Repeat("two", 100_000))} {
		r, err := w.ch.Send(t.Context(), m)
		e := node.Next(t)
		if err != nil || r.ID != "node-"+m.ID[:8] || e.Event != "message" || e.Message.Text != m.Text || len(e.Files) != len(m.Files) {
			t.Errorf("%+v, %v; Node says %+v", r, err, e)
		}
		for i, f := range e.Message.Files {
			if f.SHA256 != e.Files[i] || f.Name != m.Files[i].Name {
				t.Errorf("file %d came as %+v", i, f)
			}
		}
	}
	for _, want := range []int{http.StatusAccepted, http.StatusConflict} {
		node.Post(t, w.listens(t), "msg_1", hello())
		if e := node.Next(t); e.Status != want {
			t.Errorf("the reply was answered with %+v, want %d", e, want)
		}
	}
	if got := in.Wait(t, 1); len(got) != 1 || got[0].Text != "hello" {
		t.Errorf("came in: %+v", got)
	}
	stranger := newWorld(t, func(s *push.Settings) { *s = withSecret(*s, node.URL, pushtest.Secret()) })
	stranger.run(t)
	if _, err := stranger.ch.Send(t.Context(), text("forged")); channel.ClassOf(err) != channel.Held {
		t.Errorf("signed with another secret: %v", err)
	}
	if e := node.Next(t); e.Event != "refused" {
		t.Error(fmt.Sprint("Node says ", e))
	}
}
