// Package compose builds WhatsApp's messages, their ids, and reads the votes on a poll. Like
// package decode, it does no I/O.
package compose

import (
	"cmp"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/probe"
)

// voiceMIME is the MIME type with which the apps play Ogg Opus, as a voice note or not.
const voiceMIME = "audio/ogg; codecs=opus"

// MediaType returns the library's name of the keys with which files of a kind are encrypted.
func MediaType(k media.Kind) whatsmeow.MediaType {
	switch k {
	case media.Image, media.Sticker:
		return whatsmeow.MediaImage
	case media.Video:
		return whatsmeow.MediaVideo
	case media.Audio, media.Voice:
		return whatsmeow.MediaAudio
	}
	return whatsmeow.MediaDocument
}

// Text builds a text message. info may be nil.
func Text(text string, info *waE2E.ContextInfo) *waE2E.Message {
	if info == nil {
		return &waE2E.Message{Conversation: proto.String(text)}
	}
	return &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{Text: proto.String(text), ContextInfo: info}}
}

// Attachment is what a file's message is built from.
type Attachment struct {
	File    *channel.File
	Caption string
	Facts   probe.Facts
	Upload  whatsmeow.UploadResponse
	Context *waE2E.ContextInfo // quote and disappearing timer; may be nil
	Now     time.Time
}

// Message builds the message.
func (a Attachment) Message() *waE2E.Message {
	switch a.File.Kind {
	case media.Image:
		return &waE2E.Message{ImageMessage: a.image()}
	case media.Video:
		return &waE2E.Message{VideoMessage: a.video()}
	case media.Audio, media.Voice:
		return &waE2E.Message{AudioMessage: a.audio()}
	case media.Sticker:
		return &waE2E.Message{StickerMessage: a.sticker()}
	}
	m := &waE2E.Message{DocumentMessage: a.document()}
	if a.Caption == "" {
		return m
	}
	// The apps show a document's caption only inside this wrapping.
	return &waE2E.Message{DocumentWithCaptionMessage: &waE2E.FutureProofMessage{Message: m}}
}

func (a Attachment) image() *waE2E.ImageMessage {
	return &waE2E.ImageMessage{
		URL: &a.Upload.URL, DirectPath: &a.Upload.DirectPath, MediaKey: a.Upload.MediaKey, FileEncSHA256: a.Upload.FileEncSHA256,
		FileSHA256: a.Upload.FileSHA256, FileLength: &a.Upload.FileLength, MediaKeyTimestamp: proto.Int64(a.Now.Unix()),
		Mimetype: &a.File.MIME, Caption: optional(a.Caption), Width: nonZero(a.Facts.Width), Height: nonZero(a.Facts.Height),
		JPEGThumbnail: a.Facts.Thumbnail, ContextInfo: a.Context, AccessibilityLabel: optional(a.File.Alt),
	}
}

func (a Attachment) video() *waE2E.VideoMessage {
	v := &waE2E.VideoMessage{
		URL: &a.Upload.URL, DirectPath: &a.Upload.DirectPath, MediaKey: a.Upload.MediaKey, FileEncSHA256: a.Upload.FileEncSHA256,
		FileSHA256: a.Upload.FileSHA256, FileLength: &a.Upload.FileLength, MediaKeyTimestamp: proto.Int64(a.Now.Unix()),
		Mimetype: &a.File.MIME, Caption: optional(a.Caption), Width: nonZero(a.Facts.Width), Height: nonZero(a.Facts.Height),
		Seconds: nonZero(a.Facts.Seconds), JPEGThumbnail: a.Facts.Thumbnail, ContextInfo: a.Context, AccessibilityLabel: optional(a.File.Alt),
	}
	if a.File.Loop && a.File.MIME == "video/mp4" {
		v.GifPlayback = proto.Bool(true)
	}
	return v
}

func (a Attachment) audio() *waE2E.AudioMessage {
	m := &waE2E.AudioMessage{
		URL: &a.Upload.URL, DirectPath: &a.Upload.DirectPath, MediaKey: a.Upload.MediaKey, FileEncSHA256: a.Upload.FileEncSHA256,
		FileSHA256: a.Upload.FileSHA256, FileLength: &a.Upload.FileLength, MediaKeyTimestamp: proto.Int64(a.Now.Unix()),
		Mimetype: &a.File.MIME, Seconds: nonZero(a.Facts.Seconds), ContextInfo: a.Context,
	}
	if a.File.Kind == media.Voice || a.Facts.Opus {
		m.Mimetype = proto.String(voiceMIME)
	}
	if a.File.Kind == media.Voice {
		m.PTT, m.Waveform = proto.Bool(true), a.Facts.Waveform
	}
	return m
}

func (a Attachment) sticker() *waE2E.StickerMessage {
	return &waE2E.StickerMessage{
		URL: &a.Upload.URL, DirectPath: &a.Upload.DirectPath, MediaKey: a.Upload.MediaKey, FileEncSHA256: a.Upload.FileEncSHA256,
		FileSHA256: a.Upload.FileSHA256, FileLength: &a.Upload.FileLength, MediaKeyTimestamp: proto.Int64(a.Now.Unix()),
		Mimetype: &a.File.MIME, Width: nonZero(a.Facts.Width), Height: nonZero(a.Facts.Height), IsAnimated: proto.Bool(a.Facts.Animated),
		ContextInfo: a.Context,
	}
}

func (a Attachment) document() *waE2E.DocumentMessage {
	name := cmp.Or(a.File.Name, "file")
	return &waE2E.DocumentMessage{
		URL: &a.Upload.URL, DirectPath: &a.Upload.DirectPath, MediaKey: a.Upload.MediaKey, FileEncSHA256: a.Upload.FileEncSHA256,
		FileSHA256: a.Upload.FileSHA256, FileLength: &a.Upload.FileLength, MediaKeyTimestamp: proto.Int64(a.Now.Unix()),
		Mimetype: &a.File.MIME, FileName: &name, Title: &name, Caption: optional(a.Caption), PageCount: nonZero(a.Facts.Pages),
		JPEGThumbnail: a.Facts.Thumbnail, ContextInfo: a.Context,
	}
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func nonZero(n uint32) *uint32 {
	if n == 0 {
		return nil
	}
	return &n
}

// MediaTypeAttr returns the mediatype attribute of a message that we send; empty
// without a file.
func MediaTypeAttr(m *waE2E.Message) string {
	if inner := m.GetDocumentWithCaptionMessage().GetMessage(); inner != nil {
		m = inner
	}
	switch {
	case m.ImageMessage != nil:
		return "image"
	case m.StickerMessage != nil:
		return "sticker"
	case m.DocumentMessage != nil:
		return "document"
	case m.AudioMessage.GetPTT():
		return "ptt"
	case m.AudioMessage != nil:
		return "audio"
	case m.VideoMessage.GetGifPlayback():
		return "gif"
	case m.VideoMessage != nil:
		return "video"
	}
	return ""
}
