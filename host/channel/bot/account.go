package bot

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/media"
)

// Kind is what people are told of a platform and its accounts. A platform embeds it for the methods of
// channel.Platform and channel.Linker that only say something, and for Link.
type Kind struct {
	YAML     string // the platform's key in longshore.yaml: "discord"
	People   string // its name: "Discord"
	Sentence string // what it is
	Chat     string // how a chat of it is written: "dc: and the channel's id, such as dc:1234567890"
	Tokens   string // what a channel lacks that is not paired: "token of a Discord bot"
	Pair     string // what "longshore pair" does, in a few words
	PairLong string // the same at length
	Steps    string // how an account is made, in lines; CHANNEL stands for the channel's name
}

// Key implements channel.Platform.
func (k Kind) Key() string { return k.YAML }

// Help implements channel.Platform.
func (k Kind) Help() string { return k.Sentence }

// Account implements channel.Linker.
func (k Kind) Account() channel.Account { return channel.Account{Pair: k.Pair, About: k.PairLong} }

// Guide implements channel.Linker.
func (k Kind) Guide(name string) string { return strings.ReplaceAll(k.Steps, "CHANNEL", name) }

// Paired is a channel whose account "longshore pair" and the doctor check.
type Paired interface {
	channel.Channel
	// Unpaired returns the stop of a channel without tokens; nil if it has them.
	Unpaired() *link.Stop
	// Me asks the platform whose tokens they are, and returns the account's name.
	Me(ctx context.Context) (string, error)
	// Show says what the account has and lacks. Without p.To it may say which chats there are.
	Show(ctx context.Context, p channel.Pairing) error
	// Look looks for what is wrong with the account and the chats of the configuration.
	Look(ctx context.Context, running bool, found Found)
	// Deliver sends a message without the checks of Send; o may be nil.
	Deliver(ctx context.Context, o *Open, m channel.Message) (channel.Receipt, error)
	// Close frees the connections.
	Close()
}

// Found takes a finding of Paired.Look.
type Found func(severity finding.Severity, message, remedy string)

// Link implements channel.Linker. It checks the account, and sends a small file to a chat that is named.
func (k Kind) Link(ctx context.Context, ch channel.Channel, p channel.Pairing) (string, error) {
	c := ch.(Paired)
	defer c.Close()
	if c.Unpaired() != nil {
		channel.SayLines(p, k.Guide(c.Name()))
		return "", errors.New("the channel has no " + k.Tokens + " yet")
	}
	if p.To != "" && !c.Owns(p.To) {
		return "", fmt.Errorf("%q is no chat of %s: write %s", p.To, k.People, k.Chat)
	}
	me, err := c.Me(ctx)
	if err != nil {
		return "", err
	}
	p.Say("token: %s", me)
	if err := c.Show(ctx, p); err != nil {
		return "", err
	}
	if p.To == "" {
		p.Say("a test file goes to a chat with: --to CHAT")
		return me, nil
	}
	r, err := c.Deliver(ctx, nil, TestMessage(p.To))
	if err == nil && r.Pending {
		err = fmt.Errorf("%s took it, and does not show it in the chat", k.People)
	}
	if err != nil {
		return "", fmt.Errorf("send a test file: %w", err)
	}
	p.Say("the chat has a test file")
	if r.Note != "" {
		p.Say("  %s", r.Note)
	}
	return me, nil
}

// Examine returns the doctor's findings about the channel c, or about err, with which it was not made.
func (k Kind) Examine(ctx context.Context, s channel.Setup, c Paired, err error, running bool) []finding.Finding {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	e := channel.Examination{Channel: s.Name}
	if err != nil {
		e.Found(finding.Fault, err.Error(), "")
		return e.All
	}
	defer c.Close()
	if stop := c.Unpaired(); stop != nil {
		e.Found(finding.Fault, stop.Message, stop.Hint)
		return e.All
	}
	me, err := c.Me(ctx)
	if err != nil {
		e.Found(finding.Fault, err.Error(), channel.HintOf(err))
		return e.All
	}
	if c.Look(ctx, running, e.Found); len(e.All) == 0 {
		e.Found(finding.Fine, "connects as "+me, "")
	}
	return e.All
}

// ForCommand returns a platform's error as a command reports it. A command, unlike the host, does
// not try again, so the hint of a Passing error says to check the way to server. Other errors,
// and nil, are returned unchanged.
func ForCommand(err error, server string) error {
	var e *channel.Error
	if !errors.As(err, &e) || e.Class != channel.Passing {
		return err
	}
	mine := *e
	mine.Hint = "see whether this machine reaches " + server + ", and run this command again"
	return &mine
}

// NotPaired returns the stop of a channel without the tokens of its account; nil if has is true.
func (b *Bot) NotPaired(has bool) *link.Stop {
	if has {
		return nil
	}
	command := "longshore pair " + b.kind.YAML
	if b.Name() != b.kind.YAML {
		command += " " + b.Name()
	}
	return &link.Stop{Code: b.kind.YAML + "_not_paired", Message: "the channel has no " + b.kind.Tokens, Hint: command + " says how to get it; then restart the host"}
}

// TestMessage returns the message that "longshore pair --to CHAT" sends, which has a small file.
func TestMessage(to groups.JID) channel.Message {
	data := []byte("Longshore reaches this chat.\n")
	sum := sha256.Sum256(data)
	return channel.Message{ID: rand.Text(), Chat: to, Text: "A test of Longshore", Files: []channel.File{{
		Info:   media.Info{Name: "longshore.txt", Kind: media.Document, MIME: "text/plain", Size: int64(len(data))},
		SHA256: hex.EncodeToString(sum[:]), Content: channel.Bytes(data),
	}}}
}

// FileLimits are those of a platform that takes files of all kinds in one message, with so many bytes each or as
// many as own says, and a caption. Its apps are browsers, or play no more than browsers do.
func FileLimits(bytes int64, caption int, own groups.KindLimits) map[media.Kind]media.Limit {
	all := map[media.Kind]media.Limit{}
	for _, kind := range media.Kinds() {
		limit := media.Limit{Bytes: bytes, Caption: caption, Album: "files"}
		if n, ok := own[string(kind)]; ok {
			limit.Bytes = n
		}
		if kind == media.Video || kind == media.Audio {
			limit.MIME, limit.Codecs = media.BrowserTypes(kind), media.BrowserCodecs()
		}
		all[kind] = limit
	}
	return all
}
