package whatsapp

import (
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/probe"
)

// voiceMIME is what makes the apps play Ogg Opus, as a voice note or not.
const voiceMIME = "audio/ogg; codecs=opus"

// mediaType is the set of keys under which a kind is encrypted.
func mediaType(k media.Kind) whatsmeow.MediaType {
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

// textMessage builds a text message; info may be nil.
func textMessage(text string, info *waE2E.ContextInfo) *waE2E.Message {
	if info == nil {
		return &waE2E.Message{Conversation: proto.String(text)}
	}
	return &waE2E.Message{ExtendedTextMessage: &waE2E.ExtendedTextMessage{Text: proto.String(text), ContextInfo: info}}
}

// attachment is everything from which a file's message is built.
type attachment struct {
	file    *channel.File
	caption string
	facts   probe.Facts
	up      whatsmeow.UploadResponse
	info    *waE2E.ContextInfo // quote and disappearing timer; may be nil
	now     time.Time
}

func (a attachment) message() *waE2E.Message {
	switch a.file.Kind {
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
	if a.caption == "" {
		return m
	}
	// The apps show a document's caption only inside this wrapping.
	return &waE2E.Message{DocumentWithCaptionMessage: &waE2E.FutureProofMessage{Message: m}}
}

func (a attachment) image() *waE2E.ImageMessage {
	return &waE2E.ImageMessage{
		URL: &a.up.URL, DirectPath: &a.up.DirectPath, MediaKey: a.up.MediaKey, FileEncSHA256: a.up.FileEncSHA256,
		FileSHA256: a.up.FileSHA256, FileLength: &a.up.FileLength, MediaKeyTimestamp: proto.Int64(a.now.Unix()),
		Mimetype: &a.file.MIME, Caption: optional(a.caption), Width: known(a.facts.Width), Height: known(a.facts.Height),
		JPEGThumbnail: a.facts.Thumbnail, ContextInfo: a.info, AccessibilityLabel: optional(a.file.Alt),
	}
}

func (a attachment) video() *waE2E.VideoMessage {
	v := &waE2E.VideoMessage{
		URL: &a.up.URL, DirectPath: &a.up.DirectPath, MediaKey: a.up.MediaKey, FileEncSHA256: a.up.FileEncSHA256,
		FileSHA256: a.up.FileSHA256, FileLength: &a.up.FileLength, MediaKeyTimestamp: proto.Int64(a.now.Unix()),
		Mimetype: &a.file.MIME, Caption: optional(a.caption), Width: known(a.facts.Width), Height: known(a.facts.Height),
		Seconds: known(a.facts.Seconds), JPEGThumbnail: a.facts.Thumbnail, ContextInfo: a.info, AccessibilityLabel: optional(a.file.Alt),
	}
	if a.file.Loop && a.file.MIME == "video/mp4" {
		v.GifPlayback = proto.Bool(true)
	}
	return v
}

func (a attachment) audio() *waE2E.AudioMessage {
	m := &waE2E.AudioMessage{
		URL: &a.up.URL, DirectPath: &a.up.DirectPath, MediaKey: a.up.MediaKey, FileEncSHA256: a.up.FileEncSHA256,
		FileSHA256: a.up.FileSHA256, FileLength: &a.up.FileLength, MediaKeyTimestamp: proto.Int64(a.now.Unix()),
		Mimetype: &a.file.MIME, Seconds: known(a.facts.Seconds), ContextInfo: a.info,
	}
	if a.file.Kind == media.Voice || a.facts.Opus {
		m.Mimetype = proto.String(voiceMIME)
	}
	if a.file.Kind == media.Voice {
		m.PTT, m.Waveform = proto.Bool(true), a.facts.Waveform
	}
	return m
}

func (a attachment) sticker() *waE2E.StickerMessage {
	return &waE2E.StickerMessage{
		URL: &a.up.URL, DirectPath: &a.up.DirectPath, MediaKey: a.up.MediaKey, FileEncSHA256: a.up.FileEncSHA256,
		FileSHA256: a.up.FileSHA256, FileLength: &a.up.FileLength, MediaKeyTimestamp: proto.Int64(a.now.Unix()),
		Mimetype: &a.file.MIME, Width: known(a.facts.Width), Height: known(a.facts.Height), IsAnimated: proto.Bool(a.facts.Animated),
		ContextInfo: a.info,
	}
}

func (a attachment) document() *waE2E.DocumentMessage {
	name := a.file.Name
	if name == "" {
		name = "file"
	}
	return &waE2E.DocumentMessage{
		URL: &a.up.URL, DirectPath: &a.up.DirectPath, MediaKey: a.up.MediaKey, FileEncSHA256: a.up.FileEncSHA256,
		FileSHA256: a.up.FileSHA256, FileLength: &a.up.FileLength, MediaKeyTimestamp: proto.Int64(a.now.Unix()),
		Mimetype: &a.file.MIME, FileName: &name, Title: &name, Caption: optional(a.caption), PageCount: known(a.facts.Pages),
		JPEGThumbnail: a.facts.Thumbnail, ContextInfo: a.info,
	}
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func known(n uint32) *uint32 {
	if n == 0 {
		return nil
	}
	return &n
}
