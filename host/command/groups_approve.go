package command

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
)

func newRequests(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "requests",
		Short: "list the people who wrote in a direct chat, and the codes that they got",
		Long: `requests lists the pairing codes that count. With direct: pairing in longshore.yaml,
a person who writes to the account in a direct chat that no group has gets one.
Ask the person for the code before you approve it: names are their own.`,
		Args: terminal.Exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			codes, err := e.codes(cmd.Context())
			if err != nil {
				return err
			}
			return e.Answer(codes, func() error {
				const none = "nobody waits; with direct: pairing in longshore.yaml, people who write in a direct chat get a code"
				return terminal.List(&e.Terminal, none, []string{"code", "channel", "chat", "name", "for another"}, codes, func(p operator.PairingCode) []string {
					return []string{p.Code, p.Channel, p.Chat, p.From, time.Until(p.Until).Round(time.Minute).String()}
				})
			})
		},
	}
}

func newApprove(e *env) *cobra.Command {
	var g groups.Group
	cmd := &cobra.Command{
		Use:   "approve CODE",
		Short: "make a group for the chat that got a pairing code",
		Long: `approve adds a group for the chat, as "longshore groups add" does. If a group has the
chat already, approve only tells the chat. Only an operator can approve: the code
does nothing in a chat.`,
		Args: terminal.Exactly("code"),
		RunE: func(cmd *cobra.Command, args []string) error { return e.approve(cmd.Context(), args[0], g) },
	}
	groupFlags(cmd, &g)
	return cmd
}

// codes asks the running host for its pairing codes. The list is never nil: programs read it as JSON.
func (e *env) codes(ctx context.Context) ([]operator.PairingCode, error) {
	cfg, err := e.load()
	if err != nil {
		return nil, err
	}
	client, err := e.hostOf(ctx, cfg.Layout())
	if err != nil {
		return nil, err
	}
	if client == nil {
		return nil, terminal.Hinted(operator.ErrNoHost, "longshore serve starts one; only a running host gives codes")
	}
	codes, err := client.PairingCodes(ctx)
	if codes == nil {
		codes = []operator.PairingCode{}
	}
	return codes, ofControl(err)
}

// approve makes a group for the chat of a code, reloads the host, and ends the code.
func (e *env) approve(ctx context.Context, code string, g groups.Group) error {
	codes, err := e.codes(ctx)
	if err != nil {
		return err
	}
	plain := strings.NewReplacer("-", "", " ", "")
	i := slices.IndexFunc(codes, func(p operator.PairingCode) bool {
		return strings.EqualFold(plain.Replace(p.Code), plain.Replace(code))
	})
	if i < 0 {
		return terminal.Hinted(errors.New("no pairing code like that counts"), "codes count for an hour; see: longshore groups requests")
	}
	cfg, err := e.load()
	if err != nil {
		return err
	}
	g.Chat, g.Channel = groups.JID(codes[i].Chat), codes[i].Channel
	if !slices.ContainsFunc(cfg.Groups, func(other groups.Group) bool { return other.Address() == g.Address() }) {
		if err := e.addApproved(cfg, g); err != nil {
			return err
		}
	}
	if err := e.reload(ctx, false); err != nil {
		return err
	}
	if err := operator.NewClient(operator.ControlDir(cfg.Layout())).ApprovePairing(ctx, codes[i].Code); err != nil {
		return ofControl(err)
	}
	e.Say("approved %s; the chat was told", string(g.Chat))
	return nil
}

// addApproved adds the group, with the only assistant if none is named: without one nobody would
// answer.
func (e *env) addApproved(cfg *config.Config, g groups.Group) error {
	if g.Assistant == "" && len(cfg.Assistants) == 1 {
		for name := range cfg.Assistants {
			g.Assistant = name
		}
	}
	if g.Assistant == "" {
		return terminal.Usage("no assistant given", "give --assistant, the name of an entry under assistants:")
	}
	return e.addGroup(g)
}
