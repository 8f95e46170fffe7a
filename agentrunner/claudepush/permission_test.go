package claudepush

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/remoteclient"
	"github.com/longshore-bridge/longshore/ipc"
)

func newRelay(d *host, told *[]string) *relay {
	return &relay{host: d, log: slog.New(slog.DiscardHandler), open: map[string]bool{}, notify: func(method string, p map[string]any) error {
		*told = append(*told, fmt.Sprint(method, " ", p["request_id"], " ", p["behavior"]))
		return nil
	}}
}

func fields(id string) map[string]any {
	return map[string]any{"request_id": id, "tool_name": "Bash", "description": "List files", "input_preview": "ls"}
}

// TestAPermissionIsNoWithoutAnAnswer: after ten minutes, also if the host is away by then, and
// at once if the host no longer knows it. If the host asks nobody, the session's dialog decides.
func TestAPermissionIsNoWithoutAnAnswer(t *testing.T) {
	away := &remoteclient.Problem{Code: "unreachable"}
	for name, test := range map[string]struct {
		answer string
		first  error // of the question
		then   error // of the wait for its answer
		want   string
		after  time.Duration
	}{
		"allowed":   {answer: ipc.Allowed, want: "allow"},
		"denied":    {answer: ipc.Denied, want: "deny"},
		"nonsense":  {answer: "perhaps", want: "deny"},
		"nobody":    {want: "deny", after: answerIn},
		"away":      {then: away, want: "deny", after: answerIn},
		"long ago":  {then: &remoteclient.Problem{Code: "unknown_permission"}, want: "deny"},
		"not asked": {first: &remoteclient.Problem{Code: "no_permissions"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newHost()
				d.fails = test.first
				var told []string
				r := newRelay(d, &told)
				q, ok := r.begin(fields("abcde"))
				if !ok {
					t.Fatal("not passed on")
				}
				start := time.Now()
				done := make(chan time.Duration, 1)
				go func() { r.ask(t.Context(), q); done <- time.Since(start) }()
				synctest.Wait()
				if test.answer != "" {
					d.answer <- test.answer
				}
				if test.then != nil {
					d.fail(test.then)
				}
				took := <-done
				want := []string(nil)
				if test.want != "" {
					want = []string{notifyAnswer + " abcde " + test.want}
				}
				equal(t, "told", told, want)
				if took < test.after || took > test.after+fetchWait {
					t.Errorf("after %v", took)
				}
				if _, again := r.begin(fields("abcde")); !again {
					t.Error("it counts as open")
				}
			})
		})
	}
}

// TestAnAnswerReachesASessionThatReadsSlowly.
func TestAnAnswerReachesASessionThatReadsSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newHost()
		var told []string
		r := newRelay(d, &told)
		passes, full := r.notify, 3
		r.notify = func(method string, p map[string]any) error {
			if full--; full >= 0 {
				return errors.New("the channel is full")
			}
			return passes(method, p)
		}
		q, _ := r.begin(fields("abcde"))
		d.answer <- ipc.Allowed
		r.ask(t.Context(), q)
		equal(t, "told", told, []string{notifyAnswer + " abcde allow"})
	})
}

// TestASessionThatEndsHearsNoAnswer.
func TestASessionThatEndsHearsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		r := newRelay(newHost(), &told)
		q, _ := r.begin(fields("abcde"))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { r.ask(ctx, q); close(done) }()
		synctest.Wait()
		cancel()
		<-done
		equal(t, "told", told, []string(nil))
	})
}

// TestQuestionsOfASessionAreCheckedAndBounded.
func TestQuestionsOfASessionAreCheckedAndBounded(t *testing.T) {
	var told []string
	r := newRelay(newHost(), &told)
	for _, id := range []string{"", "abcd", "abcdl", "ABCDE", "abcdef", "abc\nd"} {
		if _, ok := r.begin(fields(id)); ok {
			t.Errorf("%q is taken for an id", id)
		}
	}
	if _, ok := r.begin(map[string]any{"request_id": 7, "tool_name": []any{}}); ok {
		t.Error("no texts are taken")
	}
	for i := range maxAsked {
		id := fmt.Sprintf("abcd%c", 'e'+i)
		if _, ok := r.begin(fields(id)); !ok {
			t.Errorf("%s is not taken", id)
		}
		if _, ok := r.begin(fields(id)); ok {
			t.Errorf("%s is taken twice", id)
		}
	}
	if _, ok := r.begin(fields("zzzzz")); ok {
		t.Error("one too many")
	}
}
