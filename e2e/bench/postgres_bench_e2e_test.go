//go:build e2e

package bench

import (
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/pgtest"
)

// BenchmarkPutOnPostgreSQL records deliveries by one caller and by 64 at once, in turns on SQLite and
// on a PostgreSQL of this machine that syncs its log.
func BenchmarkPutOnPostgreSQL(b *testing.B) {
	server := pgtest.Start(b, "fsync=on")
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			server.Psql("postgres", fmt.Sprintf("CREATE DATABASE put%d_%d", callers, b.N))
			local := newPuts(b, "")
			other := newPuts(b, server.File(fmt.Sprintf("put%d_%d", callers, b.N)))
			for b.Loop() && !b.Failed() {
				for range 8 {
					local.round(b, callers)
					other.round(b, callers)
				}
			}
			b.ReportMetric(other.each()/1e3, "µs/each")
			b.ReportMetric(local.each()/1e3, "sqlite-µs/each")
			b.ReportMetric(other.took.p50()/local.took.p50(), "x-sqlite")
			b.ReportMetric(other.cpuEach(), "cpu-µs/each")
			b.ReportMetric(local.cpuEach(), "sqlite-cpu-µs/each")
			b.ReportMetric(other.cpuEach()/local.cpuEach(), "cpu-x-sqlite")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// puts is an outbox, and how long its rounds took.
type puts struct {
	o    *outbox.Outbox
	n    int
	took times
	sum  time.Duration
	cpu  time.Duration // of this process
}

func newPuts(b *testing.B, file string) *puts {
	b.Helper()
	spec := state.Spec(b.TempDir(), store.Home{})
	spec.Server.File = file
	db, err := state.Open(b.Context(), spec, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	o, err := outbox.Open(b.Context(), outbox.Options{State: db})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		o.Close()
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	return &puts{o: o}
}

// round has each caller put one text.
func (p *puts) round(b *testing.B, callers int) {
	began, used := time.Now(), processorTime(b)
	var all sync.WaitGroup
	for range callers {
		p.n++
		key := fmt.Sprintf("%032x", p.n)
		chat := groups.JID(fmt.Sprint("mem:g", p.n%100))
		all.Go(func() {
			d := records.Delivery{Key: key, Request: key, Folder: "g", Channel: "mem", Chat: chat, Created: began, Parts: []records.Part{{MessageID: key, Text: "a message of some sixty bytes, which is what assistants write", State: records.Queued}}}
			if err := p.o.Put(b.Context(), []records.Delivery{d}); err != nil {
				b.Error(err)
			}
		})
	}
	all.Wait()
	p.took, p.sum, p.cpu = append(p.took, time.Since(began)), p.sum+time.Since(began), p.cpu+processorTime(b)-used
}

func (p *puts) each() float64    { return float64(p.sum) / float64(p.n) }
func (p *puts) cpuEach() float64 { return float64(p.cpu.Microseconds()) / float64(p.n) }
