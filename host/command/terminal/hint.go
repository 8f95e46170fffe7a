package terminal

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/near"
)

// AsOwner is the hint if another user owns the state directory.
const AsOwner = "run this as the user that the host runs as, or as root"

// Exactly is cobra.ExactArgs with messages for people: names are those of the arguments.
func Exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return Usage("no "+names[len(args)]+" given", "usage: "+cmd.UseLine())
		case len(args) > len(names):
			return Usage("too many arguments: "+strings.Join(args[len(names):], " "), "usage: "+cmd.UseLine())
		}
		return nil
	}
}

// AtMost is Exactly for arguments that may be left out from the end.
func AtMost(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return nil
		}
		return Exactly(names...)(cmd, args)
	}
}

// TameCobra gives cobra's own commands our wording, and makes them reject an unknown
// subcommand. Otherwise cobra prints their help and succeeds.
func TameCobra(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Short = "describe a command"
			cmd.Args = known(root)
		case "completion":
			cmd.Short = "print a completion script for a shell"
			cmd.Args = known(cmd)
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// known rejects arguments that name no command below cmd.
func known(cmd *cobra.Command) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if at, left, err := cmd.Traverse(args); err != nil || len(left) > 0 {
			return NoCommand(at, left[0])
		}
		return nil
	}
}

// NoCommand is the error of a subcommand that cmd does not have, with a similar name as the hint.
func NoCommand(cmd *cobra.Command, name string) error {
	hint := "see: " + cmd.CommandPath() + " --help"
	if known := cmd.SuggestionsFor(name); len(known) > 0 {
		hint = fmt.Sprintf("did you mean %q? %s", cmp.Or(near.Of(name, known), known[0]), hint)
	}
	return Usage(fmt.Sprintf("%s has no command %q", cmd.CommandPath(), name), hint)
}

// Verb returns a command whose use line names its arguments after the verb, as in "show ID". Flags
// may follow them.
func Verb(use, short string, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	words, _, _ := strings.Cut(use, " -")
	names := strings.Fields(strings.ToLower(words))[1:]
	return &cobra.Command{Use: use, Short: short, Args: Exactly(names...), RunE: run}
}

// Family returns a command that only has subcommands. It rejects an unknown one, for which cobra
// prints the help and succeeds.
func Family(use, short string, members ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ArbitraryArgs,

		SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return NoCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(members...)
	return cmd
}

// Command returns a command line of longshore that reads the same configuration as this one.
func (e *Terminal) Command(args ...string) string {
	words := []string{"longshore"}
	if e.Named {
		words = append(words, "-c", finding.ShellWord(e.Config))
	}
	return strings.Join(append(words, args...), " ")
}

// commandIn finds the commands in a sentence, such as "see: longshore status".
var commandIn = regexp.MustCompile(`\blongshore ([a-z][a-z-]*)`)

// notConfigured are the words after longshore that read no configuration, or are no command.
var notConfigured = []string{"agentrunner", "completion", "demo", "exit-codes", "help", "version"}

// Remedy makes the commands in a sentence of the host read the same configuration as this one. The
// host does not know the path by which the operator's shell names the file.
func (e *Terminal) Remedy(text string) string {
	if !e.Named {
		return text
	}
	return commandIn.ReplaceAllStringFunc(text, func(found string) string {
		verb := strings.TrimPrefix(found, "longshore ")
		if !slices.Contains(e.Verbs, verb) || slices.Contains(notConfigured, verb) {
			return found
		}
		return e.Command(verb)
	})
}
