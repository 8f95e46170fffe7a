package whatsapp

import (
	"context"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/probe"
)

// form is how a file goes to WhatsApp.
type form int

const (
	formDocument form = iota
	formImage
	formVideo
	formGIF
	formAudio
	formVoice
	formSticker
)

// kind is what a form shows in the chat.
func (f form) kind() media.Kind {
	switch f {
	case formImage:
		return media.Image
	case formVideo, formGIF:
		return media.Video
	case formAudio:
		return media.Audio
	case formVoice:
		return media.Voice
	case formSticker:
		return media.Sticker
	}
	return media.Document
}

// facts reads what the members' apps show of a file before they have it.
func (s *session) facts(ctx context.Context, f *channel.File, form form) probe.Facts {
	src, err := f.Open()
	if err != nil {
		return probe.Facts{} // the upload will meet it too, and say so
	}
	defer src.Close()
	return s.probe.Read(ctx, src, form.kind(), f.MIME)
}

// formOf decides it: as the sender asked where WhatsApp's apps show that, else
// as a document, and then the note says why.
func formOf(f media.Info, limits media.Limits) (form, string) {
	as, shown := formDocument, true
	switch f.Kind {
	case media.Image:
		as, shown = formImage, f.MIME == "image/jpeg" || f.MIME == "image/png"
	case media.Video:
		as, shown = formVideo, f.MIME == "video/mp4" || f.MIME == "video/3gpp"
		if f.Loop && f.MIME == "video/mp4" {
			as = formGIF
		}
	case media.Voice:
		as = formVoice
		if f.MIME != "audio/ogg" {
			as, shown = formAudio, playable(f.MIME)
		}
	case media.Audio:
		as, shown = formAudio, playable(f.MIME)
	case media.Sticker:
		as, shown = formSticker, f.MIME == "image/webp"
	default:
		return formDocument, ""
	}
	if !shown {
		return formDocument, "sent as a document: WhatsApp does not show " + f.MIME + " in the chat"
	}
	if most := limits.Kinds[f.Kind].Bytes; f.Size > most {
		return formDocument, "sent as a document: it is " + media.Size(f.Size) + ", and WhatsApp shows " + string(f.Kind) + " up to " + media.Size(most)
	}
	return as, ""
}

// playable are the audio types that WhatsApp's apps play.
func playable(mime string) bool {
	switch mime {
	case "audio/aac", "audio/mp4", "audio/mpeg", "audio/amr", "audio/ogg":
		return true
	}
	return false
}
