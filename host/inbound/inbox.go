// Package inbound keeps what members write and what goes with it: messages until the turn that
// held them has ended, the files that they bring, and what assistants may read again.
//
// A [Store] is one group's part of the tables whose names begin with inbound_. Its changes become
// part of the caller's transaction. An [Inbox] is the directory of a group's workspace with the
// files of members:
//
//	groups/<folder>/inbox/
//
// A [Fetcher] brings them there, each from its channel, and has voice notes transcribed. It reports
// to the [Group] what became of each.
package inbound

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

const (
	bringTime = 20 * time.Second // for one file that is fetched again
	bringing  = 2                // of them at once, over all groups: whoever asks holds up its group's queue
)

// Options says what a Fetcher works with. All but Disk is needed.
type Options struct {
	Layout   groups.Layout
	Channels Channels
	Disk     Disk  // nil: files of members may fill it
	MaxFile  int64 // largest file of a member, in bytes
	Log      *slog.Logger
}

// Channels are where members' files come from.
type Channels interface {
	// Fetch opens a member's file through the channel of that name.
	Fetch(ctx context.Context, channelName string, f channel.FileRef) (io.ReadCloser, error)
}

// Disk is the disk of the workspaces: serve's disk.
type Disk interface {
	// Reserve returns an error if that many bytes more may not be written; release gives
	// them back.
	Reserve(bytes int64) (release func(), err error)
}

// Fetcher fetches members' files for all groups. Its methods may be called concurrently.
type Fetcher struct {
	Options
	bringing chan struct{} // holds a value for each file that Bring fetches

	mu      sync.Mutex      // guards the lanes of all inboxes, too
	ctx     context.Context // of the lanes; nil: they do not work
	working sync.WaitGroup  // lanes
}

// NewFetcher returns a Fetcher that does not work yet.
func NewFetcher(o Options) *Fetcher {
	return &Fetcher{Options: o, bringing: make(chan struct{}, bringing)}
}

// Start lets the lanes work until ctx is done. Then the caller calls stop, which waits for them.
func (f *Fetcher) Start(ctx context.Context) (stop func()) {
	f.mu.Lock()
	f.ctx = ctx
	f.mu.Unlock()
	return func() {
		f.mu.Lock()
		f.ctx = nil
		f.mu.Unlock()
		f.working.Wait()
	}
}

// Group is what an Inbox needs of its group; package turns implements it. The Fetcher holds no lock
// when it calls a method.
type Group interface {
	// Limit returns the bytes in the inbox above which no file is added; 0: no bound.
	Limit() int64
	// Transcriber returns nil if voice notes are not transcribed.
	Transcriber() Transcriber
	// FetchEnded makes durable that a file is as w.File says now, with what also changes. more says
	// that it will be transcribed.
	FetchEnded(w *PendingFile, more bool, also ...Change)
	// TranscriptionEnded does the same for a transcript, or the reason why there is none.
	TranscriptionEnded(w *PendingFile, also ...Change)
	// FetchFailed notes that the first attempt at a file has failed, and another will follow.
	FetchFailed(w *PendingFile)
	// Idle notes that a lane has stopped working.
	Idle()
}

// Inbox is the directory of one group with members' files, and the files that are on their way to
// it. It is neither a [channel.Inbox], which takes members' messages from a channel, nor an ipc.Inbox,
// which has the messages for an assistant elsewhere.
type Inbox struct {
	f     *Fetcher
	ctx   context.Context
	group groups.Group
	store *Store
	of    Group

	storing sync.Mutex // one file at a time, as the size is bounded
	counted inboxCount // for those who ask often

	quick, patient lane // files to fetch
	speech         lane // sounds to transcribe
}

// Open returns the inbox of a group, with the files that an earlier host has left. Nothing is
// fetched after ctx is done.
func (f *Fetcher) Open(ctx context.Context, g groups.Group, s *Store, of Group, files []*PendingFile) *Inbox {
	b := &Inbox{f: f, ctx: ctx, group: g, store: s, of: of}
	b.patient.patient, b.speech.transcribes = true, true
	for _, w := range files {
		switch {
		case Elsewhere(w.Chat, g):
		case w.File.Path != "":
			b.speech.files = append(b.speech.files, w)
		default:
			b.patient.files = append(b.patient.files, w)
		}
	}
	return b
}

func (b *Inbox) workspace() string { return b.f.Layout.Workspace(b.group.Folder) }

// Bring makes sure that a file of an earlier message is in the inbox, and returns its path in the
// container. Errors are refusals.
func (b *Inbox) Bring(ctx context.Context, f File) (string, error) {
	name := b.store.fetchedName(f.Ref)
	if name == "" && f.Path != "" {
		name = filepath.Base(f.Path)
	}
	if name != "" && liesInInbox(b.workspace(), name) {
		return inboxFile(name), nil
	}
	if f.Ref == "" {
		return "", &refusal.Error{Code: "file_gone", Message: "the file is no longer kept", Hint: "ask the member to send it again"}
	}
	select {
	case b.f.bringing <- struct{}{}:
		defer func() { <-b.f.bringing }()
	default:
		return "", &refusal.Error{Code: "fetch_busy", Message: "other files are being fetched", Hint: "call again in a minute"}
	}
	ctx, cancel := context.WithTimeout(ctx, bringTime)
	defer cancel()
	stored, _, err := b.bring(ctx, f.Name, f.Ref, false)
	if err != nil {
		b.f.Log.Info("member's earlier file not fetched", "group", b.group.Folder, "file", f.Name, "error", err)
		return "", &refusal.Error{Code: "file_gone", Message: "the file cannot be had: " + reason(errors.Join(errFetch, err)), Hint: "ask the member to send it again"}
	}
	if err := b.store.Do("remember file", b.store.noteFetched(f.Ref, stored)); err != nil {
		b.f.Log.Warn("a member's file is fetched again if its message is answered", "error", err)
	}
	return inboxFile(stored), nil
}
