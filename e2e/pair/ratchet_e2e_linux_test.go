//go:build e2e

package pair

import (
	"bytes"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"go.mau.fi/whatsmeow/types/events"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/internal/pgtest"
	"github.com/longshore-bridge/longshore/ipc"
)

// writes are the moments of a write of WhatsApp's keys, in a session of the library: before the server has the
// statement, and before its answer.
var writes = map[string]func() func(passing) bool{
	"before the database has it": func() func(passing) bool { return writesKeys },
	"before its answer": func() func(passing) bool {
		var mu sync.Mutex
		var conn net.Conn
		return func(one passing) bool {
			mu.Lock()
			defer mu.Unlock()
			if writesKeys(one) {
				conn = one.conn
			}
			return !one.up && one.conn == conn && bytes.Contains(one.bytes, []byte("INSERT 0 "))
		}
	},
}

// writesKeys reports whether a ratchet is written.
func writesKeys(one passing) bool {
	return one.up && (bytes.Contains(one.bytes, []byte("INSERT INTO whatsmeow_sender_keys")) || bytes.Contains(one.bytes, []byte("INSERT INTO whatsmeow_sessions")))
}

// An owner is frozen while it writes a ratchet of WhatsApp's. Once the other one owns, nothing may come from the
// frozen one, and members must be able to read all. Two owners that advance one ratchet would send unreadable messages.
func TestAnOwnerFrozenInAWriteOfARatchetSendsNothing(t *testing.T) {
	for name, moment := range writes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			harbour := stage.NewHarbour(t)
			p := newPairOn(t, pgtest.Start(t), nil, 5*lease)
			p.channels, p.groups = ", whatsapp: {}", fmt.Sprintf(", {folder: crew, chat: %q}", harbour.Group)
			for _, h := range p.hosts {
				h.env = harbour.Env()
				h.write(p)
			}
			p.alone()
			harbour.Dir = p.hosts[0].dir
			harbour.Link()
			token := p.newToken("crew")
			p.hosts[1].start()
			owner, _ := p.settled()
			frozen := make(chan struct{})
			child := owner.child()
			owner.way.when(moment(), func() {
				_ = syscall.Kill(child, syscall.SIGSTOP)
				close(frozen)
			})
			const texts = 3
			for n := range texts {
				p.sendTo(token, n)
				if n == 0 {
					select {
					case <-frozen:
					default:
						t.Fatal("no ratchet was written for the first text")
					}
				}
			}
			if !gone(child) {
				t.Error("the frozen owner lives")
			}
			stage.Await(t, "Anna to see all", func() bool { return len(readBy(harbour)) >= texts })
			for n, text := range readBy(harbour) {
				if text != strconv.Itoa(n) {
					t.Errorf("Anna sees %q", readBy(harbour))
				}
			}
			for _, r := range harbour.Srv.Relayed(harbour.Group) {
				if r.Retries > 0 {
					t.Errorf("Anna could not read a text at first: %+v", r)
				}
			}
		})
	}
}

// sendTo has a text sent to a group, by whichever host owns.
func (p *pair) sendTo(token string, n int) {
	p.Helper()
	var last ipc.Result
	stage.Await(p, fmt.Sprintf("text %d to be sent", n), func() bool {
		for _, h := range p.hosts {
			if r := h.ask(token, fmt.Sprintf("crew-%d", n), "2s", fmt.Sprintf(`{"type":"message","text":"%d"}`, n)); r.Status != "" {
				last = r
			}
		}
		return last.Status == ipc.Sent || last.Status.Final()
	})
	if last.Status != ipc.Sent && last.Status != ipc.Delivered && last.Status != ipc.Read {
		p.Errorf("text %d ended as %+v", n, last)
	}
}

// readBy are the texts that Anna sees, each id once, as her app shows them.
func readBy(h *stage.Harbour) (all []string) {
	seen := map[string]bool{}
	for _, m := range h.Anna.Messages() {
		if text := textOf(m); text != "" && !seen[m.Info.ID] {
			seen[m.Info.ID], all = true, append(all, text)
		}
	}
	return all
}

func textOf(m *events.Message) string {
	if m.Message.GetConversation() != "" {
		return m.Message.GetConversation()
	}
	return m.Message.GetExtendedTextMessage().GetText()
}
