package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// Seen is a message of the channel as the members of a chat see it.
type Seen struct {
	ID      string // the platform's
	Text    string // the text, or the file's caption
	ReplyTo string // the platform's id of the message that is answered
	Thread  string // empty: in the chat itself
	File    *SeenFile
	More    []SeenFile // the files after the first

	Edits    int           // how often its text was replaced by another one
	Reaction string        // the account's
	Gone     bool          // it was deleted for everybody
	Poll     *channel.Poll // nil: it is none
	Closed   string        // how the poll ended; empty: it is open
}

// SeenFile is what a member has downloaded.
type SeenFile struct {
	Name   string
	MIME   string
	Size   int64
	SHA256 string // lower-case hex
}

// Equal says whether both are the same message with the same files.
func (s Seen) Equal(t Seen) bool {
	return s.ID == t.ID && s.Text == t.Text && s.ReplyTo == t.ReplyTo && s.Thread == t.Thread && slices.Equal(s.Files(), t.Files()) &&
		s.Edits == t.Edits && s.Reaction == t.Reaction && s.Gone == t.Gone && s.Closed == t.Closed
}

// Files are all files of the message.
func (s Seen) Files() []SeenFile {
	if s.File == nil {
		return nil
	}
	return append([]SeenFile{*s.File}, s.More...)
}

func (s Seen) String() string {
	if s.File == nil {
		return fmt.Sprintf("%s %.40q re %q", s.ID, s.Text, s.ReplyTo)
	}
	return fmt.Sprintf("%s %.40q re %q with %+v", s.ID, s.Text, s.ReplyTo, s.Files())
}

// Text makes a message.
func Text(id string, chat groups.JID, text string) channel.Message {
	return channel.Message{ID: id, Chat: chat, Text: text}
}

// File makes a document that reads data.
func File(id string, chat groups.JID, name string, data []byte) channel.Message {
	sum := sha256.Sum256(data)
	return channel.Message{ID: id, Chat: chat, Files: []channel.File{{
		Info:    media.Info{Name: name, Kind: media.Document, MIME: media.MIMEByName(name), Size: int64(len(data))},
		SHA256:  hex.EncodeToString(sum[:]),
		Content: channel.Bytes(data),
	}}}
}

// Files makes a message of several documents, each of which holds its own name.
func Files(id string, chat groups.JID, names ...string) channel.Message {
	m := channel.Message{ID: id, Chat: chat}
	for _, name := range names {
		m.Files = append(m.Files, File(id, chat, name, []byte(name)).Files...)
	}
	return m
}

// closer reads from memory as from a file: with Close, and without the WriteTo
// of bytes.Reader, which would pass all bytes at once.
type closer struct{ io.ReadSeeker }

func (closer) Close() error { return nil }
