// Package cli is agentrunner's command line: what each command is called, which
// flags it takes and what its exit status means. What the commands do is the
// part of the packages tools, sender and agent.
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

// The exit statuses. They are part of the interface: scripts branch on them.
const (
	exitOK        = 0   // sent, delivered, read, or nothing to complain of
	exitError     = 1   // did not work, for a reason outside the call
	exitUsage     = 2   // the command line is wrong
	exitRefused   = 3   // the host, or the check before it, does not take this
	exitFailed    = 4   // accepted, and could not be sent
	exitQueued    = 5   // still on its way, or nobody can say
	exitUncertain = 6   // the platform never said whether it arrived
	exitWithdrawn = 130 // taken back after an interrupt
)

// Main runs one command and returns its exit status. It reads the environment
// and takes over SIGINT and SIGTERM while it runs. version is the program's, as
// [Version] returns it.
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
	case "run":
		return c.run(args)
	case "send":
		return c.send(args)
	case "message":
		return c.message(args)
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
	args           []string // all of them, the command first
	stdin          io.Reader
	stdout, stderr io.Writer
}

// flags returns a set that leaves all printing to parse.
func flags(name string) *flag.FlagSet {
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	return set
}

// parse takes flags before, between and after the other arguments, which it
// returns. done says that there is nothing more to do, with the given status.
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

// flagWords says of a wrong flag what package flag does, with flags written as
// in the help.
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

// interrupted ends its context at SIGTERM with the cause sender.ErrKeep, and
// at SIGINT too unless withdraw is set: then a person at a terminal thought
// better of it.
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

// report prints what became of a call and makes an exit status of it.
func (c *call) report(r sender.Report, asJSON bool) int {
	if asJSON {
		c.json(r)
	} else {
		fmt.Fprintln(c.stdout, r.Summary)
	}
	switch r.Status {
	case string(ipc.Sent), string(ipc.Delivered), string(ipc.Read):
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

// refused prints an error of the sender and makes an exit status of it.
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
	case "no_queue", "no_space", "no_chat", "partly_queued", ipc.CodeNoReceipts:
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
	_ = encoder.Encode(v) // a closed stdout has nobody to tell
}
