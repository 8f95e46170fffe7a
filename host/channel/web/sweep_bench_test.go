package web_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
)

// BenchmarkPutWhileHistoryExpires commits one small row after another while 100,000
// messages of 1 KiB in ten chats expire. "alone" is the same with nothing to expire.
func BenchmarkPutWhileHistoryExpires(b *testing.B) {
	for name, rows := range map[string]int{"alone": 0, "expiring": 100_000} {
		b.Run(name, func(b *testing.B) { benchmarkPut(b, rows) })
	}
}

func benchmarkPut(b *testing.B, rows int) {
	o := options(b.TempDir()).opens(b)
	o.Keep = time.Hour
	for begin := 0; begin < rows; begin += 1000 { // in one commit, the log would grow large
		if _, err := o.State.Exec(b.Context(), strings.Replace(fill, "'id' || i", "'id' || (i + ?3)", 1), 1000, fmt.Sprint("chat", begin/1000%10), begin); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := o.State.Exec(b.Context(), "UPDATE page_message SET text = ?", strings.Repeat("x", 1000)); err != nil {
		b.Fatal(err)
	}
	w, err := opened(o)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx, newInbox()) }()
	var took []time.Duration
	began := time.Now()
	for left := 1; left > 0 && (rows > 0 || len(took) < 2000); {
		at := time.Now()
		if err := o.State.Do(b.Context(), func(t *state.Tx) error {
			err := t.Exec(`INSERT INTO page_push_key (channel, key) VALUES ('bench', ?1) ON CONFLICT (channel) DO UPDATE SET key = ?1`, len(took))
			return err
		}, nil); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(at))
		if rows > 0 && len(took)%100 == 0 {
			if err := o.State.QueryRow("SELECT COUNT(*) FROM (SELECT 1 FROM page_message LIMIT 1) AS some").Scan(&left); err != nil {
				b.Fatal(err)
			}
		}
	}
	all := time.Since(began)
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	b.ReportMetric(ms(took[len(took)/2]), "ms-p50")
	b.ReportMetric(ms(took[len(took)*99/100]), "ms-p99")
	b.ReportMetric(ms(took[len(took)-1]), "ms-max")
	b.ReportMetric(all.Seconds(), "s")
}
