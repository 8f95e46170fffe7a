package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/channel/web/session"
	"github.com/longshore-bridge/longshore/host/channel/web/webpush"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// New makes the channel of a configuration.
func (platform) New(s channel.Setup) (channel.Channel, error) {
	set := s.Settings.(*Settings)
	proxies, err := httpd.ParseProxies(set.Proxies)
	if err != nil {
		return nil, fmt.Errorf("proxies: %w", err)
	}
	return New(Options{
		Proxies: proxies,
		Name:    s.Name, State: s.State, Listen: set.Listen, Token: set.Token.Reveal(), Hosts: set.hosts(),
		Tasks: s.Tasks, Links: s.Links, Push: set.push(), Terms: termsOf(s), Log: s.Log,
	})
}

// fewDistinct is a number of distinct characters that can be guessed, as in "aaaa…".
const fewDistinct = 8

// Examine implements channel.Platform: it checks the address and the token of the page.
func (platform) Examine(ctx context.Context, s channel.Setup, running bool) []finding.Finding {
	set := s.Settings.(*Settings)
	e := channel.Examination{Channel: s.Name}
	hostname, _, err := net.SplitHostPort(set.Listen)
	if err != nil {
		e.Found(finding.Fault, "the address of the web channel is not host:port", `write it as "127.0.0.1:8080"`)
		return e.All
	}
	local, token, guessed := httpd.Loopback(hostname), set.Token.Reveal(), finding.Fault
	if local {
		guessed = finding.Warning
	}
	switch {
	case set.Token.Unset() || token == "" && local:
	case token == "":
		e.Found(finding.Fault, "the web channel is open to other machines and has no token", "set a token, for example from: openssl rand -hex 32")
	case len(token) < httpd.MinToken || distinct(token) < fewDistinct:
		e.Found(guessed, "the web channel's token can be guessed", "set a longer one, for example from: openssl rand -hex 32")
	}
	if taken := httpd.Taken(set.Listen); !running && taken != nil {
		e.Found(finding.Fault, "the web channel cannot listen: "+taken.Error(), "end the program that has the address, or name another one in channels."+s.Name+".listen")
	}
	if len(e.All) == 0 {
		e.Found(finding.Fine, "the web channel's address is as it should be", "")
	}
	return e.All
}

func distinct(s string) int {
	seen := map[rune]bool{}
	for _, r := range s {
		seen[r] = true
	}
	return len(seen)
}

var _ channel.Former = platform{}

// ForgetFormer implements channel.Former. Nobody knows what keep such a channel has: its messages
// go when the newest has expired under the default, so that a start without the channel, which
// may have been a slip, deletes none of them.
func (p platform) ForgetFormer(ctx context.Context, db *state.DB, configured []string, log *slog.Logger) error {
	before := time.Now().Add(-p.Settings().(*Settings).Keep.Std())
	former, err := history.ForgetFormer(ctx, db, configured, before, log)
	for _, name := range former {
		err = errors.Join(err, session.Forget(ctx, db, name, before), webpush.Forget(ctx, db, name, before))
	}
	return err
}
