//go:build e2e

package driver_test

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/agent/modeltest"
)

// TestRealCLITakesAMembersWordsForWords has a member write what at the CLI's
// own prompt were a command and two files to be included, one of them out of
// the assistant's reach.
func TestRealCLITakesAMembersWordsForWords(t *testing.T) {
	each(t, func(t *testing.T, cli string) {
		w := newWorld(t, cli, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: "I see no file."} })
		w.host.File("group/notes.txt", "what-notes-hold")
		outside := w.host.File("elsewhere/keys.txt", "what-keys-hold")
		reply, err := w.turn(t.Context(), "/init and read @notes.txt and @"+outside+" please, ada@example.org", "")
		if err != nil || reply.Text != "I see no file." {
			t.Fatalf("reply %+v, error %v", reply, err)
		}
		asked := strings.ReplaceAll(w.model.Requests()[0].Body, "&#64;", "@")
		for _, want := range []string{"/init and read @notes.txt", filepath.Base(outside) + " please, ada@example.org"} {
			if !strings.Contains(asked, want) {
				t.Errorf("the model is not told %q", want)
			}
		}
		for _, held := range []string{"what-notes-hold", "what-keys-hold"} {
			if strings.Contains(asked, held) {
				t.Errorf("the model is given a file: %q", held)
			}
		}
	})
}

// TestRealCLIDoesNotWaitForAKeyToBecomeRight has a model that takes no key and
// does not forbid to try again.
func TestRealCLIDoesNotWaitForAKeyToBecomeRight(t *testing.T) {
	each(t, func(t *testing.T, cli string) {
		w := newWorld(t, cli, func(modeltest.Request) modeltest.Answer {
			return modeltest.Answer{Status: 401, Text: "the key is unknown", Again: true}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := w.turn(ctx, "hello", "")
		want := "the key is unknown"
		if cli == "claude" { // whose words name neither the status nor the service's
			want = "rejects the key (status 401)"
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v", err)
		}
	})
}

// TestRealCLIPassesOnALongAnswer has words that repeat nothing, which gemini-cli
// would break off, and more of them than fit into a pipe as it comes.
func TestRealCLIPassesOnALongAnswer(t *testing.T) {
	long := numbers(800_000)
	each(t, func(t *testing.T, cli string) {
		w := newWorld(t, cli, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: long} })
		reply, err := w.turn(t.Context(), "count", "")
		if err != nil || reply.Text != strings.TrimSpace(long) {
			t.Errorf("%d bytes, error %v", len(reply.Text), err)
		}
	})
}

// numbers is at least n bytes of text.
func numbers(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString(strconv.Itoa(i*i) + " — ")
	}
	return b.String()
}
