package whatsapp

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/compose"
	"github.com/longshore-bridge/longshore/media"
)

func TestEachFileGoesInTheFormThatWhatsAppShows(t *testing.T) {
	limits := DefaultLimits()
	for _, tt := range []struct {
		info media.Info
		want media.Kind
		gif  bool
		note string
	}{
		{info: media.Info{Kind: media.Image, MIME: "image/jpeg"}, want: media.Image},
		{info: media.Info{Kind: media.Image, MIME: "image/png"}, want: media.Image},
		{info: media.Info{Kind: media.Image, MIME: "image/webp"}, want: media.Document, note: "image/webp"},
		{info: media.Info{Kind: media.Image, MIME: "image/gif"}, want: media.Document, note: "image/gif"},
		{info: media.Info{Kind: media.Image, MIME: "image/png", Size: 17 * media.MiB}, want: media.Document, note: "17 MiB"},
		{info: media.Info{Kind: media.Video, MIME: "video/mp4"}, want: media.Video},
		{info: media.Info{Kind: media.Video, MIME: "video/mp4", Loop: true}, want: media.Video, gif: true},
		{info: media.Info{Kind: media.Video, MIME: "video/mp4", Size: 65 * media.MiB}, want: media.Document, note: "64 MiB"},
		{info: media.Info{Kind: media.Video, MIME: "video/webm"}, want: media.Document, note: "video/webm"},
		{info: media.Info{Kind: media.Video, MIME: "video/quicktime"}, want: media.Document, note: "video/quicktime"},
		{info: media.Info{Kind: media.Audio, MIME: "audio/mpeg"}, want: media.Audio},
		{info: media.Info{Kind: media.Audio, MIME: "audio/wav"}, want: media.Document, note: "audio/wav"},
		{info: media.Info{Kind: media.Voice, MIME: "audio/ogg"}, want: media.Voice},
		{info: media.Info{Kind: media.Voice, MIME: "audio/mp4"}, want: media.Audio},
		{info: media.Info{Kind: media.Sticker, MIME: "image/webp"}, want: media.Sticker},
		{info: media.Info{Kind: media.Document, MIME: "image/heic"}, want: media.Document},
		{info: media.Info{Kind: media.Document, MIME: "image/png"}, want: media.Document},
	} {
		got, err := limits.Fit("whatsapp", tt.info)
		if err != nil || got.Kind != tt.want || (got.Note == "") != (tt.note == "") || !strings.Contains(got.Note, tt.note) {
			t.Errorf("%+v goes as %+v (%v), want %s", tt.info, got, err, tt.want)
		}
		m := compose.Attachment{File: &channel.File{Info: got}}.Message()
		if m.GetVideoMessage().GetGifPlayback() != tt.gif {
			t.Errorf("%+v plays as a GIF: %t", tt.info, !tt.gif)
		}
	}
}
