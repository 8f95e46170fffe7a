package media_test

import (
	"testing"

	"github.com/longshore-bridge/longshore/media"
)

// A film without picture went as a film that shows nothing, and a sound with pictures
// lost them.
func TestKindFollowsTheTracks(t *testing.T) {
	all := samples(t)
	for _, tt := range []struct {
		sample, name string
		tracks       media.Tracks
		as           media.Style
		want         string
	}{
		{"mp4", "talk.mp4", media.Tracks{Audio: "aac"}, "", "audio audio/mp4 talk.m4a"},
		{"mov", "talk.mov", media.Tracks{Audio: "aac"}, "", "audio audio/mp4 talk.m4a"},
		{"webm", "talk.webm", media.Tracks{Audio: "opus"}, "", "audio audio/webm talk.weba"},
		{"mkv", "talk.mkv", media.Tracks{Audio: "flac"}, "", "audio audio/x-matroska talk.mka"},
		{"theora", "film.ogg", media.Tracks{Video: "theora", Audio: "vorbis"}, "", "video video/ogg film.ogv"},
		{"m4a", "film.m4a", media.Tracks{Video: "h264", Audio: "aac"}, "", "video video/mp4 film.mp4"},
		{"m4a", "song.m4a", media.Tracks{Video: "mjpeg", Audio: "alac"}, "", "audio audio/mp4 song.m4a"},
		{"mp4", "film.mp4", media.Tracks{Video: "hevc"}, "", "video video/mp4 film.mp4"},
		{"mp4", "unknown.mp4", media.Tracks{}, "", "video video/mp4 unknown.mp4"},
		{"mp4", "talk.mp4", media.Tracks{Audio: "aac"}, media.AsDocument, "document audio/mp4 talk.mp4"},
	} {
		got, err := media.ClassifyTracks(tt.name, "", all[tt.sample], tt.tracks, 1000, tt.as)
		if is := string(got.Kind) + " " + got.MIME + " " + got.Name; err != nil || is != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.name, is, err, tt.want)
		}
	}
}

func TestWhatAppsDoNotPlayGoesAsADocumentAndSaysWhy(t *testing.T) {
	l := media.DefaultLimits()
	l.Kinds[media.Video] = media.Limit{Bytes: 1000, Codecs: []string{"h264", "aac"}}
	for tracks, want := range map[media.Tracks]string{
		{Video: "h264", Audio: "aac"}:    "",
		{Video: "h264"}:                  "",
		{}:                               "",
		{Video: "hevc", Audio: "aac"}:    "chat does not play hevc in the chat, so it goes as a document",
		{Video: "h264", Audio: "vorbis"}: "chat does not play vorbis in the chat, so it goes as a document",
		{Video: "h264 4:4:4"}:            "chat does not play h264 4:4:4 in the chat, so it goes as a document",
	} {
		got, err := l.Fit("chat", media.Info{Name: "a.mp4", Kind: media.Video, MIME: "video/mp4", Size: 10, Tracks: tracks})
		if err != nil || got.Note != want || (got.Kind == media.Document) != (want != "") {
			t.Errorf("%+v: %+v, %v", tracks, got, err)
		}
	}
}
