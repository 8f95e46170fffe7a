//go:build e2e

package bench

import (
	"fmt"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
)

// crowd is how many requests a group has in its queue while its neighbour is measured.
const crowd = 50_000

// BenchmarkNeighbour is the time from the rename of a request to the message's event on the page,
// while the backlog of another group drains, beside the same while nothing else goes on. The host
// is a process of its own.
func BenchmarkNeighbour(b *testing.B) {
	var beside, alone times
	for b.Loop() {
		s := stage.NewPageSite(b, b.TempDir(), 2)
		crowded, n := s.Folders[1], 0
		once := func(shown <-chan time.Time) time.Duration {
			n++
			<-time.After(5 * time.Millisecond)
			start := time.Now()
			s.Put(s.Folders[0], n)
			return (<-shown).Sub(start)
		}
		host, url := s.ServeOnPage()
		for shown := events(s, url); n < 200; {
			alone = append(alone, once(shown))
		}
		s.Kill(host)
		for i := range crowd {
			s.Put(crowded, i)
		}
		synced(s)
		for shown, ended := events(s, servePage(s)), false; !ended; {
			beside = append(beside, once(shown))
			r, err := s.Client(crowded).Status(fmt.Sprintf("%08d", crowd-1))
			ended = err == nil && r.Status.Final()
		}
		b.Log("on", volume(s))
	}
	report(b, beside, alone)
}
