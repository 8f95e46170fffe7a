//go:build e2e

package kill

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/ipc"
)

// crashSite is one state directory with its platform and its assistants.
type crashSite struct {
	t        *testing.T
	dir      string
	platform *platform
	url      string
	asked    []string // "chat sha256" of each part, in the order in which they were asked for
	requests []string // "folder/id"
}

const crashFolders = 3

func newCrashSite(t *testing.T, dedupe bool) *crashSite {
	t.Helper()
	return newCrashSiteOn(t, dedupe, "./state")
}

// newCrashSiteOn is newCrashSite with that value of the key state.
func newCrashSiteOn(t *testing.T, dedupe bool, state string) *crashSite {
	t.Helper()
	s := &crashSite{t: t, dir: t.TempDir(), platform: &platform{dedupe: dedupe, ids: map[string]bool{}}}
	srv := httptest.NewServer(s.platform)
	t.Cleanup(srv.Close)
	s.url = srv.URL
	var b strings.Builder
	b.WriteString("state: " + state + "\nlimits: {rate: {per_minute: 100000, burst: 10000}, pending: 10000}\ngroups:\n")
	for i := range crashFolders {
		fmt.Fprintf(&b, "  - {name: G%d, folder: g%d, chat: \"mem:g%d\"}\n", i, i, i)
	}
	if err := os.WriteFile(s.config(), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(s.config(), stage.AllPlatforms())
	if err != nil {
		t.Fatal(err)
	}
	if err := cfg.Layout().Prepare(cfg.Groups); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *crashSite) config() string { return filepath.Join(s.dir, "longshore.yaml") }

// ask has each group's assistant ask for a text and for two files.
func (s *crashSite) ask() {
	s.t.Helper()
	for i := range crashFolders {
		folder := fmt.Sprintf("g%d", i)
		text := "text " + rand.Text()
		s.drop(folder, ipc.Request{Type: ipc.TypeMessage, Text: text}, []byte(text))
		one, two := s.file(folder), s.file(folder)
		s.drop(folder, ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: one.path}, {Path: two.path}}}, one.content, two.content)
	}
}

type crashFile struct {
	path    string
	content []byte
}

func (s *crashSite) file(folder string) crashFile {
	s.t.Helper()
	name := rand.Text() + ".bin"
	content := bytes.Repeat([]byte(rand.Text()), 400)
	if err := os.WriteFile(filepath.Join(s.dir, "state/groups", folder, name), content, 0o644); err != nil {
		s.t.Fatal(err)
	}
	return crashFile{"/workspace/group/" + name, content}
}

func (s *crashSite) drop(folder string, r ipc.Request, parts ...[]byte) {
	s.t.Helper()
	id, err := ipc.NewClient(filepath.Join(s.dir, "state/ipc", folder)).Enqueue(context.Background(), r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.requests = append(s.requests, folder+"/"+id)
	for _, p := range parts {
		s.asked = append(s.asked, "mem:"+folder+" "+stage.Digest(p))
	}
}

// host starts a host process.
func (s *crashSite) host(k killable) *exec.Cmd {
	s.t.Helper()
	k.Config, k.Platform, k.Finds = s.config(), s.url, !s.platform.dedupe
	spec, err := json.Marshal(k)
	if err != nil {
		s.t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), killableEnv+"="+string(spec))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}

// settle runs a host that nobody kills until every request has its result, or
// patience is over, and ends it.
func (s *crashSite) settle(k killable, patience time.Duration) {
	s.t.Helper()
	k.Step = ""
	cmd := s.host(k)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, r := range s.requests {
		folder, id, _ := strings.Cut(r, "/")
		ipc.NewClient(filepath.Join(s.dir, "state/ipc", folder)).Wait(ctx, id, nil) // faults looks at what came
	}
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		s.t.Fatalf("host ended: %v", err)
	}
}

// faults compares what was asked for with what the members saw.
func (s *crashSite) faults() []string {
	s.platform.mu.Lock()
	defer s.platform.mu.Unlock()
	var faults []string
	seen := map[string]int{}
	for _, shown := range s.platform.shown {
		seen[shown]++
	}
	for _, a := range s.asked {
		if seen[a] != 1 {
			faults = append(faults, fmt.Sprintf("%s was shown %d times", a, seen[a]))
		}
		delete(seen, a)
	}
	for other := range seen {
		faults = append(faults, other+" was never asked for")
	}
	for _, chat := range []string{"mem:g0", "mem:g1", "mem:g2"} {
		if len(faults) == 0 && only(s.platform.shown, chat) != only(s.asked, chat) {
			faults = append(faults, chat+" was shown in another order")
		}
	}
	for _, r := range s.requests {
		folder, id, _ := strings.Cut(r, "/")
		res, err := ipc.NewClient(filepath.Join(s.dir, "state/ipc", folder)).Status(id)
		if err != nil || res.Status != ipc.Sent {
			faults = append(faults, fmt.Sprintf("%s has the result %q (%s), %v", r, res.Status, res.Message, err))
		}
	}
	return faults
}

func only(lines []string, chat string) string {
	var kept []string
	for _, l := range lines {
		if strings.HasPrefix(l, chat+" ") {
			kept = append(kept, l)
		}
	}
	return strings.Join(kept, "\n")
}

// killedAt runs the whole story: requests, a host that is killed in a step, a
// host that settles what is left.
func (s *crashSite) killedAt(k killable, patience time.Duration) {
	s.t.Helper()
	s.ask()
	cmd := s.host(k)
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		s.t.Fatalf("the host was to be killed at %q, but ended with %v", k.Step, err)
	}
	s.ask()
	s.settle(k, patience)
}

var killSteps = []string{
	"read", "authorized", "opened", "checked", "copied", "recorded", "unlinked",
	"sending", "shown", "acknowledged", "settled", "result",
}

func TestKilledAtEachStepNothingIsLostAndNothingShowsTwice(t *testing.T) {
	for _, dedupe := range []bool{true, false} {
		for _, step := range killSteps {
			for _, nth := range []int{1, 3} {
				t.Run(fmt.Sprintf("%s %s/%d", platformName(dedupe), step, nth), func(t *testing.T) {
					t.Parallel()
					s := newCrashSite(t, dedupe)
					s.killedAt(killable{Step: step, Nth: nth}, time.Minute)
					for _, f := range s.faults() {
						t.Error(f)
					}
				})
			}
		}
	}
}

func platformName(dedupe bool) string {
	if dedupe {
		return "shows an id once"
	}
	return "can be asked"
}

func TestKilledAtRandomNothingIsLostAndNothingShowsTwice(t *testing.T) {
	for _, dedupe := range []bool{true, false} {
		t.Run(platformName(dedupe), func(t *testing.T) {
			t.Parallel()
			s := newCrashSite(t, dedupe)
			for range 10 {
				s.ask()
				cmd := s.host(killable{})
				timer := time.AfterFunc(time.Duration(20+mrand.IntN(150))*time.Millisecond, func() { cmd.Process.Kill() })
				s.ask()
				cmd.Wait()
				timer.Stop()
			}
			s.settle(killable{}, time.Minute)
			for _, f := range s.faults() {
				t.Error(f)
			}
		})
	}
}

// TestTheKillTestNoticesEachMutant: a host with one of the classic faults must
// not pass the test above.
func TestTheKillTestNoticesEachMutant(t *testing.T) {
	for _, m := range []struct {
		mutant, step string
		dedupe       bool
	}{
		{"early unlink", "copied", true},
		{"new id", "shown", true},
		{"no query", "shown", false},
	} {
		t.Run(m.mutant, func(t *testing.T) {
			t.Parallel()
			s := newCrashSite(t, m.dedupe)
			s.killedAt(killable{Step: m.step, Nth: 1, Mutant: m.mutant}, 3*time.Second)
			if faults := s.faults(); len(faults) == 0 {
				t.Error("the mutant passed: the test cannot fail")
			} else {
				t.Logf("noticed: %s", faults[0])
			}
		})
	}
}
