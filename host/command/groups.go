package command

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/media"
)

func newGroups(e *env) *cobra.Command {
	var name string
	list := terminal.Verb("list", "list the configured groups, or the chats that a channel's account is in", func(cmd *cobra.Command, _ []string) error {
		cfg, err := e.load()
		if err != nil {
			return err
		}
		if name == "" {
			return e.listGroups(cfg)
		}
		return e.withAccounts(cmd.Context(), cfg, false, func(c operator.Control) error {
			chats, err := c.Chats(cmd.Context(), name)
			if err != nil {
				return err
			}
			return e.Answer(chats, func() error { return e.listChats(cfg, name, chats) })
		})
	})
	list.Flags().StringVar(&name, "channel", "", "ask this `channel`'s account instead")

	var g groups.Group
	add := &cobra.Command{
		Use:   "add CHAT",
		Short: "write a group for a chat into longshore.yaml",
		Long: `add writes one more entry below groups:, and leaves the rest of the file as it
is. CHAT is a chat as "longshore groups list --channel NAME" prints it.
A running host takes it up at once, see: longshore reload --help`,
		Args: terminal.Exactly("chat"),
		RunE: func(cmd *cobra.Command, args []string) error {
			g.Chat = groups.JID(args[0])
			if err := e.addGroup(g); err != nil {
				return err
			}
			err := e.reload(cmd.Context(), false)
			if errors.Is(err, operator.ErrNoHost) {
				e.Say("no host is running; the next start takes it up")
				return nil
			}
			return err
		},
	}
	add.Flags().StringVar(&g.Channel, "channel", "", "the `channel` that carries it, if several could")
	add.Flags().BoolVar(&g.Main, "main", false, "let it send to every chat")
	groupFlags(add, &g)
	return terminal.Family("groups", "look at groups and chats, and add one", list, add, newRequests(e), newApprove(e))
}

// groupFlags adds the flags for the settings of a new group.
func groupFlags(cmd *cobra.Command, g *groups.Group) {
	cmd.Flags().StringVar(&g.Name, "name", "", "what people call it")
	cmd.Flags().StringVar(&g.Folder, "folder", "", "its `directory` (default: made of the name)")
	cmd.Flags().StringVar(&g.Trigger, "trigger", "", "the `word` that calls the assistant; without one every message does")
	cmd.Flags().StringVar(&g.Assistant, "assistant", "", "the `name` of an entry under assistants:")
}

// listedGroup is a group in the output for programs, with the keys of longshore.yaml.
type listedGroup struct {
	Folder    string   `json:"folder"`
	Name      string   `json:"name"`
	Chat      string   `json:"chat"`
	Channel   string   `json:"channel"`
	Main      bool     `json:"main"`
	Assistant string   `json:"assistant,omitempty"`
	Trigger   string   `json:"trigger,omitempty"`
	MaySendTo []string `json:"may_send_to,omitempty"`
}

func (e *env) listGroups(cfg *config.Config) error {
	all := []listedGroup{}
	for _, g := range cfg.Groups {
		all = append(all, listedGroup{g.Folder, g.Name, string(g.Chat), g.Channel, g.Main, g.Assistant, g.Trigger, g.MaySendTo})
	}
	return e.Answer(all, func() error {
		return terminal.List(&e.Terminal, "", []string{"folder", "name", "chat", "channel", "assistant"}, all, func(g listedGroup) []string {
			return []string{g.Folder, g.Name, g.Chat, g.Channel, g.Assistant}
		})
	})
}

func (e *env) listChats(cfg *config.Config, channelName string, chats []channel.Chat) error {
	taken := map[groups.Address]string{}
	for _, g := range cfg.Groups {
		taken[g.Address()] = "group " + g.Folder
	}
	return terminal.List(&e.Terminal, "", []string{"chat", "name", "members", "note"}, chats, func(c channel.Chat) []string {
		return []string{string(c.JID), c.Name, strconv.Itoa(c.Members), cmp.Or(taken[groups.Address{Channel: channelName, JID: c.JID}], c.Note)}
	})
}

// addGroup writes a group into the configuration file if serve could start with the changed file.
// Another group may have the chat on another account.
func (e *env) addGroup(g groups.Group) error {
	named := g.Folder != ""
	if !named {
		g.Folder = groups.FolderOf(g.Name)
	}
	if g.Folder == "" {
		return terminal.Usage("no folder given", "give --folder, or a --name to make it of")
	}
	if cfg, err := e.load(); err == nil { // else the file is refused with all its problems
		if err := mayAdd(cfg.Layout(), cfg.Groups, groups.Group{Folder: g.Folder}, named); err != nil {
			return err
		}
	}
	problems, err := e.writeGroup(g)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		e.printProblems("", problems)
		return terminal.Hinted(fmt.Errorf("%s would have %s with that group; it is as it was", e.Config, media.Count(len(problems), "problem")),
			"mend what is shown above; docs/configuration.md has every key")
	}
	e.Say("added group %s for %s to %s", g.Folder, string(g.Chat), e.Config)
	return e.warnOfLast()
}

// mayAdd refuses a group that cannot be added, with a hint for an operator. named: by --folder.
func mayAdd(l groups.Layout, all []groups.Group, g groups.Group, named bool) error {
	r := refusal.Of(l.MayAdd(all, g, named))
	if r == nil {
		return nil
	}
	hint := r.Hint
	if l.MayAdd(all, g, true) == nil {
		hint = "choose another name; or take the files over: longshore groups add CHAT --folder " + g.Folder
	}
	return terminal.Hinted(errors.New(r.Message), hint)
}

// warnOfLast prints the warnings about the file's last group, which was just added.
func (e *env) warnOfLast() error {
	cfg, err := config.Load(e.Config, e.platforms)
	if err != nil {
		return err
	}
	key := fmt.Sprintf("groups[%d]", len(cfg.Groups)-1)
	e.printProblems("warning: ", slices.DeleteFunc(cfg.Warnings, func(p *config.Problem) bool {
		return p.Key != key && !strings.HasPrefix(p.Key, key+".")
	}))
	return nil
}

// writeGroup writes a group into the configuration file, or returns what would be wrong
// with the file then. It does not write over what somebody else has written meanwhile.
func (e *env) writeGroup(g groups.Group) (problems []*config.Problem, err error) {
	before, err := config.Read(e.Config)
	if err != nil {
		return nil, noConfig(err)
	}
	text, err := config.AddGroup(before, g)
	if err != nil {
		return nil, terminal.Hinted(err, "edit "+e.Config+" by hand, or mend it first: longshore config validate")
	}
	path, err := filepath.Abs(e.Config)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", e.Config, err)
	}
	cfg, err := config.Parse(path, text, e.getenv, e.platforms)
	if problems = wrongWith(cfg, err); len(problems) > 0 {
		return problems, nil
	}
	if err != nil {
		return nil, err
	}
	err = safefs.Replace(path, before, text)
	if errors.Is(err, safefs.ErrChanged) {
		return nil, errors.New("the configuration was changed meanwhile; it is left as it is")
	}
	if err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	return nil, nil
}
