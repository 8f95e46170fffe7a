// Package cli is agentrunner's command line: the names of the commands, their flags
// and their exit statuses. The packages tools, sender and agent do the work.
package cli

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/ipc"
)

//go:embed help.txt
var help string

// Help is what "agentrunner help" prints.
func Help() string { return help }

// The exit statuses. They are part of the interface: scripts depend on them.
const (
	exitOK        = 0   // sent, delivered or read; or the command succeeded
	exitError     = 1   // did not work, for a reason outside the call
	exitUsage     = 2   // the command line is wrong
	exitRefused   = 3   // the host, or the check before it, refused the request
	exitFailed    = 4   // accepted, but could not be sent
	exitQueued    = 5   // still being sent, or the outcome cannot be known
	exitUncertain = 6   // the platform did not answer, so it may or may not have arrived
	exitWithdrawn = 130 // withdrawn after an interrupt
)

// Main runs one command and returns its exit status. It reads the environment. The
// commands send, message, mcp and run catch SIGINT and SIGTERM while they run.
// version is the program's version, as [Version] returns it.
func Main(version string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c := &call{version: version, args: args, stdin: stdin, stdout: stdout, stderr: stderr}
	if len(args) == 0 {
		fmt.Fprint(stderr, help)
		return exitUsage
	}
	name, args := args[0], args[1:]
	switch name {
	case "mcp":
		return c.mcp(args)
	case "channel":
		return c.channel(args)
	case "run":
		return c.run(args)
	case "far":
		return c.far(args)
	case "send":
		return c.send(args)
	case "message":
		return c.message(args)
	case "react", "edit", "unsend", "ask", "pdf", "tasks":
		return c.act(name, args)
	case "status":
		return c.status(args)
	case "health":
		return c.health(args)
	case "version", "--version", "-v":
		fmt.Fprintln(stdout, version)
		return exitOK
	case "help", "--help", "-h":
		fmt.Fprint(stdout, help)
		return exitOK
	}
	return c.usage(fmt.Errorf("there is no command %q", name))
}

// call is one run of one command.
type call struct {
	version        string
	args           []string // all of them, starting with the command
	stdin          io.Reader
	stdout, stderr io.Writer
}

// flags returns a flag set that prints nothing itself; parse prints.
func flags(name string) *flag.FlagSet {
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	return set
}

// parse accepts flags before, between and after the other arguments, and returns
// those arguments. If done is true, the command ends with the given status.
func (c *call) parse(set *flag.FlagSet, args []string, least, most int) (rest []string, status int, done bool) {
	for {
		err := set.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(c.stdout, help)
			return nil, exitOK, true
		}
		if err != nil {
			return nil, c.usage(fmt.Errorf("%s: %s", set.Name(), flagWords(err))), true
		}
		left := set.Args()
		if n := len(args) - len(left); n > 0 && args[n-1] == "--" {
			rest, left = append(rest, left...), nil
		}
		if len(left) == 0 {
			break
		}
		rest, args = append(rest, left[0]), left[1:]
	}
	if len(rest) < least {
		return nil, c.usage(fmt.Errorf("%s: an argument is missing", set.Name())), true
	}
	if len(rest) > most {
		return nil, c.usage(fmt.Errorf("%s: %q is one argument too many", set.Name(), rest[most])), true
	}
	return rest, 0, false
}

// flagWords rewrites an error of package flag, with flags written as in the help.
func flagWords(err error) string {
	words := err.Error()
	if name, ok := strings.CutPrefix(words, "flag provided but not defined: -"); ok {
		return "there is no flag --" + name
	}
	if strings.HasSuffix(words, "for flag -wait: parse error") {
		return "--wait takes a duration, such as 30s"
	}
	return strings.NewReplacer(" flag -", " flag --", ": -", ": --").Replace(words)
}

func (c *call) usage(err error) int {
	fmt.Fprintf(c.stderr, "agentrunner: %v\nrun \"agentrunner help\" for the commands\n", err)
	return exitUsage
}

func (c *call) fail(err error) int {
	fmt.Fprintf(c.stderr, "agentrunner: %v\n", err)
	return exitError
}

// interrupted returns a context that SIGTERM ends with the cause sender.ErrKeep.
// SIGINT does the same, unless withdraw is set: then the person at the terminal
// wants the request back, and the cause is context.Canceled. The caller must call
// the returned function, which ends the goroutine.
func interrupted(withdraw bool) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case s := <-signals:
			if s == syscall.SIGINT && withdraw {
				cancel(context.Canceled)
			} else {
				cancel(sender.ErrKeep)
			}
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(context.Canceled)
		<-ended
	}
}

// report prints the outcome of a call and returns the exit status for it.
func (c *call) report(r sender.Report, asJSON bool) int {
	if asJSON {
		c.json(r)
	} else {
		fmt.Fprintln(c.stdout, r.Summary)
	}
	switch r.Status {
	case string(ipc.Sent), string(ipc.Delivered), string(ipc.Read), string(ipc.Done):
		return exitOK
	case string(ipc.Refused):
		return exitRefused
	case string(ipc.Failed):
		return exitFailed
	case string(ipc.Uncertain):
		return exitUncertain
	case "withdrawn":
		return exitWithdrawn
	}
	return exitQueued
}

// refused prints an error of the sender and returns the exit status for it.
func (c *call) refused(err error, asJSON bool) int {
	var p *sender.Problem
	if !errors.As(err, &p) {
		if asJSON {
			c.json(sender.Report{Status: "error", Summary: err.Error(), Code: "internal", Message: err.Error()})
		}
		return c.fail(err)
	}
	if asJSON {
		c.json(sender.Report{Status: "refused", Summary: p.Text(), Code: p.Code, Message: p.Message, Hint: p.Hint})
	}
	fmt.Fprintf(c.stderr, "agentrunner: %s\n", p.Message)
	if p.Hint != "" {
		fmt.Fprintf(c.stderr, "hint: %s\n", p.Hint)
	}
	switch p.Code {
	case "no_queue", "no_space", "no_chat", "partly_queued", ipc.CodeNoReceipts,
		"unreachable", "unanswered", "no_token", "not_longshore", "upload_unfinished":
		return exitError
	case "invalid_argument":
		return exitUsage
	}
	return exitRefused
}

func (c *call) json(v any) {
	encoder := json.NewEncoder(c.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	_ = encoder.Encode(v) // there is nobody to report a closed stdout to
}
