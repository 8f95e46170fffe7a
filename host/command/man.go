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
	"github.com/spf13/pflag"

	"github.com/longshore-bridge/longshore/agentrunner/cli"
)

func newMan() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIRECTORY",
		Short: "write the man pages, one a command",
		Long: `man writes the man pages of longshore and of agentrunner into an existing directory.
Their date is SOURCE_DATE_EPOCH, in seconds, or today.`,
		Args: exactly("DIRECTORY"),
		RunE: func(cmd *cobra.Command, args []string) error {
			date := time.Now()
			if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
				seconds, err := strconv.ParseInt(epoch, 10, 64)
				if err != nil {
					return usage("SOURCE_DATE_EPOCH is no number of seconds: "+epoch, "set it to a number, or unset it")
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

// manPage is the page of one command, in the language of man(7).
func manPage(cmd *cobra.Command, date string) string {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	section := func(name string) { fmt.Fprintf(&b, ".SH %s\n", name) }
	fmt.Fprintf(&b, ".nh\n.TH \"%s\" \"1\" \"%s\" \"Longshore\" \"Longshore\"\n", roff(strings.ToUpper(manName(cmd))), date)
	section("NAME")
	fmt.Fprintf(&b, "%s \\- %s\n", roff(manName(cmd)), roff(cmd.Short))
	section("SYNOPSIS")
	fmt.Fprintf(&b, "\\fB%s\\fR\n", roff(cmd.UseLine()))
	section("DESCRIPTION")
	fmt.Fprintf(&b, ".nf\n%s\n.fi\n", roff(strings.TrimSpace(cmp.Or(cmd.Long, cmd.Short))))
	if flags := cmd.NonInheritedFlags(); flags.HasAvailableFlags() {
		section("OPTIONS")
		manFlags(&b, flags)
	}
	if flags := cmd.InheritedFlags(); flags.HasAvailableFlags() {
		section("OPTIONS OF EVERY COMMAND")
		manFlags(&b, flags)
	}
	if cmd.Example != "" {
		section("EXAMPLE")
		fmt.Fprintf(&b, ".nf\n%s\n.fi\n", roff(cmd.Example))
	}
	var see []string
	if cmd.HasParent() {
		see = append(see, manName(cmd.Parent()))
	}
	for _, c := range cmd.Commands() {
		if documented(c) {
			see = append(see, manName(c))
		}
	}
	if len(see) > 0 {
		section("SEE ALSO")
		fmt.Fprintf(&b, "\\fB%s\\fR(1)\n", strings.Join(strings.Split(roff(strings.Join(see, "\n")), "\n"), "\\fR(1),\n\\fB"))
	}
	return b.String()
}

// manFlags lists flags as the help does, each with its default if it has one.
func manFlags(b *strings.Builder, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		b.WriteString(".TP\n")
		if f.Shorthand != "" {
			fmt.Fprintf(b, "\\fB%s\\fR, ", roff("-"+f.Shorthand))
		}
		value, text := pflag.UnquoteUsage(f)
		fmt.Fprintf(b, "\\fB%s\\fR \\fI%s\\fR\n%s", roff("--"+f.Name), roff(value), roff(text))
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" {
			fmt.Fprintf(b, " (default %s)", roff(f.DefValue))
		}
		b.WriteString("\n")
	})
}

// roff writes a text so that troff reads it as it is.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
