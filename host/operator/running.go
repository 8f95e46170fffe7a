package operator

import (
	"context"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/cluster"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/host/turns"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// Running are the parts of a host that runs in this process. All but Remote, Page and Cluster are set.
type Running struct {
	Started    time.Time
	Host       Host
	Machine    Machine
	Assistants Assistants
	Models     Models
	Pairing    Pairing
	Queue      Queue
	Linker     Linker
	Notifier   Notifier
	Tasks      Tasks
	Remote     *tokens.Tokens // nil: the configuration lets no assistants in by HTTP
	Page       Page           // nil: the host serves no operator's page
	Cluster    *cluster.Host  // nil: the host is in none
	Recent     *Recent        // of the host's log
}

// Host is the configuration that a host runs by: *serve.Host.
type Host interface {
	Applied() time.Time
	// Reload is Control's.
	Reload(ctx context.Context, remove bool) (Reloaded, error)
	Quota() Quota
	// Refusals counts refused requests by code since the host's start.
	Refusals() map[string]int64
	// FreeDisk is how many bytes of the disk must stay free: below them, nothing is accepted.
	FreeDisk() int64
}

// Machine is what a host finds around it: *serve.Host.
type Machine interface {
	// ClockAhead is how far this machine's clock is ahead of the platforms'; ok is false if
	// no platform has sent its time lately.
	ClockAhead() (ahead time.Duration, ok bool)
	// Backup is how the daily backup of the state stands.
	Backup() Backup
}

// Backup is how the daily backup of the state stands.
type Backup struct {
	Last    time.Time // of the newest good one; zero if there is none
	Problem string    // why the latest attempt failed; empty: it did not
	Known   bool      // the host has seen since its start whether one is due
}

// Assistants are the groups' assistants: *turns.Manager.
type Assistants interface {
	Status() []turns.Status
	Ignored(folder string) turns.Ignored
	Turns(folder string) turns.Turns
	Troubles() map[cause.Cause]int64
	Told() []turns.Told
	StopGroup(folder string) (turns, waited int, err error)
	InboxUse(folder string) int64
}

// Models are the calls of models that the host passes on: *serve.Host.
type Models interface {
	// Spending is what the calls of a group have used; ok is false if the host does not pass them on.
	Spending(ctx context.Context, folder string) (s Spending, ok bool)
}

// Pairing are the chats that no group has, and in which somebody wrote: *serve.Host.
type Pairing interface {
	Codes() []PairingCode
	// ApprovePairing is Control's.
	ApprovePairing(ctx context.Context, code string) error
	UnknownChats() []UnknownChat
}

// Queue are the groups' requests that are not accepted yet: *spool.Spool.
type Queue interface {
	// Stuck is what the queue of a group waits for.
	Stuck(folder string) (spool.Stuck, bool)
}

// Tasks are the scheduled tasks: *tasks.Tasks.
type Tasks interface {
	List(ctx context.Context, group string) ([]tasks.Task, error)
	// Operate is Control's OperateTask.
	Operate(ctx context.Context, id, verb string) (tasks.Answer, error)
}

// Linker links channels to accounts by codes, while somebody asks.
type Linker interface {
	// Scan says where on the phone a code of the channel is scanned; empty: it has none.
	Scan(channelName string) string
	// Link is Control's.
	Link(channelName string) (Linking, error)
}

// Notifier reports faults to the operator: *notify.Notifier.
type Notifier interface {
	// Test sends a test to each target.
	Test(context.Context) []Notified
}

// Page is the operator's page: *console.Console.
type Page interface {
	// SignIn returns an address that signs one browser in; empty while the page is down.
	SignIn() string
}

// Reload implements Control.
func (l *Local) Reload(ctx context.Context, remove bool) (Reloaded, error) {
	if l.Running == nil {
		return Reloaded{}, ErrNoHost
	}
	return l.Running.Host.Reload(ctx, remove)
}

// NotifyTest implements Control.
func (l *Local) NotifyTest(ctx context.Context) ([]Notified, error) {
	if l.Running == nil {
		return nil, ErrNoHost
	}
	return l.Running.Notifier.Test(ctx), nil
}

// PairingCodes implements Control.
func (l *Local) PairingCodes(context.Context) ([]PairingCode, error) {
	if l.Running == nil {
		return nil, ErrNoHost
	}
	return l.Running.Pairing.Codes(), nil
}

// ApprovePairing implements Control.
func (l *Local) ApprovePairing(ctx context.Context, code string) error {
	if l.Running == nil {
		return ErrNoHost
	}
	return l.Running.Pairing.ApprovePairing(ctx, code)
}

// StopAssistant implements Control.
func (l *Local) StopAssistant(_ context.Context, folder string) (s Stopped, err error) {
	if l.Running == nil {
		return s, ErrNoHost
	}
	if !slices.ContainsFunc(l.configured(), func(g groups.Group) bool { return g.Folder == folder }) {
		return s, noGroup(folder)
	}
	s.Turns, s.Waited, err = l.Running.Assistants.StopGroup(folder)
	return s, err
}

// Log implements Control.
func (l *Local) Log(_ context.Context, q LogQuery) (LogPage, error) {
	if l.Running == nil {
		return LogPage{}, ErrNoHost
	}
	return l.Running.Recent.Lines(q), nil
}

// PageURL implements Control.
func (l *Local) PageURL(context.Context) (PageURL, error) {
	switch {
	case l.Running == nil:
		return PageURL{}, ErrNoHost
	case l.Running.Page == nil:
		return PageURL{}, &refusal.Error{
			Code: CodePageOff, Message: "the host serves no operator's page",
			Hint: `write operator_page: {listen: "127.0.0.1:8400"} into longshore.yaml and restart the host`,
		}
	}
	url := l.Running.Page.SignIn()
	if url == "" {
		return PageURL{}, &refusal.Error{Code: CodePageOff, Message: "the operator's page is down", Hint: "see what keeps it down: longshore status"}
	}
	return PageURL{URL: url}, nil
}

// Link implements Control.
func (l *Local) Link(_ context.Context, channelName string) (Linking, error) {
	if l.Running == nil {
		return Linking{}, ErrNoHost
	}
	return l.Running.Linker.Link(channelName)
}

// Tasks implements Control.
func (l *Local) Tasks(ctx context.Context, group string) ([]tasks.Task, error) {
	if l.Running == nil {
		return nil, ErrNoHost
	}
	all, err := l.Running.Tasks.List(ctx, group)
	if all == nil {
		all = []tasks.Task{}
	}
	return all, err
}

// OperateTask implements Control.
func (l *Local) OperateTask(ctx context.Context, id, verb string) (tasks.Answer, error) {
	if l.Running == nil {
		return tasks.Answer{}, ErrNoHost
	}
	return l.Running.Tasks.Operate(ctx, id, verb)
}
