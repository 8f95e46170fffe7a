package bot

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/link"
	"github.com/longshore-bridge/longshore/media"
)

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
