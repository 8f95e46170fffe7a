//go:build e2e

package remote

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
)

// TestAHostThatIsKilledAgainAndAgainNeverMixesThreads kills it whenever members
// have seen a few messages more. Each thread is answered, or told that it was not.
func TestAHostThatIsKilledAgainAndAgainNeverMixesThreads(t *testing.T) {
	d := newDesk(t, "")
	const threads = 8
	for i := range threads {
		d.post(fmt.Sprint("t", i), fmt.Sprintf("make picture%d", i))
	}
	seen := func() int { return len(d.receiver.Shown(t, "push:desk", 0)) }
	for range 5 {
		before := seen()
		stage.Eventually(t, "members see more", func() bool { return seen() >= before+4 })
		d.kill()
		d.start()
	}
	settled := map[string]bool{}
	stage.Eventually(t, "each thread has an end", func() bool {
		for _, m := range d.receiver.Shown(t, "push:desk", 0) {
			if m.Text == strings.Replace(m.Thread, "t", "picture", 1) || strings.Contains(m.Text, "interrupted while it was answering") {
				settled[m.Thread] = true
			}
		}
		return len(settled) == threads
	})
	for _, m := range d.receiver.Shown(t, "push:desk", 0) {
		texts := []string{m.Text}
		for _, f := range m.Files {
			texts = append(texts, f.Name)
		}
		for _, text := range texts {
			if strings.HasPrefix(text, "picture") && !strings.HasPrefix(text, strings.Replace(m.Thread, "t", "picture", 1)) {
				t.Errorf("thread %s sees %q", m.Thread, text)
			}
		}
	}
}

// TestThreadsInParallelNeverMix has two containers of one group drop, name and send
// files at the same time.
func TestThreadsInParallelNeverMix(t *testing.T) {
	image := containertest.AgentImage(t, "none")
	_, engine := containertest.Engine(t)
	d := newDeskOf(t, ", parallel: 2", fmt.Sprintf("{runtime: docker, agent: command, command: [sh, /workspace/global/talker.sh], image: %q, network: none}", image),
		"", "DOCKER_HOST="+engine)
	if err := os.Rename(filepath.Join(d.dir, "talker.sh"), filepath.Join(d.dir, "state/groups/global/talker.sh")); err != nil {
		t.Fatal(err)
	}
	made := map[string]string{"t1": "cats", "t2": "dogs", "t3": "cows"}
	d.post("t1", "make cats, and wait for it")
	d.post("t2", "make dogs, and wait for it")
	d.post("t3", "make cows") // whose turn comes when one of the others has ended
	stage.Eventually(t, "two containers run at once", func() bool {
		places, err := filepath.Glob(filepath.Join(d.dir, "state/places/desk/*"))
		return err == nil && len(places) == 1
	})
	if err := os.WriteFile(filepath.Join(d.dir, "state/groups/desk/go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	d.wants(made)
}

// TestSixtyThreadsAreEachAnsweredInTheirPlace.
func TestSixtyThreadsAreEachAnsweredInTheirPlace(t *testing.T) {
	t.Parallel()
	d := newDesk(t, "")
	made := map[string]string{}
	for i := range 60 {
		made[fmt.Sprint("t", i)] = fmt.Sprint("picture", i)
		d.post(fmt.Sprint("t", i), fmt.Sprintf("make picture%d", i))
	}
	d.wants(made)
}
