// Package turns hands members' messages to their group's assistant, in turns, and enqueues the
// assistant's answers for the chat.
//
// [Manager] takes members' messages from the channels. A message that calls the assistant,
// by its trigger word or directly, starts the group's assistant, or goes into the input
// directory of the running one. Messages that do not call it are kept as context for the
// next call. Only a few assistants run at once on each container engine. Other groups wait, in the order in which
// they were called; an idle assistant is ended to make room.
//
// Package inbound keeps the messages and their files. This package has the tables of turns, runs
// and threads, and writes follow-ups for the assistant:
//
//	ipc/<folder>/input/
//	places/<folder>/<n>/input/    of a further assistant that runs at the same time
//
// # Bursts
//
// Messages of one conversation that follow each other closely are handed over together;
// see groups.Gather. If one of them calls the assistant, all do.
//
// # Threads
//
// Each thread of a chat is a conversation of its own, with its own messages, session and
// turns, unless the group or the channel has none. As many threads' assistants run at a time
// as the group allows, by default one, each with its own input directory; the other
// threads wait. Requests of a turn carry the turn's id, by which [Manager.ThreadOf] finds
// the thread.
//
// # What is kept
//
// A message is kept before Receive returns, in one transaction with the references of its
// files and the end of its channel's entry. It stays until its turn has ended: until the
// assistant's next output after it was read, or until the chat was told that there will be
// no answer. The end of the turn, the agent's session and what is left of the turn are one
// transaction, too. A message that the channel delivers twice counts once. Messages that an
// assistant has not read when it ends go to the next one. A follow-up that was handed to an
// assistant without a shared directory counts as read, unless that has ended without it.
//
// A turn breaks if the assistant crashes, hangs, or dies with its host. It is retried only
// if nothing of it has reached the outbox or the queue; otherwise the chat is told that it
// was interrupted, because a second run would send twice. A start that fails because no
// engine runs does not count as an attempt: the message waits for the engine. So each
// message is answered, retried, or its loss reported. An output names the follow-ups that
// it answers. NanoClaw v1's runner does not name them, which leaves one gap: a follow-up
// that it reads just before the host sees the end of the previous turn counts as part of
// that turn.
//
// # Assistants elsewhere
//
// An assistant that lives elsewhere is not started: it takes its conversation's messages
// with [Manager.Fetch], as often as it likes, and ends each with [Manager.Ack]. Everything
// before that is the same: who may speak, the trigger, bursts, files and members' commands such as /stop.
//
// The package does not send: texts go to Options.Chat. It does not decide which chats
// exist, and knows no channel by name.
package turns

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/media"
)

// Options says what a Manager works with. State, Layout, Chat, Plans and Platforms are needed,
// and a Runtime from here or from Plans; the zero value of everything else is usable.
type Options struct {
	State       *state.DB
	Layout      groups.Layout
	Runtime     runtime.Runtime // unless a Plan names another
	Chat        Chat
	Plans       Plans
	Platforms   Platforms
	Tasks       Tasks         // nil: there are none
	Disk        inbound.Disk  // nil: files of members may fill it
	IdleTimeout time.Duration // after which one with nothing to do is ended; 0: 30 min
	TurnTimeout time.Duration // in which a turn must bring an output; 0: 30 min
	CloseGrace  time.Duration // in which an assistant that was asked to end does; 0: 30 s
	Attempts    int           // how often a turn that broke is tried in all; 0: 3
	Backoff     time.Duration // before the second attempt, doubled for each further one, at most 5 min; 0: 2 s
	Probe       time.Duration // before the first look whether a permanent cause is gone, doubled for each further one, at most 10 min; 0: 1 min
	MaxFile     int64         // largest file of a member, in bytes; 0: 100 MiB
	Context     int           // messages kept that did not call the assistant; 0: 50
	Idle        bool          // Run will not be called: turns of an earlier host are left to the next one, because their assistants may still run
	Log         *slog.Logger
}

// Chat enqueues what is said in a group's chat, and knows what the group has sent:
// *bridge.Bridge. What it takes is durable when a method returns; a second call with the same
// key, even after a restart, does nothing. An empty thread is the chat itself.
type Chat interface {
	// Say enqueues an answer of the assistant, and Tell a message of the host, which no
	// assistant may change.
	Say(ctx context.Context, folder, thread, text, key string) error
	Tell(ctx context.Context, folder, thread, text, key string) error
	// React puts an emoji on a message, or removes it if emoji is empty. It has no effect
	// on a channel without reactions.
	React(ctx context.Context, folder, thread, target, emoji, key string) error
	// Room returns the reason why no further answer of the group may be accepted now; the
	// error passes. Answers wait for room, messages of the host do not.
	Room(folder string) error
	// SentSince reports whether, at or after that time, the outbox accepted anything that the
	// group's assistant sent, or that this package sent to that thread. Texts that Say or
	// Tell took under the keys in but do not count.
	SentSince(folder, thread string, since time.Time, but ...string) bool
	// AskedSince reports whether, at or after that time, the outbox accepted anything that the
	// group's assistant sent with its tools.
	AskedSince(folder string, since time.Time) bool
	// SentFiles names the files that the group's assistant sent to that thread with its tools
	// since the time, oldest first: those that have arrived, and those under way. A text has
	// an empty name.
	SentFiles(folder, thread string, since time.Time) (arrived, underWay []string, err error)
	// Vote takes a message or vote that may answer a question of the group's assistant, by
	// the voter of that id. question is the platform's id of the question that it answers,
	// and empty if it answers none. waited says that the tool which asked still waits for
	// the answer. Errors pass.
	Vote(ctx context.Context, chat groups.Address, in channel.Inbound, voter string) (question string, choices []string, waited bool, err error)
}

// Plans is what the configuration in force says: serve's plans. Its methods are called at each use: the
// operator may change their answers while assistants run.
type Plans interface {
	Registry() *groups.Registry
	Limits() Limits
	// Plan says how to run a group's assistant.
	Plan(g groups.Group) (Plan, error)
	// Placement says on which engine a group's assistant runs next, if so many run on each; ok is
	// false if that is not known yet. It is called with a lock held, and must not wait.
	Placement(g groups.Group, running map[string]int) (p Placement, ok bool)
	// Elsewhere reports whether a group's assistant lives elsewhere: nothing is started for
	// it, and it takes its messages with Fetch and Ack.
	Elsewhere(g groups.Group) bool
	Zone(folder string) *time.Location
	// Transcriber returns nil if the voice notes of a group's members are not transcribed.
	Transcriber(g groups.Group) inbound.Transcriber
	// OverBudget reports whether the last call of the group's model was refused because its
	// budget is used up.
	OverBudget(folder string) bool
}

// Placement is where a group's assistant runs.
type Placement struct {
	Engine string // its name; empty: this machine, or its only engine
	Former string // the engine that the group leaves, with all that the assistant has kept there; empty: none
}

// Platforms is what the channels can do for a chat: serve's platforms.
type Platforms interface {
	inbound.Channels
	// RoleOf asks the platform for a member's role in a chat, by Inbound.Sender.
	RoleOf(ctx context.Context, chat groups.Address, sender string) (channel.Role, error)
	// HasThreads reports whether the chats of the channel of that name have threads.
	HasThreads(channelName string) bool
	// Typing shows or hides that somebody is writing.
	Typing(ctx context.Context, chat groups.Address, thread string, on bool)
}

// Tasks gets the id of a task's run that has ended, as Manager.Task got it: *tasks.Tasks.
type Tasks interface{ Ended(run string) }

// Limits bound what the assistants take from the machine.
type Limits struct {
	AtOnce      int           // assistants that run at the same time on each engine, and on this machine; 0: 5
	Inbox       int64         // bytes in a group's inbox, above which no file of a member is kept; 0: no bound
	Threads     int           // threads of a chat that are remembered, each as a conversation of its own; 0: a chat is one conversation
	NoticeAfter time.Duration // for how long a model may not answer before the chat is told; 0: 1 min
	Hold        time.Duration // how long messages wait for an operator if the assistant cannot answer before; 0: 24 h
}

// Plan is how to run one group's assistant. If the plan changes while the assistant runs,
// the present turn continues with the old plan.
type Plan struct {
	Runtime                  runtime.Runtime   // nil: that of Options
	Name                     string            // what the assistant is called, in the agent protocol
	Agent                    string            // which agent agentrunner drives
	Model                    string            // what the configuration calls its model; empty: the agent's own choice
	Engines                  []string          // on which it may run, by name
	Command                  []string          // instead of the runtime's default; may be empty
	Env                      map[string]string // further environment
	Secrets                  map[string]string // handed over in the input, never in the environment or a log
	IdleTimeout, TurnTimeout time.Duration     // instead of those of Options; 0: those
}

func (o Options) withDefaults() Options {
	o.IdleTimeout = or(o.IdleTimeout, 30*time.Minute)
	o.TurnTimeout = or(o.TurnTimeout, 30*time.Minute)
	o.CloseGrace = or(o.CloseGrace, 30*time.Second)
	o.Attempts = or(o.Attempts, 3)
	o.Backoff = or(o.Backoff, 2*time.Second)
	o.Probe = or(o.Probe, time.Minute)
	o.MaxFile = or(o.MaxFile, 100*media.MiB)
	o.Context = or(o.Context, 50)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

func or[T int | int64 | time.Duration](value, otherwise T) T {
	if value <= 0 {
		return otherwise
	}
	return value
}

// limits returns the present limits.
func (m *Manager) limits() Limits {
	l := m.o.Plans.Limits()
	l.AtOnce, l.NoticeAfter, l.Hold = or(l.AtOnce, 5), or(l.NoticeAfter, time.Minute), or(l.Hold, 24*time.Hour)
	return l
}

// Manager runs the groups' assistants. Its methods may be called from several
// goroutines.
type Manager struct {
	o        Options
	files    *inbound.Fetcher
	secret   []byte           // of this installation
	wake     chan struct{}    // to Run, of capacity one: something may be due
	opening  sync.Mutex       // held while conversations are opened; taken before mu
	mu       sync.Mutex       // guards the fields below, and the conversations' state
	known    *groups.Registry // that all and byGroup follow; nil: they have to be looked at
	all      []*conversation
	byGroup  map[string]*chat // by folder
	troubles map[cause.Cause]int64
	tolds    tolds
	opened   []*conversation // since Run looked
	queue    []*conversation // called, waiting for room, first come first served
	running  map[string]int  // how many run, by engine
}
