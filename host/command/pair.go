package command

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mdp/qrterminal/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/command/pairpage"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/near"
)

func newPair(e *env) *cobra.Command {
	cmd := terminal.Family("pair", "link a channel to an account")
	for _, platform := range linkers(e.platforms) {
		p := &pairing{env: e, platform: platform}
		account := platform.Account()
		one := &cobra.Command{
			Use: platform.Key() + " [CHANNEL]", Short: account.Pair, Long: account.About + aboutNames,
			Args: terminal.AtMost("channel"),
			RunE: func(cmd *cobra.Command, args []string) error { return p.run(cmd.Context(), args) },
		}
		if account.Type != "" {
			one.Flags().StringVar(&p.phone, "phone", "", "the account's `number` with its country code, for a code to type instead of a QR code")
		}
		if account.Scan != "" {
			one.Flags().StringVar(&p.listen, "listen", "", "`address` of the page with the QR code, for a browser elsewhere (default "+pairListen+"); plain HTTP")
			one.Flags().BoolVar(&p.noPage, "no-page", false, "show the QR code in the terminal only")
		} else {
			one.Flags().StringVar((*string)(&p.to), "to", "", "the `chat` that gets a test file")
		}
		cmd.AddCommand(one)
	}
	return cmd
}

func newUnpair(e *env) *cobra.Command {
	cmd := terminal.Family("unpair", "unlink a channel from its account")
	for _, platform := range linkers(e.platforms) {
		account := platform.Account()
		if account.Unpair == "" {
			continue
		}
		cmd.AddCommand(&cobra.Command{
			Use: platform.Key() + " [CHANNEL]", Short: account.Unpair,
			Args: terminal.AtMost("channel"),
			RunE: func(cmd *cobra.Command, args []string) error { return e.unpair(cmd.Context(), platform, args) },
		})
	}
	return cmd
}

// linkers returns the platforms that have accounts to link.
func linkers(platforms []channel.Platform) (all []channel.Linker) {
	for _, p := range platforms {
		if one, ok := p.(channel.Linker); ok {
			all = append(all, one)
		}
	}
	return all
}

// pairListen is the usual address of the page with the QR code: loopback, at a free port.
const pairListen = "127.0.0.1:0"

// pairing is one run of "pair".
type pairing struct {
	*env
	platform channel.Linker
	phone    string
	noPage   bool
	listen   string
	to       groups.JID
	page     *pairpage.Page
}

func (p *pairing) run(ctx context.Context, names []string) (err error) {
	cfg, err := p.load()
	if err != nil {
		return err
	}
	one, err := p.account(cfg, p.platform, names)
	if err != nil {
		guide := p.platform.Guide(cmp.Or(strings.Join(names, ""), p.platform.Key()))
		if guide != "" && !slices.ContainsFunc(cfg.Channels, func(c config.Channel) bool { return c.Platform.Key() == p.platform.Key() }) {
			channel.SayLines(p, guide)
			p.Say("")
		}
		return err
	}
	server, t, err := p.ownAccounts(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.end()) }()
	c, err := p.unopened(cfg, one, server, nil)
	if err != nil {
		return err
	}
	if account := p.platform.Account(); p.phone == "" && !p.noPage && account.Scan != "" {
		if p.page, err = pairpage.Open(account, cmp.Or(p.listen, pairListen)); err != nil {
			return err
		}
		defer p.page.Close()
		p.Say("%s: here or at %s", account.Scan, p.page.URL)
	}
	who, err := p.platform.Link(ctx, c, channel.Pairing{
		Screen: p, Phone: strings.TrimLeft(p.phone, "+"), To: p.to, Running: store.InUse(serve.StateOf(cfg)),
	})
	if _, linked := errors.AsType[*channel.LinkedError](err); linked {
		return terminal.Hinted(err, "unlink it first: longshore unpair "+words(one))
	}
	if err != nil {
		return err
	}
	if p.page != nil {
		p.page.Done()
	}
	p.Say("linked to %s", who)
	p.Say("next: longshore groups list --channel %s", c.Name())
	return nil
}

// aboutNames is the hint on how to name one of several accounts.
const aboutNames = `

Where longshore.yaml has several accounts of the platform, the channel's name
says which is meant.`

// account finds the configured channel of a platform: the named one, or the only one.
func (e *env) account(cfg *config.Config, platform channel.Platform, names []string) (config.Channel, error) {
	var could []string
	for _, one := range cfg.Channels {
		if one.Platform.Key() == platform.Key() {
			could = append(could, one.Name)
		}
	}
	name := platform.Key()
	switch {
	case len(names) > 0:
		name = names[0]
	case len(could) == 1:
		name = could[0]
	case len(could) > 1:
		return config.Channel{}, terminal.Usage("several channels are accounts of "+platform.Key(), "name one of them: "+strings.Join(could, ", "))
	}
	if !slices.Contains(could, name) {
		return config.Channel{}, terminal.Hinted(errors.New("the configuration has no channel "+name), near.Hint(name, could, "write "+name+": below channels: in "+e.Config))
	}
	one, _ := cfg.Channels.Named(name)
	return one, nil
}

// words returns the arguments of "pair" and "unpair" that name a channel.
func words(c config.Channel) string {
	if c.Name == c.Platform.Key() {
		return c.Name
	}
	return c.Platform.Key() + " " + c.Name
}

// unopened makes a channel of a platform with accounts, to ask it something. db may be nil.
func (e *env) unopened(cfg *config.Config, c config.Channel, server store.Server, db *state.DB) (channel.Channel, error) {
	setup := serve.SetupOf(cfg, c, newLog(e.Stderr, config.Log{Level: "warn"}))
	setup.Server, setup.State = server, db
	return c.Platform.New(setup)
}

// ShowCode implements channel.Screen: it prints the code to type into the phone.
func (p *pairing) ShowCode(code string) {
	p.Say("%s:", p.platform.Account().Type)
	p.Say("")
	p.Say("    %s", code)
	p.Say("")
}

// ShowQR implements channel.Screen: it draws the code on the page, and in the terminal if that has
// room.
func (p *pairing) ShowQR(code string, valid time.Duration) {
	if p.page != nil {
		p.page.Show(code, valid)
	}
	drawing, width, height := drawQR(code)
	if columns, rows := p.screen(); width > columns || height > rows {
		p.Say("the code takes %d by %d characters, and this terminal has %d by %d: %s", width, height, columns, rows, p.otherwise())
		return
	}
	fmt.Fprint(p.Stdout, drawing)
	p.Say("it counts for %s; the next one follows by itself", valid.Round(time.Second))
}

func (p *pairing) otherwise() string {
	if p.page != nil {
		return "open the page, or give --phone"
	}
	return "make it larger, or give --phone"
}

// screen returns the terminal's size in characters; unlimited if stdout is no terminal.
func (p *pairing) screen() (columns, rows int) {
	if f, ok := p.Stdout.(*os.File); ok {
		if columns, rows, err := term.GetSize(int(f.Fd())); err == nil {
			return columns, rows
		}
	}
	return 1 << 16, 1 << 16
}

// drawQR draws a code in half blocks, and returns the size of the drawing in characters.
func drawQR(code string) (drawing string, width, height int) {
	var b bytes.Buffer
	qrterminal.GenerateWithConfig(code, qrterminal.Config{
		Level: qrterminal.L, Writer: io.Writer(&b), HalfBlocks: true, QuietZone: 1,
		BlackChar: qrterminal.BLACK_BLACK, WhiteChar: qrterminal.WHITE_WHITE,
		BlackWhiteChar: qrterminal.BLACK_WHITE, WhiteBlackChar: qrterminal.WHITE_BLACK,
	})
	drawing = b.String()
	for line := range strings.Lines(drawing) {
		height++
		width = max(width, len([]rune(strings.TrimRight(line, "\n"))))
	}
	return drawing, width, height
}

func (e *env) unpair(ctx context.Context, platform channel.Platform, names []string) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	one, err := e.account(cfg, platform, names)
	if err != nil {
		return err
	}
	if err := e.withAccounts(ctx, cfg, true, func(c operator.Control) error { return c.Unpair(ctx, one.Name) }); err != nil {
		return err
	}
	e.Say("unlinked; deliveries to its chats are held until an account is linked again")
	return nil
}
