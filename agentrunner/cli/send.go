package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/ipc"
)

// common are the flags that send and message share.
type common struct {
	reply, chat, thread string
	key                 string
	json, noWait        bool
	wait                time.Duration
}

func (o *common) register(set *flag.FlagSet) {
	set.StringVar(&o.reply, "reply-to", "", "")
	set.StringVar(&o.chat, "chat", "", "")
	set.StringVar(&o.thread, "thread", "", "")
	set.StringVar(&o.key, "key", "", "")
	set.BoolVar(&o.json, "json", false, "")
	set.BoolVar(&o.noWait, "no-wait", false, "")
	set.DurationVar(&o.wait, "wait", 0, "")
}

func (o *common) options() sender.Options {
	return sender.Options{Chat: o.chat, Thread: o.thread, ReplyTo: o.reply, Key: o.key, NoWait: o.noWait}
}

func (c *call) send(args []string) int {
	set := flags("send")
	var o common
	var f sender.File
	o.register(set)
	set.StringVar(&f.Caption, "caption", "", "")
	set.StringVar(&f.Alt, "alt", "", "")
	set.StringVar(&f.Name, "name", "", "")
	set.StringVar(&f.MIME, "mime", "", "")
	set.StringVar(&f.As, "as", "", "")
	paths, status, done := c.parse(set, args, 1, math.MaxInt)
	if done {
		return status
	}
	if len(paths) > 1 && (f.Name != "" || f.MIME != "") {
		return c.usage(fmt.Errorf("send: --name and --mime go with one file, not with %d", len(paths)))
	}
	files := make([]sender.File, len(paths))
	for i, path := range paths {
		files[i] = sender.File{Path: path, Name: f.Name, MIME: f.MIME, As: f.As}
	}
	files[0].Caption, files[0].Alt = f.Caption, f.Alt
	return c.deliver(o, func(ctx context.Context, s *sender.Sender) (sender.Report, error) {
		return s.SendFiles(ctx, files, o.options())
	})
}

func (c *call) message(args []string) int {
	set := flags("message")
	var o common
	o.register(set)
	words, status, done := c.parse(set, args, 1, 1)
	if done {
		return status
	}
	text := words[0]
	if text == "-" {
		all, err := io.ReadAll(io.LimitReader(c.stdin, ipc.MaxRequest+1))
		if err != nil {
			return c.fail(fmt.Errorf("read the message from stdin: %w", err))
		}
		text = string(all)
	}
	return c.deliver(o, func(ctx context.Context, s *sender.Sender) (sender.Report, error) {
		return s.SendText(ctx, text, o.options())
	})
}

// askByShell says how to ask for a request's state; here it replaces the tool
// delivery_status.
const askByShell = `run "agentrunner status" with it`

// deliver runs do with the time limit and the signal handling of the command.
func (c *call) deliver(o common, do func(context.Context, *sender.Sender) (sender.Report, error)) int {
	config, err := sender.FromEnv(os.Getenv)
	if err != nil {
		return c.fail(err)
	}
	if o.wait < 0 {
		return c.usage(fmt.Errorf("--wait %s is below zero", o.wait))
	}
	if o.wait > 0 {
		config.Wait = o.wait
	}
	config.Ask = askByShell
	s := sender.New(config)
	if o.key != "" && !s.Keys() {
		return c.usage(fmt.Errorf("--key counts with LONGSHORE_URL only"))
	}
	ctx, stop := interrupted(true)
	defer stop()
	report, err := do(ctx, s)
	if err != nil {
		return c.refused(err, o.json)
	}
	return c.report(report, o.json)
}

func (c *call) status(args []string) int {
	set := flags("status")
	asJSON := set.Bool("json", false, "")
	ids, status, done := c.parse(set, args, 1, 1)
	if done {
		return status
	}
	config, err := sender.FromEnv(os.Getenv)
	if err != nil {
		return c.fail(err)
	}
	config.Ask = askByShell
	report, err := sender.New(config).Status(ids[0])
	if err != nil {
		return c.refused(err, *asJSON)
	}
	return c.report(report, *asJSON)
}

// health checks whether requests can be queued, for a container's HEALTHCHECK.
func (c *call) health(args []string) int {
	set := flags("health")
	asJSON := set.Bool("json", false, "")
	if _, status, done := c.parse(set, args, 0, 0); done {
		return status
	}
	config, err := sender.FromEnv(os.Getenv)
	if err != nil {
		return c.fail(err)
	}
	s := sender.New(config)
	info := s.Info(c.version)
	if *asJSON {
		c.json(info)
	} else {
		fmt.Fprintln(c.stdout, info.Summary)
	}
	err = s.Writable()
	if p, ok := errors.AsType[*sender.Problem](err); ok && !info.Working {
		fmt.Fprintf(c.stderr, "hint: %s\n", p.Hint) // the summary has already said the rest
		return exitError
	}
	if err != nil {
		return c.refused(err, false)
	}
	return exitOK
}
