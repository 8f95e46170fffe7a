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
// is a process of its own. The queue is filled while the host runs, faster than it drains.
func BenchmarkNeighbour(b *testing.B) {
	s := stage.NewPageSite(b, b.TempDir(), 2)
	crowded := s.Folders[1]
	shown := events(s, servePage(s))
	n := 0
	once := func() time.Duration {
		n++
		<-time.After(unchanging / 10)
		start := time.Now()
		s.Put(s.Folders[0], n)
		return (<-shown).Sub(start)
	}
	var beside, alone times
	for b.Loop() {
		for range 200 {
			alone = append(alone, once())
		}
		filled := make(chan int)
		go func() {
			first := n * 2 * crowd
			for i := range crowd {
				s.Put(crowded, first+i)
			}
			filled <- first + crowd - 1
		}()
		last := -1
		for ended := false; !ended; {
			select {
			case last = <-filled:
			default:
			}
			beside = append(beside, once())
			if last >= 0 {
				r, err := s.Client(crowded).Status(fmt.Sprintf("%08d", last))
				ended = err == nil && r.Status.Final()
			}
		}
	}
	b.Log("on", volume(s))
	report(b, beside, alone)
}
