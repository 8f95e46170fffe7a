package whatsapp

import (
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

// stop is a reason for which the channel stays down until somebody acts.
type stop struct {
	code    string
	message string // for agents
	hint    string // for the operator
}

// The stops. docs/whatsapp.md explains each.
var (
	stopNotPaired = stop{code: "whatsapp_not_paired", message: "no WhatsApp account is linked",
		hint: "link one with `longshore pair whatsapp`"}
	stopLoggedOut = stop{code: "whatsapp_logged_out", message: "the WhatsApp account has removed this device",
		hint: "link it again with `longshore pair whatsapp`; if the phone says that the account is banned, do not"}
	stopReplaced = stop{code: "whatsapp_replaced", message: "another program has connected with this device's keys",
		hint: "find and stop the other host that uses a copy of the store directory, then restart this one"}
	stopOutdated = stop{code: "whatsapp_outdated", message: "WhatsApp no longer takes this version of the client",
		hint: "update the host; docs/whatsapp.md says how to update whatsmeow"}
	stopBanned = stop{code: "whatsapp_banned", message: "WhatsApp has banned the account for a while",
		hint: "look into the phone's app, wait until the ban is over, then restart the host; send less"}
	stopRefused = stop{code: "whatsapp_refused", message: "WhatsApp refuses the connection",
		hint: "look into the phone's app and the host's log, then restart the host"}
	stopLocked = stop{code: "whatsapp_in_use", message: "another process uses the WhatsApp device",
		hint: "stop it; the host takes over by itself"}
)

// status is what Connected tells, and what Send refuses with.
type status struct {
	mu      sync.Mutex
	stopped *stop
	more    string // what belongs to stopped: when a ban ends
	words   string // what is being done, while not stopped
}

func (s *status) set(words string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped, s.more, s.words = nil, "", words
}

func (s *status) setStop(reason stop, more string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped, s.more = &reason, more
}

// detail is for the operator.
func (s *status) detail(idle bool) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped != nil && s.more != "":
		return s.stopped.message + " (" + s.more + "): " + s.stopped.hint
	case s.stopped != nil:
		return s.stopped.message + ": " + s.stopped.hint
	case idle || s.words == "":
		return "not running"
	}
	return s.words
}

// held is what Send answers while the channel is stopped, or nil.
func (s *status) held() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped == nil {
		return nil
	}
	return &channel.Error{Class: channel.Held, Code: s.stopped.code, Message: s.stopped.message,
		Hint: "it is sent as soon as the operator has seen to it: " + s.stopped.hint}
}

// until says when something ends.
func until(d time.Duration, now time.Time) string {
	if d <= 0 {
		return ""
	}
	return "until " + now.Add(d).UTC().Format("2006-01-02 15:04 UTC")
}
