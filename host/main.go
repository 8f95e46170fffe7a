// Command longshore gives every chat group its own assistant and carries the
// files that the assistant makes to the group's chat.
//
// This package holds the commands and the wiring; what they wire lies in the
// rooms below it and in ipc, groups and media. Run "longshore help" for the
// commands, "longshore demo" to see it work.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/agentrunner/cli"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/media"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// env is what a command may touch of the world outside its arguments.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	config         string       // path of longshore.yaml
	json           bool         // print for programs
	whatsapp       *http.Client // how WhatsApp is reached; nil: as its library does
}

// run executes one command line and returns the process's exit code.
// "longshore agentrunner …" is the container's program in the same binary, so
// that a demo needs no second one; it parses its own arguments.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "agentrunner" {
		return cli.Main(args[1:], stdin, stdout, stderr)
	}
	return (&env{stdin: stdin, stdout: stdout, stderr: stderr, getenv: os.Getenv}).run(ctx, args)
}

func (e *env) run(ctx context.Context, args []string) int {
	root := newRoot(e)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		return e.fail(err)
	}
	return exitOK
}

// defaultConfig is the configuration in the working directory.
const defaultConfig = "longshore.yaml"

// newAgentrunner is there for the help; run has acted on it before.
func newAgentrunner() *cobra.Command {
	return &cobra.Command{
		Use:                "agentrunner COMMAND",
		Short:              "act as the program in an assistant's container",
		Long:               "Acts as the program in an assistant's container: longshore agentrunner help\nlists its commands.",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usage("agentrunner comes first", "usage: longshore agentrunner …")
		},
	}
}

// newRoot builds the tree of commands.
func newRoot(e *env) *cobra.Command {
	root := family("longshore", "carry the files of assistants in containers to their groups' chats",
		newDemo(e), newInit(e), newImport(e), newServe(e), newSend(e),
		newQueue(e), newErrors(e), newStatus(e), newDoctor(e),
		newPair(e), newUnpair(e), newGroups(e),
		newConfig(e), newMCPConfig(e), newImage(e), newAgentrunner(), newVersion(e), newExitCodes(),
	)
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	root.PersistentFlags().StringVarP(&e.config, "config", "c", defaultConfig, "configuration `file`")
	root.PersistentFlags().BoolVar(&e.json, "json", false, "print JSON for programs")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage(err.Error(), "see: "+cmd.CommandPath()+" --help")
	})
	root.Version = readVersion().Version
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	tameCobra(root)
	return root
}

// Exit codes, the same for every command.
const (
	exitOK      = 0
	exitFault   = 1 // something went wrong; the text says what
	exitUsage   = 2 // the command line is wrong
	exitRefused = 3 // a request or a file was refused
	exitFailed  = 4 // a delivery failed, or doctor found a fault
	exitPending = 5 // kept, not yet sent
)

// exitError carries an exit code, and what to do, up to main.
type exitError struct {
	code int
	err  error
	hint string
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// fail prints err with its hint and returns the exit code.
func (e *env) fail(err error) int {
	code, hint := exitOf(err)
	fmt.Fprintf(e.stderr, "longshore: %s\n", media.Printable(err.Error()))
	if hint != "" {
		fmt.Fprintf(e.stderr, "hint: %s\n", media.Printable(hint))
	}
	return code
}

func exitOf(err error) (code int, hint string) {
	if ee, ok := errors.AsType[*exitError](err); ok {
		return ee.code, ee.hint
	}
	if r := bridge.AsRefusal(err); r != nil {
		return exitRefused, r.Hint
	}
	return exitFault, ""
}
