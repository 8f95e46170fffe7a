package whatsapp

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/media"
)

func TestEachFileGoesInTheFormThatWhatsAppShows(t *testing.T) {
	limits := DefaultLimits()
	for _, tt := range []struct {
		info media.Info
		want form
		note string
	}{
		{info: media.Info{Kind: media.Image, MIME: "image/jpeg"}, want: formImage},
		{info: media.Info{Kind: media.Image, MIME: "image/png"}, want: formImage},
		{info: media.Info{Kind: media.Image, MIME: "image/webp"}, want: formDocument, note: "image/webp"},
		{info: media.Info{Kind: media.Image, MIME: "image/gif"}, want: formDocument, note: "image/gif"},
		{info: media.Info{Kind: media.Image, MIME: "image/png", Size: 17 * media.MiB}, want: formDocument, note: "17 MiB"},
		{info: media.Info{Kind: media.Video, MIME: "video/mp4"}, want: formVideo},
		{info: media.Info{Kind: media.Video, MIME: "video/mp4", Loop: true}, want: formGIF},
		{info: media.Info{Kind: media.Video, MIME: "video/mp4", Size: 65 * media.MiB}, want: formDocument, note: "64 MiB"},
		{info: media.Info{Kind: media.Video, MIME: "video/webm"}, want: formDocument, note: "video/webm"},
		{info: media.Info{Kind: media.Video, MIME: "video/quicktime"}, want: formDocument, note: "video/quicktime"},
		{info: media.Info{Kind: media.Audio, MIME: "audio/mpeg"}, want: formAudio},
		{info: media.Info{Kind: media.Audio, MIME: "audio/wav"}, want: formDocument, note: "audio/wav"},
		{info: media.Info{Kind: media.Voice, MIME: "audio/ogg"}, want: formVoice},
		{info: media.Info{Kind: media.Voice, MIME: "audio/mp4"}, want: formAudio},
		{info: media.Info{Kind: media.Sticker, MIME: "image/webp"}, want: formSticker},
		{info: media.Info{Kind: media.Document, MIME: "image/heic"}, want: formDocument},
		{info: media.Info{Kind: media.Document, MIME: "image/png"}, want: formDocument},
	} {
		got, note := formOf(tt.info, limits)
		if got != tt.want || (note == "") != (tt.note == "") || !strings.Contains(note, tt.note) {
			t.Errorf("%+v goes as %d (%q), want %d (%q)", tt.info, got, note, tt.want, tt.note)
		}
	}
}
