//go:build e2e

package kill

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// killable is what the parent tells the host process that it will kill. It is
// the whole host, on a channel whose platform the parent plays.
type killable struct {
	Config   string
	Platform string // URL
	Step     string // the process kills itself when it gets there; empty: never
	Nth      int    // for the n-th time, from 1
	Finds    bool   // the platform shows an id as often as it is sent, but can be asked
	Mutant   string // a fault that the test must notice: "early unlink", "new id", "no query"
}

const killableEnv = "LONGSHORE_TEST_KILLABLE"

// mainKillable is the host process.
func mainKillable(spec string) int {
	var k killable
	if err := json.Unmarshal([]byte(spec), &k); err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cfg, err := config.Load(k.Config, stage.AllPlatforms())
	if err != nil {
		panic(err)
	}
	c := &remote{k: k, at: k.trace(cfg)}
	channels := stage.Substitutes(cfg, c)
	if k.Finds && k.Mutant != "no query" {
		channels = stage.Substitutes(cfg, remoteFinder{c})
	}
	h, err := serve.New(ctx, cfg, serve.Options{
		Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})), Trace: k.trace(cfg),
		Channels: channels,
	})
	if err != nil {
		panic(err)
	}
	if err := errors.Join(h.Run(ctx), h.Close()); err != nil {
		panic(err)
	}
	return 0
}

// trace kills the process in its step.
func (k killable) trace(cfg *config.Config) func(folder, request, step string) {
	var mu sync.Mutex
	return func(folder, request, step string) {
		mu.Lock()
		defer mu.Unlock()
		if k.Mutant == "early unlink" && step == "authorized" {
			os.Remove(filepath.Join(cfg.Layout().IPC(folder, ipc.MessagesDir), request+".json"))
		}
		if step == k.Step {
			if k.Nth--; k.Nth == 0 {
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
	}
}

// remote is the channel to the parent's platform.
type remote struct {
	k  killable
	at func(folder, request, step string)
}

func (r *remote) Name() string { return "mem" }

func (r *remote) Owns(chat groups.JID) bool { return chat.Channel() == "mem" }

func (r *remote) Limits() media.Limits { return media.DefaultLimits() }

func (r *remote) Repeat() channel.Repeat { return channel.Repeat{Keyed: channel.Forever} }

func (r *remote) Run(ctx context.Context, _ channel.Inbox) error {
	<-ctx.Done()
	return nil
}

func (r *remote) Send(ctx context.Context, m channel.Message) (channel.Receipt, error) {
	id := m.ID
	if r.k.Mutant == "new id" {
		id = rand.Text()
	}
	body := io.Reader(strings.NewReader(m.Text))
	if len(m.Files) > 0 {
		f, err := m.Files[0].Open()
		if err != nil {
			return channel.Receipt{}, err
		}
		defer f.Close()
		body = f
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.k.Platform+"/"+string(m.Chat)+"/"+id, body)
	if err != nil {
		return channel.Receipt{}, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return channel.Receipt{}, &channel.Error{Class: channel.Ambiguous, Message: "no answer", Err: err}
	}
	resp.Body.Close()
	r.at("", "", "shown")
	return channel.Receipt{ID: id, Time: time.Now()}, nil
}

// remoteFinder can ask whether a message is there.
type remoteFinder struct{ *remote }

func (r remoteFinder) Repeat() channel.Repeat { return channel.Repeat{} }

func (r remoteFinder) Find(ctx context.Context, m channel.Message) (*channel.Receipt, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.k.Platform+"/"+string(m.Chat)+"/"+m.ID, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound {
		return nil, nil
	}
	return &channel.Receipt{ID: m.ID}, nil
}

// platform is the members' side, which outlives every host.
type platform struct {
	dedupe bool // the same id shows once
	mu     sync.Mutex
	shown  []string        // chat and SHA-256, in the order in which they appeared
	ids    map[string]bool // chat and id
}

func (p *platform) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	p.mu.Lock()
	defer p.mu.Unlock()
	if r.Method == http.MethodGet {
		if !p.ids[r.URL.Path] {
			w.WriteHeader(http.StatusNotFound)
		}
		return
	}
	if err != nil {
		return // the host died while it sent; nothing is shown
	}
	if p.dedupe && p.ids[r.URL.Path] {
		return
	}
	p.ids[r.URL.Path] = true
	chat, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	p.shown = append(p.shown, chat+" "+stage.Digest(body))
}
