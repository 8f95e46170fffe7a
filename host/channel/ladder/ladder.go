// Package ladder says in which lower form a message goes if a platform refuses its form
// and not its content.
//
//	voice note → audio → document      sticker → picture → document
//	looping film → film → document     album → single files
//	answer → no answer                 thread → the chat itself
package ladder

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

// Down returns the messages that take the place of m, which a platform refused with err, and
// a note for their sender. The limits are the channel's. ok is false if err refuses more than
// a form, or if there is no lower one. A message with other content has another ID, which
// depends on the ID of m alone, and no State.
func Down(m channel.Message, err error, l media.Limits) (ms []channel.Message, note string, ok bool) {
	form := channel.FormOf(err)
	how := ""
	switch {
	case form == channel.FormThread && m.Thread != "":
		m.Thread, how = "", "to the chat itself"
	case (form == channel.FormReply || form == channel.FormThread) && m.ReplyTo != "": // an answer may make a thread
		m.ReplyTo, how = "", "as no answer"
	case (form == channel.FormKind || form == channel.FormAlbum) && len(m.Files) > 1:
		ms, how = alone(m), "as a message for each file"
	case form == channel.FormKind && len(m.Files) == 1:
		if m, how = lower(m, l); how == "" {
			return nil, "", false
		}
	default:
		return nil, "", false
	}
	if ms == nil {
		ms = []channel.Message{m}
	}
	var e *channel.Error
	errors.As(err, &e)
	return ms, e.Message + ", so it goes " + how, true
}

// alone makes a message of each file. The first has the text and the answer.
func alone(m channel.Message) (all []channel.Message) {
	for i := range m.Files {
		one := m
		one.ID, one.State, one.Files = derived(m.ID, i), nil, m.Files[i:i+1:i+1]
		if i > 0 {
			one.Text, one.ReplyTo = "", ""
		}
		all = append(all, one)
	}
	return all
}

// lower gives the file the next kind that the limits take. how is empty if there is none.
func lower(m channel.Message, l media.Limits) (_ channel.Message, how string) {
	f := m.Files[0]
	for {
		if f.Kind, f.Loop = below(f.Info), false; f.Kind == "" {
			return m, ""
		}
		limit := l.Kinds[f.Kind]
		if f.Size <= limit.Bytes && (m.Text == "" || l.Unit.Len(m.Text) <= limit.Caption) {
			m.ID, m.State, m.Files = derived(m.ID, 0), nil, []channel.File{f}
			return m, "as " + f.Kind.Words()
		}
	}
}

// below is the kind below a file's own; empty if there is none.
func below(f media.Info) media.Kind {
	switch {
	case f.Kind == media.Voice:
		return media.Audio
	case f.Kind == media.Sticker:
		return media.Image
	case f.Loop:
		return media.Video
	case f.Kind == media.Document:
		return ""
	}
	return media.Document
}

func derived(id string, index int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", id, index))
	return hex.EncodeToString(sum[:16])
}
