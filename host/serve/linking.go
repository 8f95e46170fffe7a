package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"rsc.io/qr"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// unwatched is how long nobody may have asked about a linking before it ends.
const unwatched = 15 * time.Second

// linker links the running host's channels for an operator who watches. It owns its
// goroutines until run returns.
type linker struct {
	noApply
	noClose
	of  accounts
	log *slog.Logger

	mu     sync.Mutex
	all    map[string]*linking // by channel
	closed bool
	wait   sync.WaitGroup
}

// accounts are those of the channels.
type accounts interface {
	// account returns how a channel is linked; nil if it has no account or does not exist.
	account(channelName string) (*channel.Account, channel.Channel)
}

func (h *Host) openLinker(context.Context) (Part, error) {
	h.linker = &linker{of: h, log: h.opts.Log, all: map[string]*linking{}}
	return h.linker, nil
}

// linking is one attempt. The linker's mu guards it.
type linking struct {
	state  operator.Linking
	over   bool
	cancel context.CancelFunc
	timer  *time.Timer // fires when it is unwatched
}

// account implements accounts.
func (h *Host) account(name string) (*channel.Account, channel.Channel) {
	for _, c := range h.Config().Channels {
		if c.Name == name {
			return c.Platform.Account, channel.Named(h.Channels, name)
		}
	}
	return nil, nil
}

// Scan implements operator.Linker.
func (l *linker) Scan(name string) string {
	if account, _ := l.of.account(name); account != nil {
		return account.Scan
	}
	return ""
}

// Link implements operator.Linker.
func (l *linker) Link(name string) (operator.Linking, error) {
	account, c := l.of.account(name)
	if account == nil || account.Scan == "" || c == nil {
		return operator.Linking{}, &refusal.Error{Code: operator.CodeBadCall, Message: fmt.Sprintf("channel %q is not linked by a code", name), Hint: "see: longshore help pair"}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.all[name]
	switch {
	case l.closed:
		return operator.Linking{}, operator.ErrNoHost
	case one == nil:
		one = l.begin(name, account, c)
	case one.over:
		l.forget(name, one)
	default:
		one.timer.Reset(unwatched)
	}
	return one.state, nil
}

// begin starts an attempt. The caller holds mu.
func (l *linker) begin(name string, account *channel.Account, c channel.Channel) *linking {
	ctx, cancel := context.WithCancel(context.Background())
	one := &linking{state: operator.Linking{Scan: account.Scan}, cancel: cancel}
	one.timer = time.AfterFunc(unwatched, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.forget(name, one)
	})
	l.all[name] = one
	l.log.Info("an operator links a channel on the page", "channel", name)
	l.wait.Go(func() {
		who, err := account.Link(ctx, c, channel.Pairing{
			ShowQR: func(code string, valid time.Duration) { l.show(one, code, valid) }, ShowCode: func(string) {}, Say: func(string, ...any) {},
		})
		l.mu.Lock()
		defer l.mu.Unlock()
		one.over, one.state.Code = true, nil
		if linked, ok := errors.AsType[*channel.LinkedError](err); ok {
			who, err = linked.Account, nil
		}
		if one.state.Account = who; err != nil {
			one.state.Account, one.state.Failed = "", err.Error()
		}
		l.log.Info("linking ended", "channel", name, "account", one.state.Account, "error", one.state.Failed)
	})
	return one
}

// forget ends an attempt. The caller holds mu.
func (l *linker) forget(name string, one *linking) {
	one.cancel()
	one.timer.Stop()
	if l.all[name] == one {
		delete(l.all, name)
	}
}

// show replaces the code of an attempt.
func (l *linker) show(one *linking, text string, valid time.Duration) {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		l.log.Warn("draw a code", "error", err)
		return
	}
	rows := make([]string, code.Size)
	for y := range rows {
		var row strings.Builder
		for x := range code.Size {
			if code.Black(x, y) {
				row.WriteByte('1')
			} else {
				row.WriteByte('0')
			}
		}
		rows[y] = row.String()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	one.state.Code, one.state.Until = rows, time.Now().Add(valid)
}

// Run waits until ctx is done, and ends all attempts.
func (l *linker) Run(ctx context.Context) error {
	<-ctx.Done()
	l.mu.Lock()
	l.closed = true
	for name, one := range l.all {
		l.forget(name, one)
	}
	l.mu.Unlock()
	l.wait.Wait()
	return nil
}
