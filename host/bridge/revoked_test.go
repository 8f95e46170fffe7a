package bridge_test

import (
	"path/filepath"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
)

// A reload took main's rights while its file was being copied, and the file still
// went to another group's chat; that of a moved group went to its former one.
func TestRightsThatEndDuringACopyAreGone(t *testing.T) {
	s := newSite(t)
	had := s.set.registry
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
		o := s.opts
		s.set.registry = had
		o.Trace = func(_, _, step string) {
			if step == "copied" {
				s.set.registry = revoked
			}
		}
		s.Bridge = bridge.New(o)
		r := file(s.write(folder, "a.txt", "for you"))
		r.Chat = chat
		if v := s.handle(folder, r)[0]; v.Refusal == nil || v.Refusal.Code != groups.CodeChatNotAllowed {
			t.Errorf("%s: fate %+v", folder, v)
		}
	}
	s.Bridge, s.set.registry = bridge.New(s.opts), had
	if v := s.handle("ops", ipc.Request{Type: ipc.TypeMessage, Chat: "mem:work", Text: "x"})[0]; !v.Accepted {
		t.Errorf("while main has its rights: %+v", v)
	}
	all, err := s.outbox.List(t.Context(), records.Filter{})
	if err != nil || len(all) > 1 {
		t.Errorf("the outbox has %+v, %v", all, err)
	}
	if left, err := filepath.Glob(filepath.Join(s.layout.Own(), "blobs", "[0-9a-f]*")); err != nil || len(left) != 0 {
		t.Errorf("bytes of refused requests are left: %v, %v", left, err)
	}
}

// A group may send to one other chat. It may not read there, and a reload that removes
// the right holds for a file that is being copied.
func TestAGroupSendsToTheChatsThatItsListNamesAndReadsNone(t *testing.T) {
	s := newSite(t)
	had := s.set.registry
	all := had.All()
	for i := range all {
		if all[i].Folder == "family" {
			all[i].MaySendTo = []string{"work", "board"}
		}
	}
	registry, err := groups.NewRegistry(all)
	check(t, err)
	registry, err = registry.WithDestinations(map[string]groups.Destination{"board": {Chat: "mem:board", Channel: "memory"}})
	check(t, err)
	o := s.opts
	s.set.registry = registry
	o.Answers = &answers{do: func(bridge.Call) (any, error) { return struct{}{}, nil }}
	s.Bridge = bridge.New(o)
	to := func(r ipc.Request, chat string) ipc.Request { r.Chat = chat; return r }
	path := s.write("family", "a.txt", "for you")
	if v := s.handle("family", to(file(path), "mem:work"))[0]; !v.Accepted {
		t.Errorf("a file for a chat of the list: %+v", v)
	}
	if v := s.handle("family", to(ipc.Request{Type: ipc.TypeMessage, Text: "words"}, "board"))[0]; !v.Accepted {
		t.Errorf("a text for a destination: %+v", v)
	}
	refused := map[string]fate{
		"a destination of others":        s.handle("work", to(file("/workspace/group/a.txt"), "mem:board"))[0],
		"a chat that is not of the list": s.handle("family", to(file(path), "mem:ops"))[0],
		"the way back":                   s.handle("work", to(file(s.write("work", "a.txt", "b")), "mem:family"))[0],
		"a look into a chat of the list": s.handle("family", to(listTasks, "mem:work"))[0],
	}
	o.Trace = func(_, _, step string) {
		if step == "copied" {
			s.set.registry = had
		}
	}
	s.Bridge = bridge.New(o)
	refused["the right ends during the copy"] = s.handle("family", to(file(path), "mem:work"))[0]
	for what, v := range refused {
		if v.Refusal == nil || v.Refusal.Code != groups.CodeChatNotAllowed || v.Refusal.Hint == "" {
			t.Errorf("%s: fate %+v", what, v)
		}
	}
	if seen := s.shown("mem:board", 1); len(seen) != 1 || seen[0].Text != "words" {
		t.Errorf("the destination sees %+v", seen)
	}
	if seen := s.shown("mem:work", 1); len(seen) != 1 || seen[0].File.SHA256 != sum("for you") {
		t.Errorf("the chat sees %+v", seen)
	}
}

// An action that a reload took away while its request was under way was done all the same.
func TestAnActionThatEndsWhileItsRequestIsUnderWayIsGone(t *testing.T) {
	s := acting(t, channel.Forever)
	s.handle("family", ipc.Request{Type: ipc.TypeMessage, Text: "words"})
	requests := actionsOn("mem:family", s.shown("mem:family", 1)[0].ID)
	had := s.set.registry
	all := bridge.Can(s.opts.Channels[0], groups.Group{})
	for _, action := range all {
		s.allow(func(g *groups.Group) { g.Actions = allowing(all, action) })
		after, o := s.set.registry, s.opts
		s.set.registry = had
		o.Trace = func(_, _, step string) {
			if step == "authorized" {
				s.set.registry = after
			}
		}
		s.Bridge = bridge.New(o)
		if v := s.handle("family", requests[action])[0]; v.Refusal == nil || v.Refusal.Code != "not_allowed" {
			t.Errorf("%s: %+v", action, v)
		}
	}
}
