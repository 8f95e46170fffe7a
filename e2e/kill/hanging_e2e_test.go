//go:build e2e

package kill

import (
	"fmt"
	"slices"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
	"github.com/longshore-bridge/longshore/ipc"
)

// Of three channels of one host one takes requests and answers none: the others deliver
// as if it were not there, and in the end it has everything once and in order.
func TestAChannelThatHangsKeepsTheOthersOfItsHostGoing(t *testing.T) {
	s := newSoak(t, 1, false)
	answer := make(chan struct{})
	var hung []telegramtest.Fault
	for range soakGroups {
		hung = append(hung, telegramtest.Fault{Before: func() {
			select {
			case <-answer:
			case <-t.Context().Done():
			}
		}})
	}
	s.tg.Next("sendMessage", hung...)
	s.start()
	t.Cleanup(s.end)
	const each = 5
	for n := range each {
		for _, g := range s.groups {
			text := fmt.Sprintf("%s %d", g.folder, n)
			id, err := s.client(g).Enqueue(t.Context(), ipc.Request{Type: ipc.TypeMessage, Text: text})
			if err != nil {
				t.Fatal(err)
			}
			g.asked = append(g.asked, soakAsk{id: id, parts: []string{stage.Digest([]byte(text))}})
		}
	}
	hangs := func(g *soakGroup) bool { return g.channel == "telegram" }
	s.allEnded(t, slices.DeleteFunc(slices.Clone(s.groups), hangs))
	for _, g := range s.groups {
		if !hangs(g) {
			continue
		}
		for i := range g.asked {
			if r, err := s.client(g).Status(g.asked[i].id); err == nil && r.Status.Final() {
				t.Errorf("%s: request %d has an end on a channel that hangs: %+v", g.folder, i, r)
			}
		}
	}
	close(answer)
	s.allEnded(t, s.groups)
	var sums soakSums
	page := s.page()
	for _, g := range s.groups {
		for _, fault := range sums.add(g, s.shown(g, page)) {
			t.Error(fault)
		}
	}
	if sums.sent != each*soakGroups {
		t.Errorf("%d were sent, %d uncertain", sums.sent, sums.uncertain)
	}
	s.stop()
}
