package whatsapp

import (
	"time"

	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/longshore-bridge/longshore/media"
)

// maxWrapped is how deep a message may be wrapped in others. The apps wrap three deep.
const maxWrapped = 10

// contentOf returns the field that is a message's content, inside all its wrappings, the
// message that has the field, and the names of the wrappings. The field is nil if there
// is no content. The apps write one such field; of several, the first in the schema counts.
func contentOf(m *waE2E.Message) (inner *waE2E.Message, part protoreflect.FieldDescriptor, wrapped []protoreflect.Name) {
	for {
		if part = partOf(m); part == nil || len(wrapped) == maxWrapped {
			return m, part, wrapped
		}
		var next *waE2E.Message
		switch w := valueOf(m, part).(type) {
		case *waE2E.FutureProofMessage:
			next = w.GetMessage()
		case *waE2E.DeviceSentMessage:
			next = w.GetMessage()
		}
		if next == nil {
			return m, part, wrapped
		}
		m, wrapped = next, append(wrapped, part.Name())
	}
}

// partOf returns the first field of a message that is no key and no data about the message.
func partOf(m *waE2E.Message) protoreflect.FieldDescriptor {
	r := m.ProtoReflect()
	for i := range r.Descriptor().Fields().Len() {
		if f := r.Descriptor().Fields().Get(i); r.Has(f) && !beside(f.Name()) {
			return f
		}
	}
	return nil
}

// beside reports whether a field is never content.
func beside(field protoreflect.Name) bool {
	switch field {
	case "senderKeyDistributionMessage", "fastRatchetKeySenderKeyDistributionMessage", "messageContextInfo":
		return true
	}
	return false
}

// valueOf returns a field as its Go type; a text as itself.
func valueOf(m *waE2E.Message, f protoreflect.FieldDescriptor) any {
	if v := m.ProtoReflect().Get(f); f.Message() != nil {
		return v.Message().Interface()
	}
	return m.GetConversation()
}

// contextOf returns a message's ContextInfo (quote, mentions, timer), or nil.
func contextOf(m *waE2E.Message) *waE2E.ContextInfo {
	inner, part, _ := contentOf(m)
	if part == nil || part.Message() == nil {
		return nil
	}
	c := inner.ProtoReflect().Get(part).Message()
	f := c.Descriptor().Fields().ByName("contextInfo")
	if f == nil || !c.Has(f) {
		return nil
	}
	info, _ := c.Get(f).Message().Interface().(*waE2E.ContextInfo)
	return info
}

// newerField returns the number of the first field that the library does not know; 0 if
// there is none.
func newerField(m *waE2E.Message) protowire.Number {
	n, _, _ := protowire.ConsumeTag(m.ProtoReflect().GetUnknown())
	return max(n, 0)
}

// downloadable returns a file by which it is downloaded, and its claimed name, type and
// size; nil if the part of a message is no file.
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
		name := f.GetFileName()
		if name == "" {
			name = f.GetTitle()
		}
		return f, media.Claimed(media.Document, name, f.GetMimetype(), f.GetFileLength(), at)
	case *waE2E.StickerMessage:
		if f.GetIsLottie() { // an animation in a ZIP file, which no program shows
			return nil, media.Info{}
		}
		return f, media.Claimed(media.Sticker, "", f.GetMimetype(), f.GetFileLength(), at)
	}
	return nil, media.Info{}
}
