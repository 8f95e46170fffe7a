package media_test

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/internal/refusal"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/media"
)

const (
	word  = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	sheet = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	slide = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	odt   = "application/vnd.oasis.opendocument.text"
	exe   = "application/vnd.microsoft.portable-executable"
	octet = "application/octet-stream"
)

// An honest file: name, content, and what it is.
func TestClassifyTellsEveryTypeByItsContent(t *testing.T) {
	samples := samples(t)
	for _, tt := range []struct {
		name, holds string
		kind        media.Kind
		mime        string
	}{
		{"a.jpg", "jpeg", media.Image, "image/jpeg"},
		{"a.jpeg", "jpeg", media.Image, "image/jpeg"},
		{"A.JPG", "jpeg", media.Image, "image/jpeg"},
		{"a.png", "png", media.Image, "image/png"},
		{"a.gif", "gif", media.Image, "image/gif"},
		{"a.webp", "webp", media.Image, "image/webp"},
		{"a.heic", "heic", media.Document, "image/heic"},
		{"a.avif", "avif", media.Document, "image/avif"},
		{"a.bmp", "bmp", media.Document, "image/bmp"},
		{"a.tiff", "tiff", media.Document, "image/tiff"},
		{"a.mp4", "mp4", media.Video, "video/mp4"},
		{"a.mov", "mov", media.Video, "video/quicktime"},
		{"a.avi", "avi", media.Video, "video/x-msvideo"},
		{"a.mkv", "mkv", media.Video, "video/x-matroska"},
		{"a.webm", "webm", media.Video, "video/webm"},
		{"a.3gp", "3gp", media.Video, "video/3gpp"},
		{"a.ogv", "theora", media.Video, "video/ogg"},
		{"a.mp3", "mp3", media.Audio, "audio/mpeg"},
		{"a.mp3", "mp3raw", media.Audio, "audio/mpeg"},
		{"a.ogg", "opus", media.Audio, "audio/ogg"},
		{"a.ogg", "vorbis", media.Audio, "audio/ogg"},
		{"a.opus", "opus", media.Audio, "audio/ogg"},
		{"a.aac", "aac", media.Audio, "audio/aac"},
		{"a.m4a", "m4a", media.Audio, "audio/mp4"},
		{"a.m4a", "mp4", media.Audio, "audio/mp4"},
		{"a.weba", "webm", media.Audio, "audio/webm"},
		{"a.wav", "wav", media.Audio, "audio/wav"},
		{"a.flac", "flac", media.Audio, "audio/flac"},
		{"a.pdf", "pdf", media.Document, "application/pdf"},
		{"a.doc", "ole", media.Document, "application/msword"},
		{"a.xls", "ole", media.Document, "application/vnd.ms-excel"},
		{"a.ppt", "ole", media.Document, "application/vnd.ms-powerpoint"},
		{"a.docx", "docx", media.Document, word},
		{"a.xlsx", "xlsx", media.Document, sheet},
		{"a.pptx", "pptx", media.Document, slide},
		{"a.odt", "odt", media.Document, odt},
		{"a.epub", "epub", media.Document, "application/epub+zip"},
		{"a.docx", "zip", media.Document, word}, // a ZIP whose first entries do not tell
		{"a.zip", "zip", media.Document, "application/zip"},
		{"a.tar", "tar", media.Document, "application/x-tar"},
		{"a.tar.gz", "gz", media.Document, "application/gzip"},
		{"a.tgz", "gz", media.Document, "application/gzip"},
		{"a.7z", "7z", media.Document, "application/x-7z-compressed"},
		{"a.rar", "rar", media.Document, "application/vnd.rar"},
		{"a.txt", "text", media.Document, "text/plain"},
		{"a.txt", "latin1", media.Document, "text/plain"},
		{"a.txt", "csv", media.Document, "text/plain"},
		{"a.md", "md", media.Document, "text/markdown"},
		{"a.csv", "csv", media.Document, "text/csv"},
		{"a.json", "json", media.Document, "application/json"},
		{"a.ics", "ics", media.Document, "text/calendar"},
		{"a.html", "html", media.Document, "text/html"},
		{"a.html", "text", media.Document, "text/html"},
		{"a.svg", "svg", media.Document, "image/svg+xml"},
		{"a.svg", "svgxml", media.Document, "image/svg+xml"},
		{"a.xml", "xml", media.Document, "text/xml"},
		{"a.sh", "sh", media.Document, "text/x-shellscript"},
		{"a.py", "py", media.Document, "text/x-python"},
		{"a.bat", "bat", media.Document, "application/x-bat"},
		{"a.js", "text", media.Document, "text/javascript"},
		{"a.exe", "pe", media.Document, exe},
		{"a.dll", "pe", media.Document, exe},
		{"tool", "elf", media.Document, "application/x-executable"},
		{"tool", "macho", media.Document, "application/x-mach-binary"},
		{"a.jar", "jar", media.Document, "application/java-archive"},
		{"a.xyz", "noise", media.Document, octet},
		{"a.bin", "noise", media.Document, octet},
		{"noext", "noise", media.Document, octet},
		{"noext", "png", media.Image, "image/png"},
		{"Makefile", "text", media.Document, "text/plain"},
	} {
		t.Run(tt.name+" "+tt.holds, func(t *testing.T) {
			head, ok := samples[tt.holds]
			if !ok {
				t.Fatalf("no sample %q", tt.holds)
			}
			got, err := media.Classify(tt.name, "", head, 12345, media.Auto)
			want := media.Info{Name: tt.name, Kind: tt.kind, MIME: tt.mime, Size: 12345}
			if tt.kind == media.Document && strings.HasPrefix(tt.mime, "image/") {
				want.Note = "chats do not show " + tt.mime + "; it goes as a document"
			}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("err %v, (-want +got):\n%s", err, diff)
			}
		})
	}
}

// Name or claim say one thing, the bytes another: the bytes win, and what can
// run is never shown as a picture.
func TestAContradictionLosesAgainstTheContent(t *testing.T) {
	samples := samples(t)
	for _, tt := range []struct {
		name, claimed, holds string
		kind                 media.Kind
		mime                 string
		note                 string // a part of it; empty: no note
	}{
		{"cat.png", "", "html", media.Document, "text/html", "not image/png"},
		{"cat.png", "image/png", "html", media.Document, "text/html", "not image/png"},
		{"cat.jpg", "image/jpeg", "svg", media.Document, "image/svg+xml", "not image/jpeg"},
		{"cat.png", "image/png", "pe", media.Document, exe, "not image/png"},
		{"cat.webp", "", "sh", media.Document, "text/x-shellscript", "not image/webp"},
		{"cat.gif", "", "odd#!", media.Document, "text/plain", "not image/gif"},
		{"song.mp3", "", "elf", media.Document, "application/x-executable", "not audio/mpeg"},
		{"clip.mp4", "video/mp4", "noise", media.Document, octet, "not video/mp4"},
		{"report.pdf", "application/pdf", "elf", media.Document, "application/x-executable", ""},
		{"report.pdf", "application/pdf", "html", media.Document, "text/html", ""},
		{"report.pdf", "", "text", media.Document, "text/plain", ""},
		{"notes.txt", "text/plain", "sh", media.Document, "text/x-shellscript", ""},
		{"notes.txt", "", "svg", media.Document, "image/svg+xml", "chats do not show image/svg+xml"},
		{"photo.jpg", "", "png", media.Image, "image/png", ""},
		{"photo.pdf", "application/pdf", "png", media.Image, "image/png", ""},
		{"photo", "text/html", "png", media.Image, "image/png", ""},
		{"photo", "image/svg+xml", "png", media.Image, "image/png", ""},
		{"sheet.xlsx", "", "docx", media.Document, word, ""},
		{"sheet.xlsx", "", "pdf", media.Document, "application/pdf", ""},
		{"page.html", "", "gif", media.Document, "image/gif", "name ends in .html"},
		{"page.svg", "image/png", "png", media.Document, "image/png", "name ends in .svg"},
		{"run.bat", "image/png", "png", media.Document, "image/png", "name ends in .bat"},
		{"cat.png.exe", "image/png", "png", media.Document, "image/png", "name ends in .exe"},
		{"cat.png.exe. ", "", "png", media.Document, "image/png", "name ends in .exe"},
		{"song.js", "", "mp3", media.Document, "audio/mpeg", "name ends in .js"},
		{"data", "image/png", "text", media.Document, "text/plain", "not image/png"},
	} {
		t.Run(tt.name+" "+tt.holds, func(t *testing.T) {
			got, err := media.Classify(tt.name, tt.claimed, samples[tt.holds], 99, "")
			if err != nil || got.Kind != tt.kind || got.MIME != tt.mime {
				t.Errorf("got %+v, %v; want a %s of %s", got, err, tt.kind, tt.mime)
			}
			if !strings.Contains(got.Note, tt.note) || (tt.note == "") != (got.Note == "") {
				t.Errorf("note %q, want one with %q", got.Note, tt.note)
			}
		})
	}
}

func TestAClaimRefinesWhatTheContentLeavesOpen(t *testing.T) {
	samples := samples(t)
	for _, tt := range []struct{ name, claimed, holds, mime string }{
		{"data", "text/csv", "text", "text/csv"},
		{"data.txt", "text/markdown", "text", "text/markdown"},
		{"data.csv", "text/plain", "text", "text/csv"},
		{"data.csv", octet, "text", "text/csv"},
		{"data", "TEXT/CSV; charset=utf-8", "text", "text/csv"},
		{"data", word, "zip", word},
		{"data", "application/msword", "ole", "application/msword"},
		{"data", "application/x-invented", "noise", octet},
		{"data", "not a type", "text", "text/plain"},
		{"data", "image/\x1b[31m", "text", "text/plain"},
	} {
		got, err := media.Classify(tt.name, tt.claimed, samples[tt.holds], 99, media.Auto)
		if err != nil || got.MIME != tt.mime {
			t.Errorf("%s claimed %q holding %s: %q, %v; want %q", tt.name, tt.claimed, tt.holds, got.MIME, err, tt.mime)
		}
	}
}

func TestStyles(t *testing.T) {
	samples := samples(t)
	for _, tt := range []struct {
		as    media.Style
		name  string
		holds string
		kind  media.Kind
		loop  bool
		note  string // a part of it
		code  string // of the refusal
	}{
		{as: media.AsDocument, name: "a.png", holds: "png", kind: media.Document},
		{as: media.AsDocument, name: "a.mp4", holds: "mp4", kind: media.Document},
		{as: media.AsVoice, name: "a.ogg", holds: "opus", kind: media.Voice},
		{as: media.AsVoice, name: "a.ogg", holds: "vorbis", kind: media.Audio, note: "Ogg Opus"},
		{as: media.AsVoice, name: "a.mp3", holds: "mp3", kind: media.Audio, note: "-c:a libopus -ar 16000 -ac 1"},
		{as: media.AsVoice, name: "a.mp4", holds: "mp4", code: "style_impossible"},
		{as: media.AsVoice, name: "a.pdf", holds: "pdf", code: "style_impossible"},
		{as: media.AsVoice, name: "a.html", holds: "opus", code: "style_impossible"},
		{as: media.AsGIF, name: "a.mp4", holds: "mp4", kind: media.Video, loop: true},
		{as: media.AsGIF, name: "a.webm", holds: "webm", kind: media.Video, note: "MP4"},
		{as: media.AsGIF, name: "a.gif", holds: "gif", kind: media.Image, note: "MP4"},
		{as: media.AsGIF, name: "a.png", holds: "png", code: "style_impossible"},
		{as: media.AsSticker, name: "a.webp", holds: "webp", kind: media.Sticker},
		{as: media.AsSticker, name: "a.png", holds: "png", kind: media.Image, note: "WebP"},
		{as: media.AsSticker, name: "a.svg", holds: "webp", code: "style_impossible"},
		{as: media.AsSticker, name: "a.mp4", holds: "mp4", code: "style_impossible"},
		{as: "poster", name: "a.png", holds: "png", code: "style_unknown"},
		{as: "po\x1b[2Jster", name: "a.png", holds: "png", code: "style_unknown"},
	} {
		t.Run(string(tt.as)+" "+tt.holds, func(t *testing.T) {
			got, err := media.Classify(tt.name, "", samples[tt.holds], 99, tt.as)
			if tt.code != "" {
				wantRefusal(t, err, tt.code)
				return
			}
			if err != nil || got.Kind != tt.kind || got.Loop != tt.loop || !strings.Contains(got.Note, tt.note) || (tt.note == "") != (got.Note == "") {
				t.Errorf("got %+v, %v; want %s with note %q", got, err, tt.kind, tt.note)
			}
		})
	}
}

func TestAnEmptyFileIsRefused(t *testing.T) {
	for _, size := range []int64{0, -1} {
		_, err := media.Classify("a.txt", "", nil, size, media.Auto)
		wantRefusal(t, err, "file_empty")
	}
}

func TestBytesThatWereNotReadAreUnknown(t *testing.T) {
	got, err := media.Classify("a.png", "image/png", nil, 10, media.Auto)
	if err != nil || got.Kind != media.Document || got.MIME != octet {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A text that is longer than the head is cut in the middle of a word or a
// value, and still is what it is.
func TestACutOffHeadIsStillRecognised(t *testing.T) {
	long := []byte(`["` + strings.Repeat(`ä","`, media.HeadSize) + `"]`)
	for _, n := range []int{media.HeadSize, media.HeadSize + 1, len(long)} {
		got, err := media.Classify("noext", "", long[:n], int64(len(long)), media.Auto)
		if err != nil || got.MIME != "application/json" {
			t.Errorf("%d bytes: got %+v, %v", n, got, err)
		}
	}
}

// wantRefusal checks that err speaks to the agent under that code.
func wantRefusal(t *testing.T, err error, code string) (message, hint string) {
	t.Helper()
	r := refusal.Of(err)
	if r == nil {
		t.Fatalf("%v is no refusal", err)
	}
	got, message, hint := r.Code, r.Message, r.Hint
	if got != code || message == "" || hint == "" || message != media.Printable(message) {
		t.Errorf("refusal %q %q %q, want code %q with words that can be shown", got, message, hint, code)
	}
	return message, hint
}
