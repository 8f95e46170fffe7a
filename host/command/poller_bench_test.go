package command

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

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/slack"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// poller is the durable poller: one loop that reads, parses and unlinks the
// requests, calls the same channel, writes a result's file for each, and appends a
// line to a log with fdatasync before and after the call. It checks nothing, retries
// nothing and does not recover.
type poller struct {
	*site
	b       *testing.B
	channel channel.Channel
	log     *os.File
	dir     string // of its own
	n       int
	close   func()
}

// newPoller has its stores beside those of the site.
func (s *site) newPoller() *poller {
	s.Helper()
	p := &poller{site: s, b: s.TB.(*testing.B), dir: filepath.Join(s.dir, "poller")}
	err := os.Mkdir(p.dir, 0o700)
	for _, name := range []string{"longshore.yaml", "bot", "app"} {
		if text, missing := os.ReadFile(filepath.Join(s.dir, name)); missing == nil {
			err = errors.Join(err, os.WriteFile(filepath.Join(p.dir, name), text, 0o600))
		}
	}
	if err != nil {
		s.Fatal(err)
	}
	net := slack.Net{}
	if s.slack != nil {
		net.API = s.slack.URL()
	}
	cfg, err := config.Load(filepath.Join(p.dir, "longshore.yaml"), platformsOver(whatsapp.Net{}, net))
	if err == nil {
		err = cfg.Layout().Prepare(cfg.Groups)
	}
	if err == nil {
		p.channel, err = cfg.Channels[0].Platform.New(serve.SetupOf(cfg, cfg.Channels[0], slog.New(slog.DiscardHandler)))
	}
	if err == nil {
		p.log, err = os.Create(filepath.Join(p.dir, "log"))
	}
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.channel.Run(ctx, nobody{}) }()
	p.close = func() {
		cancel()
		if err := errors.Join(<-ended, p.log.Close()); err != nil {
			s.Error(err)
		}
	}
	for connected := false; !connected; <-time.After(time.Millisecond) {
		connected, _ = p.channel.(channel.Status).Connected()
	}
	return p
}

// nobody reads what members write.
type nobody struct{}

func (nobody) Receive(context.Context, channel.Inbound) error            { return nil }
func (nobody) Report(context.Context, groups.JID, string, channel.State) {}

// drain takes all requests to their ends.
func (p *poller) drain() time.Duration {
	p.Helper()
	start := time.Now()
	for i := range p.folders {
		entries, err := os.ReadDir(p.messages(p.folders[i]))
		if err != nil {
			p.Fatal(err)
		}
		for _, e := range entries {
			if err := p.one(i, e.Name()); err != nil {
				p.Fatal(err)
			}
		}
	}
	return time.Since(start)
}

func (p *poller) one(folder int, name string) error {
	path := filepath.Join(p.messages(p.folders[folder]), name)
	body, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	request, err := ipc.Decode(body)
	if err != nil {
		return err
	}
	fdatasync(p.b, p.log, len(body))
	r, err := p.channel.Send(p.Context(), p.message(folder, request))
	if err != nil {
		return err
	}
	fdatasync(p.b, p.log, len(body))
	result, err := json.Marshal(ipc.Result{ID: name, Status: ipc.Sent, MessageID: r.ID})
	if err != nil {
		return err
	}
	tmp := filepath.Join(p.dir, ".tmp")
	if err := os.WriteFile(tmp, result, 0o644); err != nil {
		return err
	}
	if err := os.Rename(tmp, filepath.Join(p.dir, p.folders[folder]+"-"+name)); err != nil {
		return err
	}
	return os.Remove(path)
}

// message is what a channel gets for a request.
func (p *poller) message(folder int, r ipc.Request) channel.Message {
	p.n++
	p.polled++
	m := channel.Message{ID: fmt.Sprintf("%032x", p.n), Chat: groups.JID("web:" + p.folders[folder]), Text: r.Text}
	if p.slack != nil {
		m.Chat = groups.JID(p.chats[folder])
	}
	for _, f := range r.Files {
		m.Files = append(m.Files, p.fileOf(p.folders[folder], f.Path))
	}
	return m
}

func (s *site) fileOf(folder, path string) channel.File {
	s.Helper()
	path = filepath.Join(s.cfg.Layout().Workspace(folder), strings.TrimPrefix(path, "/workspace/group/"))
	content, err := os.ReadFile(path)
	if err != nil {
		s.Fatal(err)
	}
	sum := sha256.Sum256(content)
	return channel.File{
		Info:   media.Info{Name: filepath.Base(path), MIME: "text/plain", Kind: media.Document, Size: int64(len(content))},
		SHA256: hex.EncodeToString(sum[:]),
		Open:   func() (io.ReadSeekCloser, error) { return os.Open(path) },
	}
}

// drainStraight has the straight line take all requests to their ends, with calls of
// the channel: of many messages at once, if it has such a call.
func (p *poller) drainStraight() time.Duration {
	p.Helper()
	line, start := newStraight(p.b, p.dir), time.Now()
	for i := range p.folders {
		line.messages = p.messages(p.folders[i])
		line.batches(func(all []straightRequest) {
			var ms []channel.Message
			for _, r := range all {
				ms = append(ms, p.message(i, r.request))
			}
			if err := p.sendAll(ms); err != nil {
				p.Fatal(err)
			}
		})
	}
	return time.Since(start)
}

func (p *poller) sendAll(ms []channel.Message) error {
	if many, ok := p.channel.(channel.MultiSender); ok {
		for len(ms) > 0 {
			outs := many.SendAll(p.Context(), ms)
			if err := outs[len(outs)-1].Err; err != nil {
				return err
			}
			ms = ms[len(outs):]
		}
	}
	for _, m := range ms {
		if _, err := p.channel.Send(p.Context(), m); err != nil {
			return err
		}
	}
	return nil
}
