package bot

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// ForCommand returns a platform's error as a command reports it. A command, unlike the host,
// does not try again: the hint of an error that passes says what to check. server is whom the
// command asked. Other errors, and nil, are returned unchanged.
func ForCommand(err error, server string) error {
	var e *channel.Error
	if !errors.As(err, &e) || e.Class != channel.Passing {
		return err
	}
	mine := *e
	mine.Hint = "see whether this machine reaches " + server + ", and run this command again"
	return &mine
}

// TestMessage returns the message with a small file that "longshore pair --to CHAT" sends.
func TestMessage(to groups.JID) channel.Message {
	data := []byte("Longshore reaches this chat.\n")
	sum := sha256.Sum256(data)
	return channel.Message{ID: rand.Text(), Chat: to, Text: "A test of Longshore", Files: []channel.File{{
		Info:   media.Info{Name: "longshore.txt", Kind: media.Document, MIME: "text/plain", Size: int64(len(data))},
		SHA256: hex.EncodeToString(sum[:]), Content: channel.Bytes(data),
	}}}
}
