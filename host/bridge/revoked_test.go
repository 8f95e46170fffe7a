package bridge_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
)

// A reload took main's rights while its file was being copied, and the file still
// went to another group's chat; that of a moved group went to its former one.
func TestRightsThatEndDuringACopyAreGone(t *testing.T) {
	s := newSite(t)
	had := s.opts.Registry()
	var after []groups.Group
	for _, g := range had.All() {
		g.Main = false
		if g.Folder == "family" {
			g.Chat = "mem:elsewhere"
		}
		after = append(after, g)
	}
	revoked, err := groups.NewRegistry(after)
	check(t, err)
	for _, c := range [][2]string{{"ops", "mem:work"}, {"family", ""}} {
		folder, chat := c[0], c[1]
		now, o := had, s.opts
		o.Registry = func() *groups.Registry { return now }
		o.Trace = func(_, _, step string) {
			if step == "copied" {
				now = revoked
			}
		}
		s.Bridge = bridge.New(o)
		r := file(s.write(folder, "a.txt", "for you"))
		r.Chat = chat
		if v := s.handle(folder, r)[0]; v.Refusal == nil || v.Refusal.Code != groups.CodeChatNotAllowed {
			t.Errorf("%s: fate %+v", folder, v)
		}
	}
	s.Bridge = bridge.New(s.opts)
	if v := s.handle("ops", ipc.Request{Type: ipc.TypeMessage, Chat: "mem:work", Text: "x"})[0]; !v.Accepted {
		t.Errorf("while main has its rights: %+v", v)
	}
	all, err := s.outbox.List(t.Context(), outbox.Filter{})
	if err != nil || len(all) > 1 {
		t.Errorf("the outbox has %+v, %v", all, err)
	}
	if left, err := os.ReadDir(filepath.Join(s.layout.Outbox(), "files")); err != nil || len(left) != 0 {
		t.Errorf("bytes of refused requests are left: %v, %v", left, err)
	}
}
