package serve

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// phone is a platform whose account is linked when the phone says so.
type phone struct {
	channel.Linker
	says chan error
	ends atomic.Int32
}

func (*phone) Account() channel.Account { return channel.Account{Scan: "on the phone"} }

func (p *phone) Link(ctx context.Context, _ channel.Channel, pairing channel.Pairing) (string, error) {
	pairing.ShowQR("code", time.Minute)
	select {
	case <-ctx.Done():
		p.ends.Add(1)
		return "", ctx.Err()
	case err := <-p.says:
		return "account", err
	}
}

// theAccount is that of the channel phone.
type theAccount struct{ channel.Linker }

func (a theAccount) account(name string) (channel.Linker, channel.Channel) {
	if name == "phone" {
		return a.Linker, offline{}
	}
	return nil, nil
}

// withPhone runs a linker in a bubble.
func withPhone(t *testing.T, do func(l *linker, p *phone)) {
	synctest.Test(t, func(t *testing.T) {
		p := &phone{says: make(chan error)}
		l := &linker{log: slog.New(slog.DiscardHandler), all: map[string]*linking{}, of: theAccount{p}}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { _ = l.Run(ctx); close(done) }()
		do(l, p)
		stop()
		<-done
		if _, err := l.Link("phone"); !errors.Is(err, operator.ErrNoHost) {
			t.Errorf("after the end: %v", err)
		}
	})
}

func asked(t *testing.T, l *linker) operator.Linking {
	t.Helper()
	state, err := l.Link("phone")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return state
}

func TestAnOperatorLinksAChannelWhileTheHostRuns(t *testing.T) {
	withPhone(t, func(l *linker, p *phone) {
		if first := asked(t, l); first.Scan != "on the phone" || first.Account != "" {
			t.Errorf("begun: %+v", first)
		}
		if s := asked(t, l); len(s.Code) < 21 || len(s.Code) != len(s.Code[0]) || !s.Until.After(time.Now()) {
			t.Errorf("the code: %+v", s)
		}
		p.says <- nil
		synctest.Wait()
		if s := asked(t, l); s.Account != "account" || s.Code != nil {
			t.Errorf("linked: %+v", s)
		}
	})
}

func TestALinkingThatNobodyWatchesEnds(t *testing.T) {
	withPhone(t, func(l *linker, p *phone) {
		for range 10 { // somebody watches
			asked(t, l)
			time.Sleep(unwatched - time.Second)
		}
		if p.ends.Load() != 0 {
			t.Fatal("it ended while somebody watched")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if p.ends.Load() != 1 || len(l.all) != 0 {
			t.Errorf("%d ended, %d go on", p.ends.Load(), len(l.all))
		}
	})
}

func TestAFailedLinkingIsToldAndBegunAnew(t *testing.T) {
	withPhone(t, func(l *linker, p *phone) {
		asked(t, l)
		p.says <- errors.New("the codes have run out")
		synctest.Wait()
		if s := asked(t, l); s.Failed != "the codes have run out" || s.Account != "" {
			t.Errorf("failed: %+v", s)
		}
		asked(t, l)
		p.says <- &channel.LinkedError{Account: "another"}
		synctest.Wait()
		if s := asked(t, l); s.Account != "another" || s.Failed != "" {
			t.Errorf("linked already: %+v", s)
		}
		if _, err := l.Link("web"); refusal.Of(err) == nil || refusal.Of(err).Code != operator.CodeBadCall {
			t.Errorf("a channel without a code: %v", err)
		}
	})
}
