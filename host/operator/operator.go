// Package operator is what the person who runs a host sees of it and does to
// it: the queue, the errors folder, the state of the host, its metrics, and
// the doctor that looks for what is wrong.
//
// A running host serves [Control] on a unix socket ([Server]); the commands
// reach it with [Client]. Where no host runs, a command opens the outbox
// itself and uses a [Desk] in its own process: the outbox is locked, so there
// is always exactly one Desk.
//
//	state/longshore.sock   the control socket, 0600; a link to it where the
//	                       path is longer than a socket's name may be
//
// Everything that came from an assistant or a member is passed on as it is:
// whoever prints it makes it printable first.
//
// The package decides nothing about who may send what, starts no host, and
// [Doctor] writes nothing.
package operator

import (
	"context"
	"errors"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
)

// Control is what an operator may do to a host. Desk offers it in the process
// that holds the outbox, Client through the running host's socket. Retry and
// Drop are idempotent only in that the second call says not_found or
// not_failed; all methods may be called from several goroutines.
type Control interface {
	// Status describes the host.
	Status(ctx context.Context) (Status, error)
	// List returns what matches, oldest first, without Parts and Raw.
	List(ctx context.Context, f Filter) ([]Item, error)
	// Show returns one item whole. The id of a delivery may be shortened to
	// an unambiguous beginning of at least four characters.
	Show(ctx context.Context, id string) (Item, error)
	// Retry gives a failed item another chance: a delivery is queued again
	// with the same message ids, a request goes back to its group's queue.
	Retry(ctx context.Context, id string) error
	// Drop gives an item up: a delivery is settled as dropped, a request in
	// the errors folder is removed.
	Drop(ctx context.Context, id string) error
	// Send accepts a file for a group's chat as if its assistant had asked.
	Send(ctx context.Context, s Send) (Item, error)
	// Chats asks a channel's platform which chats its account is in.
	Chats(ctx context.Context, channelName string) ([]channel.Chat, error)
	// Reload has the host read longshore.yaml again and apply it, whole or not
	// at all. That the file was refused is no error.
	Reload(ctx context.Context) (Reloaded, error)
	// Unpair unlinks a channel from its account. Its deliveries are held.
	Unpair(ctx context.Context, channelName string) error
}

// Kind says where an item lies.
type Kind string

// The kinds of items.
const (
	Delivery Kind = "delivery" // in the outbox: it was accepted
	Request  Kind = "request"  // in the errors folder: it was not
)

// Filter chooses items. The zero Filter chooses open deliveries.
type Filter struct {
	Group  string // folder of the group; empty: all
	Failed bool   // what failed, was refused or is uncertain, instead of what is open
	All    bool   // settled deliveries too
	Limit  int    // 0: DefaultLimit
}

// DefaultLimit is how many items List returns when Filter.Limit is 0.
const DefaultLimit = 1000

// Item is one delivery of the outbox, or one request in the errors folder.
type Item struct {
	ID       string     `json:"id"` // a delivery's key, or a request's name in the errors folder
	Kind     Kind       `json:"kind"`
	Group    string     `json:"group"`             // the folder
	Request  string     `json:"request,omitempty"` // the request's id in its group
	Channel  string     `json:"channel,omitempty"`
	Chat     string     `json:"chat,omitempty"`
	State    string     `json:"state"`
	Created  time.Time  `json:"created"`
	Next     *time.Time `json:"next,omitempty"` // of the next attempt
	Files    int        `json:"files"`
	Bytes    int64      `json:"bytes"`
	Attempts int        `json:"attempts"`
	Code     string     `json:"code,omitempty"`
	Message  string     `json:"message,omitempty"`
	Hint     string     `json:"hint,omitempty"`
	Parts    []Part     `json:"parts,omitempty"`
	Raw      string     `json:"raw,omitempty"` // a request's own bytes, as they lie in the errors folder
}

// Part is one message of a delivery.
type Part struct {
	MessageID  string `json:"messageId"`
	PlatformID string `json:"platformId,omitempty"`
	Name       string `json:"name,omitempty"` // of the file; empty for a text
	Kind       string `json:"kind"`           // the media kind, or "text"
	MIME       string `json:"mime,omitempty"`
	Bytes      int64  `json:"bytes"`
	SHA256     string `json:"sha256,omitempty"`
	Text       string `json:"text,omitempty"`
	State      string `json:"state"`
	Sent       int64  `json:"sent,omitempty"` // bytes, while sending
	Attempts   int    `json:"attempts"`
	Code       string `json:"code,omitempty"`
	Message    string `json:"message,omitempty"`
	Hint       string `json:"hint,omitempty"`
}

// Reloaded is what came of a Reload.
type Reloaded struct {
	File    string    `json:"file"`
	Applied time.Time `json:"applied"` // when the configuration in force was; before the call if the file was refused
	Changes []string  `json:"changes"` // for people; of a file that was refused, none
	// Problems are why the file was refused, each with its line and a remedy, as
	// "config validate" prints them. The host goes on as before.
	Problems []string `json:"problems"`
}

// Send is a file that an operator sends in a group's name.
type Send struct {
	Group string `json:"group"` // the folder
	// Path is a container path where it begins with /workspace/, and is then
	// resolved by the group's mounts; otherwise an absolute path of the host.
	Path    string `json:"path"`
	Name    string `json:"name,omitempty"` // to show in the chat
	Caption string `json:"caption,omitempty"`
	Thread  string `json:"thread,omitempty"` // of the chat, as its platform calls it
	As      string `json:"as,omitempty"`     // auto, document, voice, gif, sticker
}

// The codes of this package's errors.
const (
	CodeNotFound  = "not_found"
	CodeAmbiguous = "ambiguous_id"
	CodeNotFailed = "not_failed" // it is open
	CodeSettled   = "settled"    // nothing is left to do with it
	CodeSending   = "sending"    // under way at this moment
	CodeNoBytes   = "no_bytes"   // its files are no longer kept
	CodeUnwell    = "unwell"     // of /healthz
	CodeBadCall   = "bad_call"

	CodeUnknownHost = "unknown_host" // of the metrics' address
	CodeCrossSite   = "cross_site"
	codeInternal    = "internal" // only on the socket: any other error
)

// ErrNoHost means that no host answers on the control socket.
var ErrNoHost = errors.New("no host is running")

// ErrDenied means that a control socket is there and another user's: whether a
// host answers on it, only that user and root can tell.
var ErrDenied = errors.New("the state directory belongs to another user")

// ErrRunning means that a host answers on the control socket already.
var ErrRunning = errors.New("a host is already running on this state directory")
