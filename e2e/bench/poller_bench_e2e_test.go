//go:build e2e

package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/channel/discord"
	"github.com/longshore-bridge/longshore/host/channel/slack"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// newPoller has its stores beside those of the site.
func newPoller(s *stage.Site) *stage.Poller {
	s.Helper()
	p := &stage.Poller{Site: s, B: s.TB.(*testing.B), Dir: filepath.Join(s.Dir, "poller")}
	err := os.Mkdir(p.Dir, 0o700)
	for _, name := range []string{"longshore.yaml", "bot", "app"} {
		if text, missing := os.ReadFile(filepath.Join(s.Dir, name)); missing == nil {
			err = errors.Join(err, os.WriteFile(filepath.Join(p.Dir, name), text, 0o600))
		}
	}
	if err != nil {
		s.Fatal(err)
	}
	net := slack.Net{}
	if s.Slack != nil {
		net.API = s.Slack.URL()
	}
	cfg, err := config.Load(filepath.Join(p.Dir, "longshore.yaml"), stage.PlatformsOver(whatsapp.Net{}, net, discord.Net{}))
	if err == nil {
		err = cfg.Layout().Prepare(cfg.Groups)
	}
	end := func() {}
	if err == nil {
		setup := serve.SetupOf(cfg, cfg.Channels[0], slog.New(slog.DiscardHandler))
		setup.State, end = statetest.Start(s, cfg.Layout().Own())
		p.Channel, err = cfg.Channels[0].Platform.New(setup)
	}
	if err == nil {
		p.Log, err = os.Create(filepath.Join(p.Dir, "log"))
	}
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Channel.Run(ctx, nobody{}) }()
	p.Close = func() {
		cancel()
		if err := errors.Join(<-ended, p.Log.Close()); err != nil {
			s.Error(err)
		}
		end()
	}
	for connected := false; !connected; <-time.After(time.Millisecond) {
		connected, _ = p.Channel.(channel.Status).Connected()
	}
	return p
}

// nobody reads what members write.
type nobody struct{}

func (nobody) Receive(context.Context, channel.Inbound) error { return nil }

func (nobody) Report(context.Context, groups.JID, string, channel.State) {}

// pollerDrain takes all requests to their ends.
func pollerDrain(p *stage.Poller) time.Duration {
	p.Helper()
	start := time.Now()
	for i := range p.Folders {
		entries, err := os.ReadDir(p.Messages(p.Folders[i]))
		if err != nil {
			p.Fatal(err)
		}
		for _, e := range entries {
			if err := one(p, i, e.Name()); err != nil {
				p.Fatal(err)
			}
		}
	}
	return time.Since(start)
}

func one(p *stage.Poller, folder int, name string) error {
	path := filepath.Join(p.Messages(p.Folders[folder]), name)
	body, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	request, err := ipc.Decode(body)
	if err != nil {
		return err
	}
	fdatasync(p.B, p.Log, len(body))
	r, err := p.Channel.Send(p.Context(), message(p, folder, request))
	if err != nil {
		return err
	}
	fdatasync(p.B, p.Log, len(body))
	result, err := json.Marshal(ipc.Result{ID: name, Status: ipc.Sent, MessageID: r.ID})
	if err != nil {
		return err
	}
	tmp := filepath.Join(p.Dir, ".tmp")
	if err := os.WriteFile(tmp, result, 0o644); err != nil {
		return err
	}
	if err := os.Rename(tmp, filepath.Join(p.Dir, p.Folders[folder]+"-"+name)); err != nil {
		return err
	}
	return os.Remove(path)
}

// message is what a channel gets for a request.
func message(p *stage.Poller, folder int, r ipc.Request) channel.Message {
	p.N++
	p.Polled++
	m := channel.Message{ID: fmt.Sprintf("%032x", p.N), Chat: groups.JID("web:" + p.Folders[folder]), Text: r.Text}
	if p.Slack != nil {
		m.Chat = groups.JID(p.Chats[folder])
	}
	for _, f := range r.Files {
		m.Files = append(m.Files, fileOf(p.Site, p.Folders[folder], f.Path))
	}
	return m
}

func fileOf(s *stage.Site, folder, path string) channel.File {
	s.Helper()
	path = filepath.Join(s.Cfg.Layout().Workspace(folder), strings.TrimPrefix(path, "/workspace/group/"))
	content, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	sum := sha256.Sum256(content)
	return channel.File{
		Info:    media.Info{Name: filepath.Base(path), MIME: "text/plain", Kind: media.Document, Size: int64(len(content))},
		SHA256:  hex.EncodeToString(sum[:]),
		Content: channeltest.Opens(func() (io.ReadSeekCloser, error) { return os.Open(path) }),
	}
}

// pollerDrainStraight has the straight line take all requests to their ends, with calls of
// the channel: of many messages at once, if it has such a call.
func pollerDrainStraight(p *stage.Poller) time.Duration {
	p.Helper()
	line, start := newStraight(p.B, p.Dir), time.Now()
	for i := range p.Folders {
		line.messages = p.Messages(p.Folders[i])
		line.batches(func(all []straightRequest) {
			var ms []channel.Message
			for _, r := range all {
				ms = append(ms, message(p, i, r.request))
			}
			if err := sendAll(p, ms); err != nil {
				p.Fatal(err)
			}
		})
	}
	return time.Since(start)
}

func sendAll(p *stage.Poller, ms []channel.Message) error {
	if many, ok := p.Channel.(channel.MultiSender); ok {
		for len(ms) > 0 {
			outs := many.SendAll(p.Context(), ms)
			if err := outs[len(outs)-1].Err; err != nil {
				return err
			}
			ms = ms[len(outs):]
		}
	}
	for _, m := range ms {
		if _, err := p.Channel.Send(p.Context(), m); err != nil {
			return err
		}
	}
	return nil
}
