// Package channeltest tests channels, and what stands before them.
//
// [Run] is the conformance suite: every channel passes it with a [Harness] of
// a few lines that lets the suite look through the members' eyes. [Memory] is
// a channel without a platform, which can be told to fail in every way that
// platforms do, for the tests of the outbox and the bridge.
//
// Nothing here sleeps: whoever waits, waits for a condition, so that all of
// Memory also runs inside a testing/synctest bubble.
package channeltest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// Seen is a message of the channel as the members of a chat see it.
type Seen struct {
	ID      string // the platform's
	Text    string // the text, or the file's caption
	ReplyTo string // the platform's id of the message that is answered
	File    *SeenFile
}

// SeenFile is what a member has downloaded.
type SeenFile struct {
	Name   string
	MIME   string
	Size   int64
	SHA256 string // lower-case hex
}

func (s Seen) String() string {
	if s.File == nil {
		return fmt.Sprintf("%s %.40q re %q", s.ID, s.Text, s.ReplyTo)
	}
	return fmt.Sprintf("%s %.40q re %q with %+v", s.ID, s.Text, s.ReplyTo, *s.File)
}

// Said is what a member writes.
type Said struct {
	From string
	Text string
	File *SaidFile // may be nil
}

// SaidFile is a file that a member attaches.
type SaidFile struct {
	Name string
	MIME string
	Data []byte
}

// Attach makes an attachment that reads data.
func Attach(name, mimeType string, data []byte) channel.Attachment {
	info := media.Info{Name: name, MIME: mimeType, Kind: media.KindByName(name), Size: int64(len(data))}
	return channel.Attachment{Info: info, Open: openBytes(data)}
}

// Text makes a message.
func Text(id string, chat groups.JID, text string) channel.Message {
	return channel.Message{ID: id, Chat: chat, Text: text}
}

// File makes a document that reads data.
func File(id string, chat groups.JID, name string, data []byte) channel.Message {
	return channel.Message{ID: id, Chat: chat, File: document(name, data, seekerOf(data))}
}

func document(name string, data []byte, open func() (io.ReadSeekCloser, error)) *channel.File {
	info := media.Info{Name: name, Kind: media.Document, MIME: media.MIMEByName(name), Size: int64(len(data))}
	return &channel.File{Info: info, SHA256: sum(data), Open: open}
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}

// patience is how long the suite waits for what should come at once. It is
// wide because only a failing test ever waits that long.
const patience = 20 * time.Second
