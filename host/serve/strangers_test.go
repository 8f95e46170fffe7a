package serve

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/operator"
)

// Anybody may take a bot into any number of chats.
func TestTheChatsWithoutAGroupAreBounded(t *testing.T) {
	var s strangers
	now := time.Now()
	for i := range 3 * maxStrangers {
		s.hear("phone", channel.UnknownChat{Chat: groups.JID(fmt.Sprint("c", i)), Time: now.Add(time.Duration(i) * time.Second)})
	}
	all := s.list()
	if len(all) != maxStrangers || all[0].Chat != fmt.Sprint("c", 3*maxStrangers-1) {
		t.Errorf("%d are remembered, the last is %+v", len(all), all[0])
	}
	s.forget(func(_, chat string) bool { return chat == all[0].Chat })
	if left := s.list(); len(left) != maxStrangers-1 || left[0] != all[1] {
		t.Errorf("after one got a group: %d, %+v", len(left), left[0])
	}
}

// On an account that is a person's own, what the person's other groups write is no
// business of the operator's.
func TestOnAPersonsAccountOnlyATriggerCounts(t *testing.T) {
	s := strangers{trigger: func(_, text string) bool { return strings.Contains(text, "@Andy") }}
	s.hear("whatsapp", channel.UnknownChat{Chat: "family", Text: "dinner at eight", Time: time.Now()})
	s.hear("whatsapp", channel.UnknownChat{Chat: "work", Text: "@Andy, the report", Time: time.Now()})
	s.hear("whatsapp", channel.UnknownChat{Chat: "work", Text: "@Andy?", Time: time.Now()})
	if all := s.list(); len(all) != 1 || all[0].Chat != "work" || all[0].Messages != 2 {
		t.Errorf("%+v", all)
	}
}

// A network file system hangs: status answers nevertheless, with what was known.
func TestADirectoryThatHangsHoldsUpNoStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c goneCheck
		hang := make(chan struct{})
		began := time.Now()
		for range 3 {
			if all := c.now(func() []operator.MissingMount { <-hang; return []operator.MissingMount{{Group: "a"}} }); all != nil {
				t.Errorf("%+v", all)
			}
		}
		if took := time.Since(began); took > 3*goneWait {
			t.Errorf("it took %v", took)
		}
		close(hang)
		if all := c.now(func() []operator.MissingMount { return []operator.MissingMount{{Group: "a"}} }); len(all) != 1 {
			t.Errorf("%+v", all)
		}
	})
}
