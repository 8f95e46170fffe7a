package serve

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/live"
)

func registry(t *testing.T, all ...groups.Group) *groups.Registry {
	t.Helper()
	r, err := groups.NewRegistry(all)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Anybody may take a bot into any number of chats.
func TestTheChatsWithoutAGroupAreBounded(t *testing.T) {
	var s unknownChats
	began := time.Now()
	for i := range 3 * maxUnknownChats {
		s.add("phone", channel.UnknownChat{Chat: groups.JID(fmt.Sprint("phone:c", i)), Time: began.Add(time.Duration(i) * time.Second)})
	}
	all := s.list(registry(t))
	if len(all) != maxUnknownChats || all[0].Chat != fmt.Sprint("phone:c", 3*maxUnknownChats-1) {
		t.Errorf("%d are remembered, the last is %+v", len(all), all[0])
	}
	now := registry(t, groups.Group{Folder: "new", Channel: "phone", Chat: groups.JID(all[0].Chat)})
	if left := s.list(now); len(left) != maxUnknownChats-1 || left[0] != all[1] {
		t.Errorf("after one got a group: %d, %+v", len(left), left[0])
	}
}

// On an account that is a person's own, what the person's other groups write is no
// business of the operator's.
func TestOnAPersonsAccountOnlyATriggerCounts(t *testing.T) {
	now := new(live.Current)
	now.Set(&live.Live{Registry: registry(t,
		groups.Group{Folder: "ops", Channel: "whatsapp", Chat: "phone:ops", Trigger: "@andy"},
		groups.Group{Folder: "all", Channel: "whatsapp", Chat: "phone:all"},
		groups.Group{Folder: "far", Channel: "phone", Chat: "phone:far", Trigger: "dinner"},
	)})
	d := newPairing(nil, now, slog.New(slog.DiscardHandler))
	for _, k := range []channel.UnknownChat{{Chat: "family", Text: "dinner at eight"}, {Chat: "work", Text: "@Andy, the report"}, {Chat: "work", Text: "@Andy?"}} {
		k.Shared, k.Time = true, time.Now()
		d.report("whatsapp", k)
	}
	if all := d.unknown.list(now.Registry()); len(all) != 1 || all[0].Chat != "work" || all[0].Messages != 2 {
		t.Errorf("%+v", all)
	}
}
