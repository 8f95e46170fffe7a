//go:build e2e

package outbox_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/groups"
)

// TestMain is also the host that the tests kill. Without the tag e2e it is another one.
func TestMain(m *testing.M) {
	if os.Getenv("OUTBOX_TEST_DIR") != "" {
		if err := host(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// platform is the other side: chats that members see, behind loopback HTTP. It
// outlives the hosts that are killed.
type platform struct {
	*httptest.Server
	dedupes bool // an id that comes again is not shown again

	mu    sync.Mutex
	shown map[string][]string // by chat, in order: the text, and the hash of the file's bytes
	ids   map[string]bool
	first map[string][]string // by chat, in order: the texts before any change
}

func newPlatform(t *testing.T, dedupes bool) *platform {
	p := &platform{dedupes: dedupes, shown: map[string][]string{}, ids: map[string]bool{}, first: map[string][]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /send", func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // cut off: nothing is shown
		}
		p.show(r.URL.Query(), body)
	})
	mux.HandleFunc("POST /change", func(w http.ResponseWriter, r *http.Request) {
		if !p.change(r.URL.Query()) {
			http.NotFound(w, r)
		}
	})
	mux.HandleFunc("GET /sent", func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.ids[r.URL.Query().Get("id")] {
			http.NotFound(w, r)
		}
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *platform) show(q url.Values, body []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if id := q.Get("id"); !p.dedupes || !p.ids[id] {
		p.ids[id] = true
		p.shown[q.Get("chat")] = append(p.shown[q.Get("chat")], q.Get("text")+" "+hashOf(body))
		p.first[q.Get("chat")] = append(p.first[q.Get("chat")], q.Get("text"))
	}
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// request is what the host finds in its spool: a text, then a file.
func request(i int) (name string, chat groups.JID, content string) {
	return fmt.Sprintf("%04d", i), groups.JID(fmt.Sprint("fake:", i%3)), strings.Repeat(fmt.Sprint("line ", i, "\n"), 500*(i%7)) // small and large ones
}

// violations says what members have to complain about, once every request of
// n should have been shown once.
func (p *platform) violations(n int) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	want := map[string][]string{}
	for i := range n {
		name, chat, content := request(i)
		want[string(chat)] = append(want[string(chat)], name+"a "+hashOf(nil), name+"b "+hashOf([]byte(content)))
	}
	var bad []string
	for chat, ws := range want {
		times := map[string]int{}
		for _, s := range p.shown[chat] {
			times[s]++
		}
		for _, w := range ws {
			switch {
			case times[w] == 0:
				bad = append(bad, "lost "+w)
			case times[w] > 1:
				bad = append(bad, "twice "+w)
			}
			delete(times, w)
		}
		for s := range times {
			bad = append(bad, "never asked for "+s)
		}
		if len(bad) == 0 && !slices.Equal(ws, p.shown[chat]) {
			bad = append(bad, "out of order in "+chat)
		}
	}
	return bad
}

// trial is one host's life, or several.
type trial struct {
	t      *testing.T
	p      *platform
	dir    string
	n      int
	mutant string
	steps  bool // the channel saves a ticket between two steps
	acts   bool // each request changes its messages afterwards
	waits  bool // each request waits for an approval, and gets it
}

func newTrial(t *testing.T, dedupes bool, n int, mutant string) *trial {
	t.Helper()
	tr := &trial{t: t, p: newPlatform(t, dedupes), dir: t.TempDir(), n: n, mutant: mutant}
	if err := os.Mkdir(filepath.Join(tr.dir, "spool"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		name, _, content := request(i)
		if err := os.WriteFile(filepath.Join(tr.dir, "spool", name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return tr
}

// live starts a host that dies where kill says ("step:3", at its third time
// there), or after the given time, or ends when all is done.
func (tr *trial) live(kill string, after time.Duration) (done bool) {
	tr.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "OUTBOX_TEST_DIR="+tr.dir, "OUTBOX_TEST_URL="+tr.p.URL, "OUTBOX_TEST_KILL="+kill,
		"GORACE=atexit_sleep_ms=0", "OUTBOX_TEST_MUTANT="+tr.mutant, fmt.Sprint("OUTBOX_TEST_ASKS=", !tr.p.dedupes),
		fmt.Sprint("OUTBOX_TEST_STEPS=", tr.steps), fmt.Sprint("OUTBOX_TEST_ACTS=", tr.acts), fmt.Sprint("OUTBOX_TEST_WAITS=", tr.waits))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		tr.t.Fatal(err)
	}
	if after > 0 {
		timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		defer timer.Stop()
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true
	case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		return false
	}
	tr.t.Fatalf("the host ended with %v\n%s", err, stderr.String())
	return false
}

func modes(t *testing.T, f func(t *testing.T, dedupes bool)) {
	t.Run("platform that dedupes", func(t *testing.T) { f(t, true) })
	t.Run("platform that can be asked", func(t *testing.T) { f(t, false) })
}

// TestKilledAtEachStep kills the host in every step of a request's way, early
// and late, and wants all shown once after the next start.
func TestKilledAtEachStep(t *testing.T) {
	modes(t, func(t *testing.T, dedupes bool) {
		for _, step := range []string{"read", "copied", "recorded", "unlinked", "sending", "shown", "acknowledged", "settled"} {
			for _, time := range []int{1, 2, 7} {
				tr := newTrial(t, dedupes, 10, "")
				if tr.live(fmt.Sprint(step, ":", time), 0) {
					t.Errorf("the host outlived %s:%d", step, time)
				}
				if !tr.live("", 0) {
					t.Errorf("the host died by itself after %s:%d", step, time)
				}
				if bad := tr.p.violations(tr.n); len(bad) > 0 {
					t.Errorf("killed at %s:%d: %q", step, time, bad)
				}
			}
		}
	})
}

// TestKilledBetweenTwoStepsOfAMessage kills the host while a channel is between
// the steps of a message, whose first may not be made again.
func TestKilledBetweenTwoStepsOfAMessage(t *testing.T) {
	for _, step := range []string{"sending", "saved", "shown", "acknowledged"} {
		for _, time := range []int{1, 2, 7} {
			tr := newTrial(t, true, 10, "")
			tr.steps = true
			if tr.live(fmt.Sprint(step, ":", time), 0) || !tr.live("", 0) {
				t.Errorf("the host did not die at %s:%d, or by itself afterwards", step, time)
			}
			if bad := tr.p.violations(tr.n); len(bad) > 0 {
				t.Errorf("killed at %s:%d: %q", step, time, bad)
			}
		}
	}
}

// TestKilledAtRandom kills host after host at any time.
func TestKilledAtRandom(t *testing.T) {
	modes(t, func(t *testing.T, dedupes bool) {
		tr := newTrial(t, dedupes, 150, "")
		kills := 0
		for span := 60 * time.Millisecond; !tr.live("", time.Millisecond+rand.N(span)); span += span / 8 {
			kills++
		}
		if bad := tr.p.violations(tr.n); len(bad) > 0 {
			t.Errorf("%q", bad)
		}
		t.Logf("%d kills", kills)
	})
}

// TestKillTestFindsMutants breaks what keeps the promise, one thing at a time,
// and wants the same check to complain.
func TestKillTestFindsMutants(t *testing.T) {
	tests := []struct {
		mutant, kill, want string
		dedupes, steps     bool
	}{
		{mutant: "put returns before the record", kill: "unlinked:3", want: "lost", dedupes: true},
		{mutant: "new id per attempt", kill: "shown:3", want: "twice", dedupes: true},
		{mutant: "no question before the retry", kill: "shown:3", want: "twice"},
		{mutant: "nothing is saved", kill: "shown:3", want: "twice", dedupes: true, steps: true},
	}
	for _, tt := range tests {
		t.Run(tt.mutant, func(t *testing.T) {
			tr := newTrial(t, tt.dedupes, 10, tt.mutant)
			tr.steps = tt.steps
			if tr.live(tt.kill, 0) || !tr.live("", 0) {
				t.Fatal("the host did not die where it should")
			}
			bad := tr.p.violations(tr.n)
			if !slices.ContainsFunc(bad, func(s string) bool { return strings.HasPrefix(s, tt.want) }) {
				t.Errorf("the mutant was not found: %q", bad)
			}
		})
	}
}

// get asks the platform.
func get(ctx context.Context, method, address string, q url.Values, body io.Reader) (int, error) {
	req, err := http.NewRequestWithContext(ctx, method, address+"?"+q.Encode(), body)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}

// TestKilledAroundAnAnswer kills the host between an answer and the move that follows it:
// after the next start everything that was approved is in its chat once, in the order of
// the answers.
func TestKilledAroundAnAnswer(t *testing.T) {
	for _, step := range []string{"answered", "sending", "shown", "settled"} {
		for _, time := range []int{1, 2, 7} {
			tr := newTrial(t, true, 10, "")
			tr.waits = true
			if tr.live(fmt.Sprint(step, ":", time), 0) || !tr.live("", 0) {
				t.Errorf("the host did not die at %s:%d, or by itself afterwards", step, time)
			}
			if bad := tr.p.violations(tr.n); len(bad) > 0 {
				t.Errorf("killed at %s:%d: %q", step, time, bad)
			}
		}
	}
}
