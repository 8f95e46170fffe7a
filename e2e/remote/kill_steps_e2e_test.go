//go:build e2e

package remote

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
)

// killStep is a moment of a send over HTTP at which something is killed.
type killStep struct {
	victim       string
	method, path string // of the call that is waited for
	after        bool   // the host has answered it; otherwise it has not heard of it
	size         int    // of the file; 0: 512 KiB, whose upload may be resumed
	n            int    // tells random steps apart
}

func (s killStep) String() string {
	name := fmt.Sprintf("%s %s after %t", s.victim, s.method, s.after)
	if s.n > 0 {
		name = fmt.Sprintf("%d %s, %d bytes", s.n, name, s.size)
	}
	return name
}

// content is that of the step's file, which no other has.
func (s killStep) content(name string) string {
	size := s.size
	if size == 0 {
		size = 512 << 10
	}
	line := fmt.Sprintf("%064x", sha256.Sum256([]byte(s.String()+name)))
	return strings.Repeat(line, size/len(line)+1)[:size]
}

// stepsToKillAt returns the chosen steps; with LONGSHORE_TEST_KILLS a twentieth as many, drawn
// from these and from more at random, with files of random sizes. LONGSHORE_TEST_SEED
// repeats a run.
func stepsToKillAt(t *testing.T, chosen []killStep, more ...killStep) []killStep {
	t.Helper()
	kills, err := strconv.Atoi(os.Getenv(stage.KillsEnv))
	if err != nil {
		return chosen
	}
	seed, err := strconv.ParseUint(os.Getenv("LONGSHORE_TEST_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	chosen = append(chosen, more...)
	steps := make([]killStep, max(1, kills/20))
	t.Logf("%d kills at random, LONGSHORE_TEST_SEED=%d", len(steps), seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for i := range steps {
		steps[i] = chosen[random.IntN(len(chosen))]
		steps[i].n, steps[i].size = i+1, 1+random.IntN(1<<(10+random.IntN(13)))
		if steps[i].method == "HEAD" { // is asked of a file that may be resumed alone
			steps[i].size += 256 << 10
		}
	}
	return steps
}
