package stage

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/operator"
)

// ServeEnv, when set, makes the test binary the longshore command.
const ServeEnv = "LONGSHORE_TEST_COMMAND"

// KillsEnv is how many times hosts are killed at random.
const KillsEnv = "LONGSHORE_TEST_KILLS"

// Await waits for a condition.
func Await(t testing.TB, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		if <-tick.C; time.Now().After(deadline) {
			t.Fatalf("waited for %s", what)
		}
	}
}

// Exists says whether there is something at a path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Ready says whether all channels have begun, and the named ones are connected; without
// names, whether all are.
func Ready(s operator.Status, names []string) bool {
	for _, c := range s.Channels {
		if !c.Connected && (c.Detail == "not running" || len(names) == 0 || slices.Contains(names, c.Name)) {
			return false
		}
	}
	return true
}

// Talker is an assistant that sends in each way that there is. What it is asked
// for ends with a dot; "wait" has it wait until its file is there, and "late" sends
// a message that the receiver is going to refuse.
const Talker = `#!/bin/sh
prompt=$(cat)
what=$(printf '%s' "$prompt" | grep -o 'make [a-z0-9]*' | tail -1 | cut -c6-)
echo "$what" >> started
case $prompt in *"wait for it"*) until [ -e go ]; do sleep 0.05; done;; esac
echo "$what by tool" > "$what-tool.txt"
$LONGSHORE agentrunner send "$what-tool.txt" > /dev/null
$LONGSHORE agentrunner message "$what by message" > /dev/null
mkdir -p outbox
echo "$what by drop" > "outbox/$what-drop.txt"
echo "$what by media" > "$what-media.txt"
echo "$what"
echo "MEDIA:$PWD/$what-media.txt"
`

// Eventually waits for a condition.
func Eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(5 * time.Minute); !is(); {
		select {
		case <-tick.C:
		case <-late:
			t.Errorf("waited in vain: %s", what)
			return
		}
	}
}

// Until asks again and again, until the answer is yes, five minutes are over or ctx is done. It returns the last answer.
func Until(ctx context.Context, is func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
