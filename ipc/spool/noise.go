package spool

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// maxLines is how many lines with the same message one group may cause in the log
// per minute. Without a limit, a container could fill the host's disk at no cost.
const maxLines = 60

// noise limits the log lines that a container can cause at will. It counts the
// omitted lines and logs their number when the minute is over.
type noise struct {
	log *slog.Logger

	mu    sync.Mutex
	kinds map[kind]*told // the lines of the last minute
}

func newNoise(log *slog.Logger) *noise { return &noise{log: log, kinds: make(map[kind]*told)} }

// kind is the key that lines are counted by. Messages are constants, so there are
// few keys.
type kind struct{ group, message string }

type told struct {
	since time.Time // time of the first line
	level slog.Level
	lines int
}

// say logs a line about a group, or only counts it. An empty group means the whole
// queue.
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

// report ends the counts that are at least age old.
func (n *noise) report(age time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for k, t := range n.kinds {
		if time.Since(t.since) >= age {
			n.end(k, t)
		}
	}
}

// end logs how many lines of a count were omitted. It is called with n.mu held.
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
