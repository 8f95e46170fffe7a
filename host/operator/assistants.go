package operator

import (
	"fmt"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/host/turns"
	"github.com/longshore-bridge/longshore/media"
)

// Assistant is a group's assistant that is not idle, or whose last turn failed.
type Assistant struct {
	Group   string    `json:"group"`
	State   string    `json:"state"` // queued, running, resting (running with nothing to do), waiting (after a failure), broken (the last turn failed), elsewhere (it fetches its messages) or idle
	Detail  string    `json:"detail,omitempty"`
	Started time.Time `json:"started,omitzero"`

	Engine string `json:"engine,omitempty"` // by its name, on which it runs or waits to

	Cause     string    `json:"cause,omitempty"`     // why it does not answer now, one of package cause's; empty: it can
	Permanent bool      `json:"permanent,omitempty"` // the cause stays until an operator ends it
	Failures  int       `json:"failures,omitempty"`  // turns in a row that broke
	Next      time.Time `json:"next,omitzero"`       // of the next attempt, while waiting
	Fetched   time.Time `json:"fetched,omitzero"`    // when one elsewhere last asked for its messages, since the host's start
}

// assistants describes the assistants that have something to do. Without a running host
// there are none.
func (l *Local) assistants() []Assistant {
	all := []Assistant{}
	if l.Running == nil {
		return all
	}
	for _, s := range l.Running.Assistants.Status() {
		if s.State == "idle" && s.LastError == "" || s.State == "elsewhere" && s.Thread != "" && s.Kept == 0 {
			continue
		}
		all = append(all, assistantOf(s))
	}
	return all
}

func assistantOf(s turns.Status) Assistant {
	a := Assistant{Group: s.Folder, State: s.State, Engine: s.Engine, Started: s.Since, Cause: string(s.Cause), Permanent: s.Cause.Permanent(), Failures: s.Failures, Next: s.Next}
	switch {
	case s.State == "elsewhere":
		a.Detail, a.Fetched = fetches(s), s.Fetched
	case s.State == "idle":
		a.State, a.Detail = "broken", "the last turn failed: "+s.LastError
	case s.Failures == 0 && s.LastError != "":
		a.Detail = "the model does not answer: " + s.LastError
	case s.LastError != "":
		a.Detail = fmt.Sprintf("%s broke in a row, the last with: %s", media.Count(s.Failures, "turn"), s.LastError)
	case s.Kept > 0:
		a.Detail = media.Count(s.Kept, "message") + " to hand over"
	}
	if s.Engine != "" {
		a.Detail = strings.TrimSuffix("on "+s.Engine+": "+a.Detail, ": ")
	}
	if s.Thread != "" {
		a.Detail = strings.TrimSuffix("in thread "+media.Printable(s.Thread)+": "+a.Detail, ": ")
	}
	return a
}

// fetches describes an assistant elsewhere.
func fetches(s turns.Status) string {
	last := "not asked for since the host's start"
	if !s.Fetched.IsZero() {
		last = "last asked for at " + s.Fetched.UTC().Format("2006-01-02 15:04:05 MST")
	}
	wait := "none waits"
	if s.Kept > 0 {
		wait = fmt.Sprintf("%d not acknowledged", s.Kept)
	}
	return "fetches its messages; " + last + "; " + wait
}

// turnsOf returns when a group's turns ended; zero without a running host.
func (l *Local) turnsOf(folder string) turns.Turns {
	if l.Running == nil {
		return turns.Turns{}
	}
	return l.Running.Assistants.Turns(folder)
}
