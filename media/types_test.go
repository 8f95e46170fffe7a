package media_test

import (
	"testing"

	"github.com/longshore-bridge/longshore/media"
)

func TestWhatANameStandsFor(t *testing.T) {
	for _, tt := range []struct {
		ext  string
		kind media.Kind
		mime string
	}{
		{"jpg", media.Image, "image/jpeg"}, {"jpeg", media.Image, "image/jpeg"}, {"png", media.Image, "image/png"},
		{"gif", media.Image, "image/gif"}, {"webp", media.Image, "image/webp"},
		{"mp4", media.Video, "video/mp4"}, {"avi", media.Video, "video/x-msvideo"}, {"mov", media.Video, "video/quicktime"},
		{"mkv", media.Video, "video/x-matroska"}, {"webm", media.Video, "video/webm"},
		{"mp3", media.Audio, "audio/mpeg"}, {"ogg", media.Audio, "audio/ogg"}, {"opus", media.Audio, "audio/ogg"},
		{"aac", media.Audio, "audio/aac"}, {"m4a", media.Audio, "audio/mp4"}, {"wav", media.Audio, "audio/wav"}, {"flac", media.Audio, "audio/flac"},
		{"pdf", media.Document, "application/pdf"}, {"doc", media.Document, "application/msword"}, {"docx", media.Document, word},
		{"xls", media.Document, "application/vnd.ms-excel"}, {"xlsx", media.Document, sheet},
		{"ppt", media.Document, "application/vnd.ms-powerpoint"}, {"pptx", media.Document, slide}, {"odt", media.Document, odt},
		{"zip", media.Document, "application/zip"}, {"tar", media.Document, "application/x-tar"}, {"gz", media.Document, "application/gzip"},
		{"7z", media.Document, "application/x-7z-compressed"}, {"txt", media.Document, "text/plain"}, {"md", media.Document, "text/markdown"},
		{"csv", media.Document, "text/csv"}, {"json", media.Document, "application/json"}, {"html", media.Document, "text/html"},
		{"svg", media.Document, "image/svg+xml"}, {"ics", media.Document, "text/calendar"}, {"epub", media.Document, "application/epub+zip"},
		{"exe", media.Document, exe}, {"xyz", media.Document, octet}, {"", media.Document, octet},
	} {
		name := "a." + tt.ext
		if k, m := media.KindByName(name), media.MIMEByName(name); k != tt.kind || m != tt.mime {
			t.Errorf("%s: %s of %s, want %s of %s", name, k, m, tt.kind, tt.mime)
		}
	}
}

func TestExtensionFor(t *testing.T) {
	for in, want := range map[string]string{
		"image/jpeg": ".jpg", "image/jpg": ".jpg", "audio/ogg; codecs=opus": ".ogg", "video/mp4": ".mp4",
		"application/pdf": ".pdf", "text/plain": ".txt", "TEXT/HTML": ".html",
		octet: "", "application/x-invented": "", "": "", "nonsense": "",
	} {
		if got := media.ExtensionFor(in); got != want {
			t.Errorf("ExtensionFor(%q) = %q, want %q", in, got, want)
		}
	}
}
