package driver

import (
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/agent"
	"github.com/longshore-bridge/longshore/agentrunner/internal/toolcheck"
	"github.com/longshore-bridge/longshore/internal/cause"
)

// watch follows one run of a CLI: what it answers, and what keeps it from answering.
// It reports trouble to the turn when the CLI complains, and when the model has been
// silent for a while. It reports the end of trouble with the model's next sign of
// life. A tool that takes long is no trouble.
type watch struct {
	d     *Driver
	turn  agent.Turn
	words *talk
	check toolcheck.Check
	end   func() // ends the CLI
	quiet time.Duration

	mu      sync.Mutex // stdout, stderr and the timer come from three goroutines
	a       answer
	since   time.Time // of the model's last sign of life
	trouble bool      // was reported, and not its end
	timer   *time.Timer
	stopped bool
}

// defaultQuiet is how long the model may be silent before that is reported. The host
// waits longer before it tells the chat.
const defaultQuiet = 30 * time.Second

func newWatch(d *Driver, t agent.Turn, words *talk, check toolcheck.Check, end func()) *watch {
	w := &watch{d: d, turn: t, words: words, check: check, end: end, quiet: defaultQuiet, a: answer{session: t.Session}, since: time.Now()}
	if after, err := time.ParseDuration(t.Getenv("LONGSHORE_NOTICE_AFTER")); err == nil && after > 0 {
		w.quiet = after / 2
	}
	w.timer = time.AfterFunc(w.quiet, w.silent)
	return w
}

// event takes one line of stdout.
func (w *watch) event(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.a
	w.d.cli.event(line, &w.a)
	w.changed(was)
	if answered := w.a.done && (!was.done || w.a.answers != was.answers); answered || w.a.steps != was.steps {
		w.tools(answered)
	}
	w.words.hear(was, &w.a)
}

// tools ends a run whose tools the host refuses, before the model goes on without them. An
// answer also needs that the CLI has listed the tools.
func (w *watch) tools(answered bool) {
	reason := clean(w.check.Refused())
	switch {
	case w.a.err != "":
	case reason != "":
		w.a.err, w.a.why = "Longshore's tools do not work: "+reason, cause.Tools
		w.end()
	case answered && !w.check.Listed():
		w.a.err, w.a.why = "it answered without Longshore's tools: their server did not start, or the CLI did not list them", cause.Tools
	}
}

// complaint takes one line of stderr.
func (w *watch) complaint(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.a
	w.d.cli.complaint(line, &w.a)
	w.changed(was)
}

// changed acts on what a line has changed of the answer.
func (w *watch) changed(was answer) {
	switch {
	case w.a.trouble != was.trouble:
		w.d.o.Log.Warn("agent has trouble", "agent", w.d.name, "reason", w.a.trouble)
		w.report(agent.Trouble{Cause: w.a.why, Detail: w.a.trouble, For: time.Since(w.since)})
	case w.a.steps != was.steps && w.a.err == "": // a CLI that is being ended still says something
		w.since, w.a.why, w.a.trouble = time.Now(), "", ""
		w.timer.Reset(w.quiet)
		if w.trouble {
			w.report(agent.Trouble{})
		}
	}
	if w.a.giveUp {
		w.end()
	}
}

// silent reports a model that has shown no sign of life for a while.
func (w *watch) silent() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped || w.a.done || w.a.tools > 0 || w.a.err != "" || w.trouble {
		return
	}
	quiet := time.Since(w.since)
	w.a.why = cause.Silent
	w.report(agent.Trouble{Cause: cause.Silent, Detail: "the model has not answered for " + quiet.Round(time.Second).String(), For: quiet})
}

func (w *watch) report(t agent.Trouble) {
	w.trouble = t.Cause != ""
	if w.turn.Trouble != nil {
		w.turn.Trouble(t)
	}
}

// stop ends the watch and returns the answer.
func (w *watch) stop() answer {
	w.timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.tools(false) // the CLI may have ended without an event
	return w.a
}
