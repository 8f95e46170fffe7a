package command

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/agentrunner/cli"
	"github.com/longshore-bridge/longshore/host/command/terminal"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIRECTORY",
		Short: "write the man pages, one a command",
		Long: `man writes the man pages of longshore and of agentrunner into an existing directory.
Their date is SOURCE_DATE_EPOCH, in seconds, or today.`,
		Args: terminal.Exactly("directory"),
		RunE: func(cmd *cobra.Command, args []string) error {
			date := time.Now()
			if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
				seconds, err := strconv.ParseInt(epoch, 10, 64)
				if err != nil {
					return terminal.Usage("SOURCE_DATE_EPOCH is no number of seconds: "+epoch, "set it to a number, or unset it")
				}
				date = time.Unix(seconds, 0)
			}
			runner := &cobra.Command{Use: "agentrunner", Short: "the program in an assistant's container", Long: cli.Help()}
			for _, c := range []*cobra.Command{cmd.Root(), runner} {
				if err := writeMan(args[0], c, date.UTC().Format("Jan 2006")); err != nil {
					return fmt.Errorf("write man pages: %w", err)
				}
			}
			return nil
		},
	}
}

// writeMan writes the man pages of cmd and of the commands below it into dir.
func writeMan(dir string, cmd *cobra.Command, date string) error {
	for _, c := range cmd.Commands() {
		if documented(c) {
			if err := writeMan(dir, c, date); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(dir, manName(cmd)+".1"), []byte(manPage(cmd, date)), 0o666)
}

func documented(c *cobra.Command) bool {
	return c.IsAvailableCommand() && !c.IsAdditionalHelpTopicCommand()
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage returns the page of one command in the language of man(7), with the texts of its help.
func manPage(cmd *cobra.Command, date string) string {
	cmd.InitDefaultHelpFlag()
	var see []string
	if cmd.HasParent() {
		see = append(see, manName(cmd.Parent())+"(1)")
	}
	for _, c := range cmd.Commands() {
		if documented(c) {
			see = append(see, manName(c)+"(1)")
		}
	}
	page := fmt.Sprintf(".nh\n.TH \"%s\" \"1\" \"%s\" \"Longshore\" \"Longshore\"\n", roff(strings.ToUpper(manName(cmd))), date) +
		fmt.Sprintf(".SH NAME\n%s \\- %s\n", roff(manName(cmd)), roff(cmd.Short))
	for _, s := range [][2]string{
		{"SYNOPSIS", cmd.UseLine()}, {"DESCRIPTION", cmp.Or(cmd.Long, cmd.Short)},
		{"OPTIONS", cmd.NonInheritedFlags().FlagUsages()}, {"OPTIONS OF EVERY COMMAND", cmd.InheritedFlags().FlagUsages()},
		{"SEE ALSO", strings.Join(see, "\n")},
	} {
		if text := strings.Trim(s[1], "\n"); text != "" {
			page += fmt.Sprintf(".SH %s\n.nf\n%s\n.fi\n", s[0], roff(text))
		}
	}
	return page
}

// roff escapes a text for troff.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n.", "\n\\&.", "\n'", "\n\\&'").Replace("\n" + text)
	return text[1:]
}
