package turns_test

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/host/turns"
)

// options are a Manager's and what the host round it answers; the zero value of each answer
// is usable.
type options struct {
	turns.Options

	Limits    turns.Limits
	Elsewhere bool
	Plan      func(g groups.Group) (turns.Plan, error)
	Hears     func() inbound.Transcriber
	Placement func(g groups.Group, running map[string]int) (turns.Placement, bool)

	Looked func() // after the outbox was asked what was sent

	Room  func(folder string) error
	React func(ctx context.Context, folder, thread, target, emoji, key string) error
	Sent  func(folder, thread string, since time.Time) (arrived, underWay []string, err error)
	Vote  func(ctx context.Context, in channel.Inbound, voter string) (question string, choices []string, waited bool, err error)

	Fetch func(ctx context.Context, channelName string, f channel.FileRef) (io.ReadCloser, error)
	Role  func(ctx context.Context, chat groups.Address, sender string) (channel.Role, error)
}

// host is the world as its Manager sees it.
type host struct{ *world }

var (
	_ turns.Chat      = host{}
	_ turns.Plans     = host{}
	_ turns.Platforms = host{}
)

func (h host) Say(_ context.Context, folder, thread, text, key string) error {
	return h.say(folder, thread, text, key)
}

func (h host) Tell(_ context.Context, folder, thread, text, key string) error {
	return h.say(folder, thread, text, key)
}

func (h host) React(ctx context.Context, folder, thread, target, emoji, key string) error {
	if h.options.React == nil {
		return nil
	}
	return h.options.React(ctx, folder, thread, target, emoji, key)
}

func (h host) Room(folder string) error {
	if h.options.Room == nil {
		return nil
	}
	return h.options.Room(folder)
}

func (h host) SentSince(_, thread string, since time.Time, but ...string) bool {
	sent := h.sentSince(thread, since, but)
	if h.options.Looked != nil {
		h.options.Looked()
	}
	return sent
}

func (h host) AskedSince(_ string, since time.Time) bool { return h.askedSince(since) }

func (h host) SentFiles(folder, thread string, since time.Time) (arrived, underWay []string, err error) {
	if h.options.Sent == nil {
		return nil, nil, nil
	}
	return h.options.Sent(folder, thread, since)
}

func (h host) Vote(ctx context.Context, _ groups.Address, in channel.Inbound, voter string) (string, []string, bool, error) {
	if h.options.Vote == nil {
		if in.Kind != channel.KindVote {
			return "", nil, false, nil
		}
		return in.Target, in.Choices, false, nil // each answers a question that nobody waits for any more
	}
	return h.options.Vote(ctx, in, voter)
}

func (h host) Registry() *groups.Registry  { return h.registry.Load() }
func (h host) Limits() turns.Limits        { return h.options.Limits }
func (h host) Elsewhere(groups.Group) bool { return h.options.Elsewhere }
func (h host) Zone(string) *time.Location  { return time.UTC }
func (h host) OverBudget(string) bool      { return false }
func (h host) HasThreads(string) bool      { return true }

func (h host) Plan(g groups.Group) (turns.Plan, error) {
	if h.options.Plan == nil {
		return turns.Plan{}, nil
	}
	return h.options.Plan(g)
}

func (h host) Placement(g groups.Group, running map[string]int) (turns.Placement, bool) {
	if h.options.Placement == nil {
		return turns.Placement{}, true
	}
	return h.options.Placement(g, running)
}

func (h host) Transcriber(groups.Group) inbound.Transcriber {
	if h.options.Hears == nil {
		return nil
	}
	return h.options.Hears()
}

func (h host) Fetch(ctx context.Context, channelName string, f channel.FileRef) (io.ReadCloser, error) {
	if h.options.Fetch == nil {
		return h.fetch(f)
	}
	return h.options.Fetch(ctx, channelName, f)
}

func (h host) RoleOf(ctx context.Context, chat groups.Address, sender string) (channel.Role, error) {
	if h.options.Role == nil {
		return channel.RoleUnknown, nil
	}
	return h.options.Role(ctx, chat, sender)
}

func (h host) Typing(_ context.Context, _ groups.Address, _ string, on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.typing = append(h.typing, on)
}

// endedTasks notes which runs of tasks have ended.
type endedTasks struct{ runs *[]string }

func (e endedTasks) Ended(run string) { *e.runs = append(*e.runs, run) }

// disk is a disk with room as its function says.
type disk func(bytes int64) (release func(), err error)

func (d disk) Reserve(bytes int64) (release func(), err error) { return d(bytes) }

// transcriber is the method of a transcriber.
type transcriber func(ctx context.Context, sound *os.File, mime string) (text string, seconds int, err error)

func (t transcriber) Transcribe(ctx context.Context, sound *os.File, mime string) (text string, seconds int, err error) {
	return t(ctx, sound, mime)
}
