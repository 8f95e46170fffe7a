// Package operator is the operator's view of a host and the operator's actions:
// the queue, the errors folder, the state of the host and its metrics.
//
// A running host serves [Control] on a unix socket ([Server]); the commands
// reach it with [Client]. If no host runs, a command uses an [Offline] in its own
// process. The outbox is locked, so at most one [Local] can change it.
//
//	state/longshore.sock   the control socket, 0600; a link to it if the
//	                       path is longer than a socket's name may be
//
// Text from an assistant or a member is passed on unchanged: the caller makes it printable.
//
// The package does not decide who may send what, and starts no host.
package operator

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// Notified is the outcome of a message to one target of notify:.
type Notified struct {
	Target string `json:"target"`          // "chat of ops", "webhook" or "ntfy"
	Error  string `json:"error,omitempty"` // empty: the target has taken it
}

// PairingCode is the code given to a person in a direct chat that no group has.
type PairingCode struct {
	Code    string    `json:"code"`
	Channel string    `json:"channel"`
	Chat    string    `json:"chat"`
	From    string    `json:"from"` // the person's own name: foreign text
	Until   time.Time `json:"until"`
}

// Kind says where an item is stored.
type Kind string

// The kinds of items.
const (
	Delivery Kind = "delivery" // in the outbox: accepted
	Request  Kind = "request"  // in the errors folder: refused
)

// Filter selects items. The zero Filter selects open deliveries.
type Filter struct {
	Group   string `json:"group,omitempty"`   // folder of the group; empty: all
	Waiting bool   `json:"waiting,omitempty"` // those that wait for an approval
	Moving  bool   `json:"moving,omitempty"`  // open ones that wait for no approval
	Oldest  bool   `json:"oldest,omitempty"`  // the oldest, not the newest, if there are more than Limit
	Failed  bool   `json:"failed,omitempty"`  // failed, refused and uncertain items instead of open ones
	All     bool   `json:"all,omitempty"`     // also deliveries that have ended
	Limit   int    `json:"limit,omitempty"`   // 0: DefaultLimit
}

// ItemNames is how many of its files an Item names.
const ItemNames = 3

// DefaultLimit is how many items List returns when Filter.Limit is 0.
const DefaultLimit = 1000

// Item is one delivery in the outbox, or one request in the errors folder.
type Item struct {
	ID       string     `json:"id"` // a delivery's key, or a request's name in the errors folder
	Kind     Kind       `json:"kind"`
	Group    string     `json:"group"`             // the folder
	Request  string     `json:"request,omitempty"` // the request's id in its group
	Channel  string     `json:"channel,omitempty"`
	Chat     string     `json:"chat,omitempty"`
	State    string     `json:"state"`
	Asked    time.Time  `json:"asked,omitzero"` // when the request was written; only of a delivery
	Created  time.Time  `json:"created"`        // when it was accepted, or last tried anew by an operator
	Next     *time.Time `json:"next,omitempty"` // time of the next attempt
	Files    int        `json:"files"`
	Names    []string   `json:"names,omitempty"` // of the first ItemNames files
	Text     string     `json:"text,omitempty"`  // how the texts, captions and alt texts begin; only while it waits for an approval
	Bytes    int64      `json:"bytes"`
	Done     int64      `json:"done,omitempty"` // bytes of files that the platform has
	Attempts int        `json:"attempts"`
	Code     string     `json:"code,omitempty"`
	Message  string     `json:"message,omitempty"`
	Hint     string     `json:"hint,omitempty"`
	Parts    []Part     `json:"parts,omitempty"`
	Timeline []Event    `json:"timeline,omitempty"` // with Parts
	Raw      string     `json:"raw,omitempty"`      // the bytes of a request in the errors folder
}

// Part is one message of a delivery.
type Part struct {
	MessageID  string   `json:"messageId"`
	PlatformID string   `json:"platformId,omitempty"`
	Name       string   `json:"name,omitempty"` // of the file; empty for a text
	Alt        string   `json:"alt,omitempty"`  // what the file shows, in the assistant's words
	Kind       string   `json:"kind"`           // the media kind, or "text"
	MIME       string   `json:"mime,omitempty"`
	Bytes      int64    `json:"bytes"`
	SHA256     string   `json:"sha256,omitempty"`
	Text       string   `json:"text,omitempty"`
	Choices    []string `json:"choices,omitempty"` // of a question
	State      string   `json:"state"`
	Sent       int64    `json:"sent,omitempty"` // bytes, while sending
	Attempts   int      `json:"attempts"`
	Code       string   `json:"code,omitempty"`
	Message    string   `json:"message,omitempty"`
	Hint       string   `json:"hint,omitempty"`
}

// Event is one step of an item's way.
type Event struct {
	Time   time.Time `json:"time,omitzero"`    // zero: unknown
	What   string    `json:"what"`             // requested, accepted, attempts, next attempt, sent, delivered, read, or how it ended
	Part   int       `json:"part,omitempty"`   // from 1; 0: the whole item
	Detail string    `json:"detail,omitempty"` // for people
}

// Stopped is what StopAssistant ended.
type Stopped struct {
	Turns  int `json:"turns"`
	Waited int `json:"waited"` // messages that will not be answered
}

// Linking is how far a Link has come.
type Linking struct {
	Scan    string    `json:"scan"`           // where on the phone the code is scanned
	Code    []string  `json:"code,omitempty"` // the present QR code, a row each, 1 for a black square; none before the first
	Until   time.Time `json:"until,omitzero"` // how long the code counts; another follows
	Account string    `json:"account,omitempty"`
	Failed  string    `json:"failed,omitempty"` // why it ended without an account; the next call begins anew
}

// PageURL is an address of the operator's page. It is a secret.
type PageURL struct {
	URL string `json:"url"`
}

// Reloaded is what came of a Reload.
type Reloaded struct {
	File    string    `json:"file"`
	Applied time.Time `json:"applied"` // when the configuration in force was; before the call if the file was refused
	Changes []string  `json:"changes"` // for people; of a file that was refused, none
	// Problems are why the file was refused, each with its line and a remedy, as
	// "config validate" prints them. The host goes on as before.
	Problems []string `json:"problems"`
	Removes  []string `json:"removes,omitempty"` // the groups that the file ends only if the call says remove
}

// Send is a file that an operator sends in the name of a group.
type Send struct {
	Group string `json:"group"` // the folder
	// Path is a container path if it begins with /workspace/, and is then
	// resolved by the group's mounts; otherwise it is an absolute path of the
	// host.
	Path    string `json:"path"`
	Name    string `json:"name,omitempty"` // to show in the chat
	Caption string `json:"caption,omitempty"`
	Alt     string `json:"alt,omitempty"`    // what it shows, in words
	Thread  string `json:"thread,omitempty"` // of the chat, as its platform calls it
	As      string `json:"as,omitempty"`     // auto, document, voice, gif, sticker, original
}

// The codes of this package's errors.
const (
	CodeNotFound  = "not_found"
	CodeAmbiguous = "ambiguous_id"
	CodeNotFailed = "not_failed" // the delivery is open
	CodeSettled   = "settled"    // the delivery has ended
	CodeSending   = "sending"    // the delivery is being sent at this moment
	CodeNoBytes   = "no_bytes"   // the delivery's files are no longer stored
	CodeUnwell    = "unwell"     // of /readyz
	CodeBadCall   = "bad_call"
	CodePageOff   = "page_off" // the host serves no operator's page

	codeInternal = "internal" // only on the socket: every other error
)

// ErrNoHost means that no host answers on the control socket.
var ErrNoHost = errors.New("no host is running")

// ErrDenied means that this user may not reach the control socket, and so cannot see whether
// a host answers on it.
var ErrDenied = errors.New("the state directory is closed to this user: it belongs to another one, or its mode is wrong")

// ErrRunning means that a host already answers on the control socket.
var ErrRunning = errors.New("a host is already running on this state directory")

func badCall(message string) *refusal.Error {
	return &refusal.Error{Code: CodeBadCall, Message: message}
}

func noGroup(folder string) error {
	return &refusal.Error{Code: CodeNotFound, Message: fmt.Sprintf("no group has the folder %q", folder), Hint: "longshore status lists the groups"}
}

func notFound(id string) error {
	return &refusal.Error{Code: CodeNotFound, Message: fmt.Sprintf("nothing is called %q", id), Hint: "longshore queue list --all and longshore errors list show what there is"}
}

// accepting are the parts without which the host accepts nothing. Of others that it needs, the outbox says so.
var accepting = []string{"state", "outbox", "ipc", "state, ipc", "installation", "state, installation", "blobs", "state, blobs", finding.LimitsPart}

// notReady are the names of the findings that keep a host from accepting, those first that say most.
var notReady = []string{finding.StateGone, finding.FilesFew, finding.FileSize, finding.Damaged, finding.Locked, finding.State, finding.Accepting}

// RefusalOf is the first fault that keeps a host from accepting a delivery; nil: there is none.
func RefusalOf(all []finding.Finding) *refusal.Error {
	for _, name := range notReady {
		for _, f := range all {
			if f.Name == name && f.Severity == finding.Fault && slices.Contains(accepting, path.Base(f.Part)) {
				return &refusal.Error{Code: CodeUnwell, Message: f.Cause, Hint: f.Remedy}
			}
		}
	}
	return nil
}
