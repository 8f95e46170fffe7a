// Package command holds the commands of longshore, a file each: arguments, output and exit codes.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/longshore-bridge/longshore/agentrunner/cli"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/internal/near"
	"github.com/longshore-bridge/longshore/media"
)

// Main is Run for this process. SIGINT and SIGTERM cancel the command.
func Main(version string, platforms []channel.Platform, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return Run(ctx, version, platforms, args, os.Stdin, os.Stdout, os.Stderr)
}

// env is what a command may use of the world beside its arguments.
type env struct {
	terminal.Terminal
	getenv    func(string) string
	version   string             // of the program; empty: it was built without one
	platforms []channel.Platform // the platforms that the configuration may name
}

// Run executes one command line and returns the exit code. version is the program's, empty if it was
// built without one; platforms are the chat platforms that the program has. The arguments of
// "longshore agentrunner", the container's program in the same binary, go to that program.
func Run(ctx context.Context, version string, platforms []channel.Platform, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "agentrunner" {
		return cli.Main(cli.Version(version), args[1:], stdin, stdout, stderr)
	}
	return (&env{Terminal: terminal.Terminal{Stdin: stdin, Stdout: stdout, Stderr: stderr}, getenv: os.Getenv, version: version, platforms: platforms}).run(ctx, args)
}

func (e *env) run(ctx context.Context, args []string) int {
	root := newRoot(e)
	root.SetArgs(args)
	if err := root.ExecuteContext(ctx); err != nil {
		return e.fail(interrupted(ctx, err))
	}
	return terminal.ExitOK
}

// interrupted replaces err by an error with exit code 130 if a signal has cancelled the command.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return &terminal.Error{Code: terminal.ExitInterrupted, Err: errors.New("interrupted")}
}

// newAgentrunner is in the help only: Run handles "agentrunner" before cobra does.
func newAgentrunner() *cobra.Command {
	cmd := terminal.Verb("agentrunner COMMAND", "act as the program in an assistant's container", func(*cobra.Command, []string) error {
		return terminal.Usage("agentrunner comes first", "usage: longshore agentrunner …")
	})
	cmd.Args, cmd.DisableFlagParsing = nil, true
	cmd.Long = "Acts as the program in an assistant's container: longshore agentrunner help\nlists its commands."
	return cmd
}

// newRoot builds the tree of commands.
func newRoot(e *env) *cobra.Command {
	root := terminal.Family("longshore", "carry the files of assistants in containers to their groups' chats",
		newDemo(e), newSetup(e), newInit(e), newImport(e), newServe(e), newReload(e), newSend(e),
		newQueue(e), newErrors(e), newApprovals(e), newTasks(e), newLinks(e), newChannels(e), newTokens(e), newWorkspace(e), newScreen(e), newAudit(e), newStatus(e), newTop(e), newLogs(e), newPage(e), newWhy(e), newDoctor(e), newNotify(e), newState(e), newStore(e),
		newPair(e), newUnpair(e), newGroups(e), newService(e), newCluster(e),
		newBackup(e), newRestore(e), newUpgrade(e),
		newConfig(e), newMCPConfig(e), newImage(e), newAgentrunner(), newMan(), newVersion(e), newExitCodes(),
	)
	e.Verbs = nil
	for _, cmd := range root.Commands() {
		e.Verbs = append(e.Verbs, cmd.Name())
	}
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetIn(e.Stdin)
	root.SetOut(e.Stdout)
	root.SetErr(e.Stderr)
	root.PersistentFlags().StringVarP(&e.Config, "config", "c", "", "configuration `file`; without it, the one that there is: see longshore help version")
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) { e.find(cmd.Flags().Changed("config")) }
	root.PersistentFlags().BoolVar(&e.JSON, "json", false, "print JSON for programs")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var flags []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })
		_, wrong, _ := strings.Cut(err.Error(), "unknown flag: ")
		return terminal.Usage(err.Error(), near.Hint(wrong, flags, "see: "+cmd.CommandPath()+" --help"))
	})
	e.versionFlag(root)
	terminal.TameCobra(root)
	e.complete(root)
	e.watchable(root)
	return root
}

// fail prints err with its hint and returns the exit code.
func (e *env) fail(err error) int {
	code, hint := exitOf(err)
	fmt.Fprintf(e.Stderr, "longshore: %s\n", media.Printable(err.Error()))
	if hint != "" {
		fmt.Fprintf(e.Stderr, "hint: %s\n", media.Printable(e.Remedy(hint)))
	}
	return code
}

func exitOf(err error) (code int, hint string) {
	if ee, ok := errors.AsType[*terminal.Error](err); ok {
		return ee.Code, ee.Hint
	}
	if none, ok := errors.AsType[*docker.NoEngineError](err); ok {
		return terminal.ExitFault, none.Hint()
	}
	if r := bridge.AsRefusal(err); r != nil {
		return terminal.ExitRefused, r.Hint
	}
	return terminal.ExitFault, ""
}
