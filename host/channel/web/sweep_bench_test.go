package web_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
)

// BenchmarkPutWhileHistoryExpires commits one small row after another while 100,000
// messages of 1 KiB in ten chats expire, beside the same before they begin to.
// over-20ms is how many of these commits took so long. floor-over-20ms is what it would be at
// the rate of before: what other work and the disk alone delay.
func BenchmarkPutWhileHistoryExpires(b *testing.B) {
	const rows, alone = 100_000, 2000
	o := options(b.TempDir()).opens(b)
	o.Keep = time.Hour
	text := fmt.Sprintf("0, '%1000s'", "x")
	insert := strings.NewReplacer("'id' || i", "'id' || (i + ?3)", "0, 'x'", text).Replace(fill)
	for begin := 0; begin < rows; begin += 1000 { // in one commit, the log would grow large
		if _, err := o.State.Exec(b.Context(), insert, 1000, fmt.Sprint("chat", begin/1000%10), begin); err != nil {
			b.Fatal(err)
		}
	}
	var floor, took []time.Duration
	for range alone {
		floor = append(floor, putRow(b, o.State, len(floor)))
	}
	w, err := opened(o)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 2)
	go func() { ended <- w.Run(ctx, newInbox()) }()
	go func() { ended <- o.State.Run(ctx, slog.New(slog.DiscardHandler)) }()
	for left := 1; left > 0; {
		took = append(took, putRow(b, o.State, len(took)))
		if len(took)%100 == 0 {
			if err := o.State.QueryRow("SELECT COUNT(*) FROM (SELECT 1 FROM page_message LIMIT 1) AS some").Scan(&left); err != nil {
				b.Fatal(err)
			}
		}
	}
	cancel()
	if err := errors.Join(<-ended, <-ended); err != nil {
		b.Fatal(err)
	}
	long := func(all []time.Duration) float64 {
		return float64(len(slices.DeleteFunc(slices.Clone(all), func(d time.Duration) bool { return d <= 20*time.Millisecond })))
	}
	at := func(all []time.Duration, percent int) float64 {
		slices.Sort(all)
		return float64(all[len(all)*percent/100].Microseconds()) / 1000
	}
	b.ReportMetric(at(took, 50), "p50-ms")
	b.ReportMetric(at(took, 99), "p99-ms")
	b.ReportMetric(at(floor, 50), "floor-p50-ms")
	b.ReportMetric(at(floor, 99), "floor-ms")
	b.ReportMetric(at(took, 99)/at(floor, 99), "x-floor")
	b.ReportMetric(long(took), "over-20ms")
	b.ReportMetric(long(floor)*float64(len(took))/alone, "floor-over-20ms")
	b.ReportMetric(0, "ns/op")
}

// putRow commits a small row, and returns how long that took.
func putRow(b *testing.B, db *state.DB, n int) time.Duration {
	b.Helper()
	began := time.Now()
	if err := db.Do(b.Context(), func(t *state.Tx) error {
		return t.Exec(`INSERT INTO page_push_key (channel, key) VALUES ('bench', ?1) ON CONFLICT (channel) DO UPDATE SET key = ?1`, n)
	}, nil); err != nil {
		b.Fatal(err)
	}
	return time.Since(began)
}
