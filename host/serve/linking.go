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
	account(channelName string) (channel.Linker, channel.Channel)
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
func (h *Host) account(name string) (channel.Linker, channel.Channel) {
	for _, c := range h.Config().Channels {
		if platform, ok := c.Platform.(channel.Linker); ok && c.Name == name {
			return platform, channel.Named(h.Channels, name)
		}
	}
	return nil, nil
}

// Scan implements operator.Linker.
func (l *linker) Scan(name string) string {
	if platform, _ := l.of.account(name); platform != nil {
		return platform.Account().Scan
	}
	return ""
}

// Link implements operator.Linker.
func (l *linker) Link(name string) (operator.Linking, error) {
	platform, c := l.of.account(name)
	if platform == nil || platform.Account().Scan == "" || c == nil {
		return operator.Linking{}, &refusal.Error{Code: operator.CodeBadCall, Message: fmt.Sprintf("channel %q is not linked by a code", name), Hint: "see: longshore help pair"}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.all[name]
	switch {
	case l.closed:
		return operator.Linking{}, operator.ErrNoHost
	case one == nil:
		one = l.begin(name, platform, c)
	case one.over:
		l.forget(name, one)
	default:
		one.timer.Reset(unwatched)
	}
	return one.state, nil
}

// begin starts an attempt. The caller holds mu.
func (l *linker) begin(name string, platform channel.Linker, c channel.Channel) *linking {
	ctx, cancel := context.WithCancel(context.Background())
	one := &linking{state: operator.Linking{Scan: platform.Account().Scan}, cancel: cancel}
	one.timer = time.AfterFunc(unwatched, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.forget(name, one)
	})
	l.all[name] = one
	l.log.Info("an operator links a channel on the page", "channel", name)
	l.wait.Go(func() {
		who, err := platform.Link(ctx, c, channel.Pairing{Screen: linkPage{l, one}, Running: true})
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

// linkPage is the operator's page as the Screen of an attempt: it shows QR codes.
type linkPage struct {
	*linker
	*linking
}

// Say implements channel.Screen.
func (linkPage) Say(string, ...any) {}

// ShowCode implements channel.Screen.
func (linkPage) ShowCode(string) {}

// ShowQR replaces the code of an attempt.
func (p linkPage) ShowQR(text string, valid time.Duration) {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		p.log.Warn("draw a code", "error", err)
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
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.Code, p.state.Until = rows, time.Now().Add(valid)
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
