package ipc

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// maxLines is how many lines with the same message the log takes of one group
// in a minute. Thousands a second would cost a container nothing and the host
// its disk.
const maxLines = 60

// noise writes what a container can cause to be logged at will. It counts what
// it leaves out, and reports the count when the minute is over.
type noise struct {
	log *slog.Logger

	mu    sync.Mutex
	kinds map[kind]*told // the lines of the last minute
}

func newNoise(log *slog.Logger) *noise { return &noise{log: log, kinds: make(map[kind]*told)} }

// kind is what lines are counted by. The messages are constants, so there are
// few of them.
type kind struct{ group, message string }

type told struct {
	since time.Time // of the first line
	level slog.Level
	lines int
}

// say writes a line about a group, or counts it. An empty group stands for the
// whole queue.
func (n *noise) say(level slog.Level, message, group string, args ...any) {
	if n.count(kind{group, message}, level) {
		n.log.Log(context.Background(), level, message, withGroup(group, args)...)
	}
}

func (n *noise) count(k kind, level slog.Level) (write bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.kinds[k]
	if t != nil && time.Since(t.since) >= time.Minute {
		n.end(k, t)
		t = nil
	}
	if t == nil {
		t = &told{since: time.Now(), level: level}
		n.kinds[k] = t
	}
	t.lines++
	return t.lines <= maxLines
}

// report ends the counts that are at least as old as age.
func (n *noise) report(age time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for k, t := range n.kinds {
		if time.Since(t.since) >= age {
			n.end(k, t)
		}
	}
}

// end writes how many lines a count left out. It is called with n.mu held.
func (n *noise) end(k kind, t *told) {
	delete(n.kinds, k)
	if more := t.lines - maxLines; more > 0 {
		n.log.Log(context.Background(), t.level, "more lines like this were left out",
			withGroup(k.group, []any{"line", k.message, "count", more})...)
	}
}

func withGroup(group string, args []any) []any {
	if group == "" {
		return args
	}
	return append([]any{"group", group}, args...)
}
