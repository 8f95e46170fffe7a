package command

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/httpd"
	"github.com/longshore-bridge/longshore/host/serve"
)

//go:embed demo.yaml
var demoConfig []byte

// demoListen is the usual address of the chat page of demo and setup.
const demoListen = "127.0.0.1:8420"

type demo struct {
	*env
	state  string
	listen string
	once   bool
	log    bool
}

func newDemo(e *env) *cobra.Command {
	d := &demo{env: e}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "run everything here, with a chat page and a sample assistant",
		Long: `demo runs a host with two groups, the web channel and the sample assistant, and
prints the addresses of the chat page and of the operator's page. Nothing in it is
special: the assistant's files take the same way as anybody's.

With --once it plays a member without a browser: it asks for the report, waits
for the files, compares what arrived with what the assistant wrote, and prints
each step with its time.`,
		Args: terminal.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&d.state, "state", "", "keep the state in this `directory` (default: a temporary one, removed at the end)")
	cmd.Flags().StringVar(&d.listen, "listen", "", "`address` of the page (default "+demoListen+", or a free port)")
	cmd.Flags().BoolVar(&d.once, "once", false, "play one turn without a browser and exit")
	cmd.Flags().BoolVar(&d.log, "log", false, "print the host's log")
	return cmd
}

func (d *demo) run(ctx context.Context) (err error) {
	cfg, cleanup, err := d.configure()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cleanup()) }()
	log := io.Discard
	if d.log {
		log = d.Stderr
	}
	steps := newSteps()
	h, err := serve.New(ctx, cfg, serve.Options{Version: readVersion(d.version).Version, Log: newLog(log, config.Log{Level: slog.LevelInfo.String()}), Trace: steps.note})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if err := webOf(h).Open(ctx); err != nil { // a host would try again
		return err
	}
	if d.once {
		return d.playOnce(ctx, h, steps)
	}
	d.invite(h)
	fmt.Fprintf(d.Stdout, "manage %s (the operator's page; works once, within ten minutes)\n", h.SignIn())
	return h.Run(ctx)
}

// invite prints the page's address and what to try there.
func (d *demo) invite(h *serve.Host) {
	page := webOf(h)
	fmt.Fprintf(d.Stdout, "open   %s\n", page.URL())
	fmt.Fprintf(d.Stdout, "try    pick a chat and click a suggestion, or write \"send me the report\"\n")
	fmt.Fprintf(d.Stdout, "more   write \"plan my week\" or \"show a voice note\", drop a file into the chat, or ask for help\n")
	fmt.Fprintf(d.Stdout, "state  %s\n", h.Config().State)
	fmt.Fprintf(d.Stdout, "stop   ctrl-c\n")
}

// webOf returns the demo's one channel.
func webOf(h *serve.Host) *web.Web { return channel.Current(h.Channels[0]).(*web.Web) }

// configure returns the demo's configuration, and a function that removes a temporary state directory.
func (d *demo) configure() (_ *config.Config, cleanup func() error, err error) {
	dir, cleanup := d.state, func() error { return nil }
	if dir == "" {
		if dir, err = os.MkdirTemp("", "longshore-demo-"); err != nil {
			return nil, nil, fmt.Errorf("make state directory: %w", err)
		}
		cleanup = func() error { return os.RemoveAll(dir) }
	}
	if dir, err = filepath.Abs(dir); err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("make state directory: %w", err)
	}
	cfg, err := config.Parse(filepath.Join(dir, "demo.yaml"), demoConfig, d.getenv, []channel.Platform{web.Platform()})
	if err != nil {
		return nil, nil, errors.Join(err, cleanup())
	}
	page, _ := cfg.Channels.Named("web")
	page.Settings.(*web.Settings).Listen = d.address()
	if !d.once {
		cfg.OperatorPage.Listen = "127.0.0.1:0"
	}
	return cfg, cleanup, nil
}

// address returns where the page listens: at the flag's address, at the usual one, or at a free port.
func (d *demo) address() string {
	if d.listen != "" {
		return d.listen
	}
	if d.once || httpd.Taken(demoListen) != nil {
		return "127.0.0.1:0"
	}
	return demoListen
}
