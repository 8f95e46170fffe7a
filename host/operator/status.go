package operator

import (
	"time"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// Status is a host's description of itself. If no host runs, Running is false
// and only what the disk shows is filled in.
type Status struct {
	Running    bool        `json:"running"`
	PID        int         `json:"pid,omitempty"`
	Version    string      `json:"version"`
	Started    time.Time   `json:"started,omitzero"`
	Applied    time.Time   `json:"applied,omitzero"` // when the configuration in force was
	State      string      `json:"state"`            // the state directory
	Channels   []Channel   `json:"channels"`
	Groups     []Group     `json:"groups"`
	Assistants []Assistant `json:"assistants"`
	Failures   []Item      `json:"failures"` // the latest, newest first, at most RecentFailures
	Errors     int         `json:"errors"`   // requests in the errors folder
	Disk       Disk        `json:"disk"`
}

// RecentFailures is how many failures a Status lists.
const RecentFailures = 5

// Channel is the state of one channel.
type Channel struct {
	Name      string `json:"name"`
	Connected bool   `json:"connected"`
	Detail    string `json:"detail,omitempty"` // the state, or what to do
}

// Group is the state of one group's queue.
type Group struct {
	Folder  string    `json:"folder"`
	Name    string    `json:"name"`
	Chat    string    `json:"chat"`
	Channel string    `json:"channel"`
	Main    bool      `json:"main,omitempty"`
	Pending int       `json:"pending"` // open deliveries
	Bytes   int64     `json:"bytes"`   // of open deliveries
	Waiting int       `json:"waiting"` // requests that are not accepted yet
	Oldest  time.Time `json:"oldest,omitzero"`

	Assistant string `json:"assistant,omitempty"` // its name; empty: nobody answers
	Trigger   string `json:"trigger,omitempty"`   // empty: every message calls the assistant

	// Messages since the host's start that were not for the assistant.
	Ignored
}

// Ignored counts messages that were not for a group's assistant.
type Ignored struct {
	NotCalled  int `json:"not_called"`  // without the trigger
	NotAllowed int `json:"not_allowed"` // of members who may not speak
}

// Assistant is a group's assistant that is not idle, or whose last turn failed.
type Assistant struct {
	Group   string    `json:"group"`
	State   string    `json:"state"` // queued, running, resting (running with nothing to do), waiting (after a failure), broken (the last turn failed) or idle
	Detail  string    `json:"detail,omitempty"`
	Started time.Time `json:"started,omitzero"`

	Cause string    `json:"cause,omitempty"` // why it does not answer now, one of package cause's; empty: nothing keeps it
	Next  time.Time `json:"next,omitzero"`   // of the next attempt, while waiting
}

// Disk is the file system of the state directory.
type Disk struct {
	Free  uint64 `json:"free"`  // bytes that the host's user can write
	Total uint64 `json:"total"` // bytes
}

// diskOf returns the space on the file system of the state directory; zero if
// it is unknown.
func diskOf(state string) Disk {
	v, err := safefs.VolumeOf(state)
	if err != nil {
		return Disk{}
	}
	return Disk{Free: v.Free, Total: v.Total}
}
