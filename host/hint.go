package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// usage says that the command line is wrong.
func usage(message, hint string) error {
	return &exitError{code: exitUsage, err: errors.New(message), hint: hint}
}

// hinted adds to an error what to do about it.
func hinted(err error, hint string) error {
	return &exitError{code: exitFault, err: err, hint: hint}
}

// exactly is cobra.ExactArgs with words for people: each argument that is
// wanted has a name.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usage("no "+names[len(args)]+" given", "usage: "+cmd.UseLine())
		case len(args) > len(names):
			return usage("too many arguments: "+strings.Join(args[len(names):], " "), "usage: "+cmd.UseLine())
		}
		return nil
	}
}

// family is a command that only has commands of its own. Cobra would print its
// help for a misspelt one, and call that a success.
func family(use, short string, members ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage(fmt.Sprintf("%s has no command %q", cmd.CommandPath(), args[0]), "see: "+cmd.CommandPath()+" --help")
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(members...)
	return cmd
}
