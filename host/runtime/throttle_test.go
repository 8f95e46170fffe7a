package runtime_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/runtime"
)

// TestPaceLetsAnAnswerThroughAndHoldsNoiseBack spends what a session's readers
// would.
func TestPaceLetsAnAnswerThroughAndHoldsNoiseBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		throttle := runtime.NewThrottle(t.Context())
		began := time.Now()
		took := func(what string, want time.Duration, bytes, each int) {
			t.Helper()
			from := time.Now()
			for ; bytes > 0; bytes -= each {
				throttle.Spend(each)
			}
			if got := time.Since(from).Round(10 * time.Millisecond); got != want {
				t.Errorf("%s took %s, want %s", what, got, want)
			}
		}
		took("the largest output", 0, runtime.MaxOutput, 32<<10)
		took("what the burst has left", 0, 6<<20, 32<<10)
		took("noise behind it", 2*time.Second, 16<<20, 32<<10)
		took("noise in crumbs", 500*time.Millisecond, 1024, 1)
		time.AfterFunc(time.Second, throttle.End)
		took("noise that an end cuts short", time.Second, 1<<30, 32<<10)
		if all := time.Since(began); all > 4*time.Second {
			t.Errorf("all took %s", all)
		}
	})
}
