package decode

import (
	"cmp"
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/longshore-bridge/longshore/media"
)

// maxWrapped bounds how often a message may be wrapped in another. The apps wrap three times.
const maxWrapped = 10

// contentOf returns the field that is a message's content, inside all wrappings, with the
// message that has it. The field is nil if there is no content. The apps write one such
// field; of several, the first in the schema counts.
func contentOf(m *waE2E.Message) (*waE2E.Message, protoreflect.FieldDescriptor) {
	for range maxWrapped {
		switch w := valueOf(m, partOf(m)).(type) {
		case *waE2E.FutureProofMessage:
			m = w.GetMessage()
		case *waE2E.DeviceSentMessage:
			m = w.GetMessage()
		default:
			return m, partOf(m)
		}
	}
	return m, partOf(m)
}

// partOf returns the first field of a message that is neither a key nor metadata.
func partOf(m *waE2E.Message) protoreflect.FieldDescriptor {
	r := m.ProtoReflect()
	for i := range r.Descriptor().Fields().Len() {
		switch f := r.Descriptor().Fields().Get(i); f.Name() {
		case "senderKeyDistributionMessage", "fastRatchetKeySenderKeyDistributionMessage", "messageContextInfo":
		default:
			if r.Has(f) {
				return f
			}
		}
	}
	return nil
}

// valueOf returns a field as its Go type: a proto.Message, or a text as itself.
func valueOf(m *waE2E.Message, f protoreflect.FieldDescriptor) any {
	if f != nil && f.Message() != nil {
		return m.ProtoReflect().Get(f).Message().Interface()
	}
	return m.GetConversation()
}

// ContextOf returns the ContextInfo (quote, mentions, timer) of a message's content, or nil.
func ContextOf(content any) *waE2E.ContextInfo {
	if c, ok := content.(interface{ GetContextInfo() *waE2E.ContextInfo }); ok {
		return c.GetContextInfo()
	}
	return nil
}

// downloadable returns how to download the file that a part of a message is, and the file's
// claimed name, type and size; nil if the part is no file.
func downloadable(part proto.Message, at time.Time) (whatsmeow.DownloadableMessage, media.Info) {
	switch f := part.(type) {
	case *waE2E.ImageMessage:
		return f, media.Claimed(media.Image, "", f.GetMimetype(), f.GetFileLength(), at)
	case *waE2E.VideoMessage:
		info := media.Claimed(media.Video, "", f.GetMimetype(), f.GetFileLength(), at)
		info.Loop = f.GetGifPlayback()
		return f, info
	case *waE2E.AudioMessage:
		kind := media.Audio
		if f.GetPTT() {
			kind = media.Voice
		}
		return f, media.Claimed(kind, "", f.GetMimetype(), f.GetFileLength(), at)
	case *waE2E.DocumentMessage:
		name := cmp.Or(f.GetFileName(), f.GetTitle())
		return f, media.Claimed(media.Document, name, f.GetMimetype(), f.GetFileLength(), at)
	case *waE2E.StickerMessage:
		if f.GetIsLottie() { // an animation in a ZIP file, which no program shows
			return nil, media.Info{}
		}
		return f, media.Claimed(media.Sticker, "", f.GetMimetype(), f.GetFileLength(), at)
	}
	return nil, media.Info{}
}
