package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mdp/qrterminal/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/host/operator"
)

func newPair(e *env) *cobra.Command {
	p := &pairing{env: e}
	wa := &cobra.Command{
		Use:   "whatsapp",
		Short: "link this host to a WhatsApp account",
		Long: `whatsapp shows a QR code, in the terminal where it fits and on a page of this
machine, to be scanned on the phone under Settings, Linked devices. With --phone
it asks for a code instead, to be typed in on the phone. A host that is running
goes on by itself once the account is linked.`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.run(cmd.Context()) },
	}
	wa.Flags().StringVar(&p.phone, "phone", "", "the account's `number` with its country code, for a code to type instead of a QR code")
	wa.Flags().BoolVar(&p.noPage, "no-page", false, "show the QR code in the terminal only")
	return family("pair", "link a channel to an account", wa)
}

func newUnpair(e *env) *cobra.Command {
	wa := &cobra.Command{
		Use:   "whatsapp",
		Short: "unlink this host from its WhatsApp account and forget its keys",
		Args:  exactly(),
		RunE:  func(cmd *cobra.Command, _ []string) error { return e.unpair(cmd.Context()) },
	}
	return family("unpair", "unlink a channel from its account", wa)
}

// pairing is one run of "pair whatsapp".
type pairing struct {
	*env
	phone  string
	noPage bool
	page   *pairPage
}

func (p *pairing) run(ctx context.Context) error {
	w, err := p.channel()
	if err != nil {
		return err
	}
	if p.phone == "" && !p.noPage {
		if p.page, err = openPairPage(); err != nil {
			return err
		}
		defer p.page.close()
		p.say("scan the code on the phone, under Settings, Linked devices: here or at %s", p.page.url)
	}
	err = w.Pair(ctx, whatsapp.PairOptions{
		Phone: strings.TrimLeft(p.phone, "+"), OnQR: p.showQR, OnCode: p.showCode,
	})
	if errors.Is(err, whatsapp.ErrPaired) {
		jid, _ := w.Paired()
		return hinted(fmt.Errorf("an account is linked already: %s", jid), "unlink it first: longshore unpair whatsapp")
	}
	if err != nil {
		return err
	}
	jid, _ := w.Paired()
	if p.page != nil {
		p.page.done()
	}
	p.say("linked to %s", jid)
	p.say("next: longshore groups list --channel whatsapp")
	return nil
}

// channel is the configured WhatsApp.
func (e *env) channel() (*whatsapp.WhatsApp, error) {
	cfg, err := e.load()
	if err != nil {
		return nil, err
	}
	if cfg.Channels.WhatsApp == nil {
		return nil, hinted(errors.New("the configuration has no channel whatsapp"), "write whatsapp: below channels: in "+e.config)
	}
	return newWhatsApp(cfg, newLog(e.stderr, groups.Log{Level: "warn"}), e.whatsapp)
}

// showCode prints the code that is typed into the phone.
func (p *pairing) showCode(code string) {
	p.say("type this code on the phone, under Settings, Linked devices, Link with phone number:")
	p.say("")
	p.say("    %s", code)
	p.say("")
}

// showQR draws the code where the terminal has room for it.
func (p *pairing) showQR(code string, valid time.Duration) {
	if p.page != nil {
		p.page.show(code, valid)
	}
	drawing, width, height := drawQR(code)
	columns, rows := p.screen()
	if width > columns || height > rows {
		p.say("the code takes %d by %d characters, and this terminal has %d by %d: %s", width, height, columns, rows, p.otherwise())
		return
	}
	fmt.Fprint(p.stdout, drawing)
	p.say("it counts for %s; the next one follows by itself", valid.Round(time.Second))
}

func (p *pairing) otherwise() string {
	if p.page != nil {
		return "open the page, or give --phone"
	}
	return "make it larger, or give --phone"
}

// screen is the terminal's size. What is no terminal takes everything.
func (p *pairing) screen() (columns, rows int) {
	if f, ok := p.stdout.(*os.File); ok {
		if columns, rows, err := term.GetSize(int(f.Fd())); err == nil {
			return columns, rows
		}
	}
	return 1 << 16, 1 << 16
}

// drawQR draws a code in half blocks, and says how large the drawing is.
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

func (e *env) unpair(ctx context.Context) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	if err := e.withAccounts(ctx, cfg, func(c operator.Control) error { return c.Unpair(ctx, "whatsapp") }); err != nil {
		return ofControl(err)
	}
	e.say("unlinked; deliveries to its chats are held until an account is linked again")
	return nil
}
