package command

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/near"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

func newSend(e *env) *cobra.Command {
	var call operator.Send
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "send FILE --group FOLDER",
		Short: "send a file to a group's chat, or explain why it would not go",
		Long: `Sends FILE to the chat of a group. A FILE that begins with /workspace/ is the
path that the group's assistant would give, and is found through the group's
mounts; any other is a file of your own.

With --dry-run nothing is sent: each decision is explained, the one that would
refuse the file last.`,
		Args: terminal.Exactly("file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.load()
			if err != nil {
				return err
			}
			group, err := findGroup(c, call.Group)
			if err != nil && !dryRun { // the running host may still serve the group
				s, _ := operator.NewClient(operator.ControlDir(c.Layout())).Status(cmd.Context())
				if g, ok := servedAs(s, call.Group, c.Groups); ok {
					group.Folder, err = g.Folder, nil
				}
			}
			if err != nil {
				return err
			}
			call.Group = group.Folder
			if call.Path = args[0]; !mounts.InContainer(call.Path) {
				if call.Path, err = filepath.Abs(call.Path); err != nil {
					return fmt.Errorf("find %s: %w", args[0], err)
				}
				if _, err := os.Stat(call.Path); err != nil {
					return terminal.Hinted(err, "check the path; one in the assistant's container begins with /workspace/")
				}
			}
			if dryRun {
				return e.explain(cmd.Context(), c, group, call)
			}
			return e.send(cmd.Context(), call)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&call.Group, "group", "g", "", "the group's `folder`, name or chat")
	f.StringVar(&call.Name, "name", "", "the file's `name` in the chat")
	f.StringVar(&call.Caption, "caption", "", "`text` that goes with it")
	f.StringVar(&call.Alt, "alt", "", "`text` that says what it shows, for members who cannot see it")
	f.StringVar(&call.Thread, "thread", "", "`id` of the thread, if the chat has threads")
	f.StringVar(&call.As, "as", "", "`form`: auto, document, voice, gif, sticker, original")
	f.BoolVar(&dryRun, "dry-run", false, "explain each decision and send nothing")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("as", cobra.FixedCompletions([]string{"auto", "document", "voice", "gif", "sticker", "original"}, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

// folderOf replaces the name or chat of a group by its folder. Empty stays empty.
func (e *env) folderOf(group *string) error {
	if *group == "" {
		return nil
	}
	c, err := e.load()
	if err != nil {
		return err
	}
	g, err := findGroup(c, *group)
	*group = g.Folder
	return err
}

// findGroup finds a group by its folder, or by a chat or name that only one group has.
func findGroup(c *config.Config, wanted string) (groups.Group, error) {
	if wanted == "" {
		return groups.Group{}, terminal.Usage("no group given", oneOf(c.Groups))
	}
	var found []groups.Group
	for _, g := range c.Groups {
		switch wanted {
		case g.Folder:
			return g, nil
		case string(g.Chat), g.Address().String(), g.Name:
			found = append(found, g)
		}
	}
	switch len(found) {
	case 0:
		var names []string
		for _, g := range c.Groups {
			names = append(names, g.Folder, g.Name)
		}
		return groups.Group{}, terminal.Usage(fmt.Sprintf("no group %q", wanted), near.Hint(wanted, names, oneOf(c.Groups)))
	case 1:
		return found[0], nil
	}
	return groups.Group{}, terminal.Usage(fmt.Sprintf("%q means several groups", wanted), "name one of "+folders(found))
}

// oneOf returns the hint for a name that no group has.
func oneOf(all []groups.Group) string {
	if len(all) == 0 {
		return "the file has no groups; to add one: longshore groups add CHAT"
	}
	return "name one of " + folders(all)
}

func folders(all []groups.Group) string {
	var names []string
	for _, g := range all {
		names = append(names, g.Folder)
	}
	return strings.Join(names, ", ")
}

// send asks the running host to accept the file. If no host runs, it records the file in the outbox
// for the next host. It does not wait for the platform: "longshore queue show" has the outcome.
func (e *env) send(ctx context.Context, call operator.Send) error {
	return e.withControl(ctx, func(c operator.Control) error {
		_, online := c.(*operator.Client)
		item, err := c.Send(ctx, call)
		if err != nil {
			return e.tellRefusal(err)
		}
		words := "%s: accepted for %s"
		if !online {
			words = "%s: kept for %s; goes out when the host runs"
		}
		return e.Done(item, words, shortID(item), item.Chat)
	})
}

// tellRefusal prints a refusal as JSON if --json was given, and returns the error of the command.
func (e *env) tellRefusal(err error) error {
	if r := bridge.AsRefusal(err); e.JSON && r != nil {
		answer := refusal.Error{Code: r.Code, Message: r.Message, Hint: r.Hint}
		if err := e.PrintJSON(map[string]refusal.Error{"refused": answer}); err != nil {
			return err
		}
	}
	return refusedSend(err)
}

// refusedSend gives a refusal its own exit code.
func refusedSend(err error) error {
	r := bridge.AsRefusal(err)
	if r == nil {
		return err
	}
	hint := r.Hint
	switch r.Code { // the hints of these two are for requests, which wait in the queue
	case "disk_full":
		hint = "nothing was kept: make room on the disk of the state directory, and send it again"
	case "over_quota":
		hint = "nothing was kept: send it again once earlier ones are sent; see: longshore queue list"
	}
	return &terminal.Error{Code: terminal.ExitRefused, Err: fmt.Errorf("%s (%s)", r.Message, r.Code), Hint: hint}
}
