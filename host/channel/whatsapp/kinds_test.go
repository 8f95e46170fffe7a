package whatsapp_test

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"image"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
	"time"

	"go.mau.fi/whatsmeow/proto/waE2E"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/probe/probetest"
)

// A lossless WebP of 1 x 1 pixel.
const tinyWebP = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="

func jpegOf(t testing.TB, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewRGBA(image.Rect(0, 0, w, h)), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pngOf(t testing.TB, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// arrived is what a kind's message tells Anna, whichever message it is.
type arrived struct {
	form, mime, name, caption     string
	width, height, seconds, pages uint32
	gif, voice, thumbnail         bool
	waveform                      int
}

func arrivedAs(m *waE2E.Message) arrived {
	switch {
	case m.GetImageMessage() != nil:
		i := m.GetImageMessage()
		return arrived{form: "image", mime: i.GetMimetype(), caption: i.GetCaption(), width: i.GetWidth(), height: i.GetHeight(), thumbnail: len(i.GetJPEGThumbnail()) > 0}
	case m.GetVideoMessage() != nil:
		v := m.GetVideoMessage()
		return arrived{form: "video", mime: v.GetMimetype(), caption: v.GetCaption(), width: v.GetWidth(), height: v.GetHeight(), seconds: v.GetSeconds(), gif: v.GetGifPlayback()}
	case m.GetAudioMessage() != nil:
		a := m.GetAudioMessage()
		return arrived{form: "audio", mime: a.GetMimetype(), seconds: a.GetSeconds(), voice: a.GetPTT(), waveform: len(a.GetWaveform())}
	case m.GetStickerMessage() != nil:
		s := m.GetStickerMessage()
		return arrived{form: "sticker", mime: s.GetMimetype(), width: s.GetWidth(), height: s.GetHeight()}
	case m.GetDocumentMessage() != nil:
		d := m.GetDocumentMessage()
		return arrived{form: "document", mime: d.GetMimetype(), name: d.GetFileName(), caption: d.GetCaption(), pages: d.GetPageCount()}
	}
	return arrived{}
}

func TestEveryKindArrivesAsWhatItIs(t *testing.T) {
	sticker, err := base64.StdEncoding.DecodeString(tinyWebP)
	if err != nil {
		t.Fatal(err)
	}
	pdf := []byte("%PDF-1.4\n1 0 obj\n<< /Type /Pages /Kids [2 0 R] /Count 3 >>\nendobj\n%%EOF\n")
	w := newWorld(t).run()
	for i, tt := range []struct {
		info    media.Info
		data    []byte
		caption string
		want    arrived
		note    string // in the receipt
	}{
		{info: media.Info{Name: "a.jpg", Kind: media.Image, MIME: "image/jpeg", Alt: "a quay"}, data: jpegOf(t, 640, 480), caption: "a photo",
			want: arrived{form: "image", mime: "image/jpeg", caption: "a photo", width: 640, height: 480, thumbnail: true}},
		{info: media.Info{Name: "a.png", Kind: media.Image, MIME: "image/png"}, data: pngOf(t, 20, 700),
			want: arrived{form: "image", mime: "image/png", width: 20, height: 700, thumbnail: true}},
		{info: media.Info{Name: "a.mp4", Kind: media.Video, MIME: "video/mp4", Alt: "a crane at work"}, data: probetest.MP4(83, 1280, 720), caption: "a video",
			want: arrived{form: "video", mime: "video/mp4", caption: "a video", width: 1280, height: 720, seconds: 83}},
		{info: media.Info{Name: "a.mp4", Kind: media.Video, MIME: "video/mp4", Loop: true}, data: probetest.MP4(2, 100, 100),
			want: arrived{form: "video", mime: "video/mp4", width: 100, height: 100, seconds: 2, gif: true}},
		{info: media.Info{Name: "a.mp3", Kind: media.Audio, MIME: "audio/mpeg"}, data: probetest.MP3(true),
			want: arrived{form: "audio", mime: "audio/mpeg", seconds: 100}},
		{info: media.Info{Name: "a.ogg", Kind: media.Voice, MIME: "audio/ogg"}, data: probetest.Opus(500),
			want: arrived{form: "audio", mime: "audio/ogg; codecs=opus", seconds: 10, voice: true, waveform: 64}},
		{info: media.Info{Name: "a.webp", Kind: media.Sticker, MIME: "image/webp"}, data: sticker,
			want: arrived{form: "sticker", mime: "image/webp", width: 1, height: 1}},
		{info: media.Info{Name: "a.pdf", Kind: media.Document, MIME: "application/pdf"}, data: pdf, caption: "the report",
			want: arrived{form: "document", mime: "application/pdf", name: "a.pdf", caption: "the report", pages: 3}},
		{info: media.Info{Name: "", Kind: media.Document, MIME: "application/zip"}, data: noise(1000),
			want: arrived{form: "document", mime: "application/zip", name: "file"}},
		{info: media.Info{Name: "a.mov", Kind: media.Video, MIME: "video/quicktime"}, data: noise(1000), caption: "as it is",
			want: arrived{form: "document", mime: "video/quicktime", name: "a.mov", caption: "as it is"}, note: "video/quicktime"},
		{info: media.Info{Name: "a.webp", Kind: media.Image, MIME: "image/webp"}, data: sticker,
			want: arrived{form: "document", mime: "image/webp", name: "a.webp"}, note: "image/webp"},
		{info: media.Info{Name: "a.wav", Kind: media.Voice, MIME: "audio/wav"}, data: noise(1000),
			want: arrived{form: "document", mime: "audio/wav", name: "a.wav"}, note: "audio/wav"},
	} {
		m := file(family, tt.info, tt.data)
		m.Text = tt.caption
		r := w.send(m)
		e := w.seen(family, i+1)[i]
		if got := arrivedAs(e.Message); got != tt.want {
			t.Errorf("%s arrived as\n\t%+v, want\n\t%+v", tt.info.MIME, got, tt.want)
		}
		if got := cmp.Or(e.Message.GetImageMessage().GetAccessibilityLabel(), e.Message.GetVideoMessage().GetAccessibilityLabel()); got != tt.info.Alt {
			t.Errorf("%s is described as %q, want %q", tt.info.MIME, got, tt.info.Alt)
		}
		if got := w.fetch(e.Message); got.SHA256 != sum(tt.data) || got.Size != int64(len(tt.data)) {
			t.Errorf("%s: %d bytes %s arrived, want %d %s", tt.info.MIME, got.Size, got.SHA256, len(tt.data), sum(tt.data))
		}
		if e.Info.ID != r.ID || (r.Note == "") != (tt.note == "") || !strings.Contains(r.Note, tt.note) {
			t.Errorf("%s: receipt %+v for message %s, want the note %q", tt.info.MIME, r, e.Info.ID, tt.note)
		}
	}
}

func TestWhatIsTooLargeForItsKindGoesAsADocument(t *testing.T) {
	w := newWorld(t, func(o *whatsapp.Options) {
		o.Limits = whatsapp.DefaultLimits()
		o.Limits.Kinds[media.Image] = media.Limit{Bytes: 100}
		o.Limits.Kinds[media.Document] = media.Limit{Bytes: 5000}
	}).run()
	r := w.send(file(family, media.Info{Name: "large.jpg", Kind: media.Image, MIME: "image/jpeg"}, jpegOf(t, 50, 50)))
	if got := arrivedAs(w.seen(family, 1)[0].Message); got.form != "document" || got.name != "large.jpg" || !strings.Contains(r.Note, "goes as a document") {
		t.Errorf("arrived as %+v with the note %q", got, r.Note)
	}
	_, err := w.ch.Send(soon(t), document(family, noise(5001)))
	if channel.ClassOf(err) != channel.Permanent {
		t.Errorf("what is too large for a document: %v", err)
	}
}

func TestTextThatHasNoPlaceIsNotDropped(t *testing.T) {
	w := newWorld(t).run()
	m := file(family, media.Info{Name: "a.ogg", Kind: media.Voice, MIME: "audio/ogg"}, probetest.Opus(10))
	m.Text = "listen"
	var e *channel.Error
	if _, err := w.ch.Send(soon(t), m); !errors.As(err, &e) || e.Class != channel.Permanent || e.Code != "caption_not_taken" {
		t.Errorf("a caption on a voice note: %v, want a permanent refusal", err)
	}
	if _, err := w.ch.Send(soon(t), text(family, strings.Repeat("x", 65537))); channel.ClassOf(err) != channel.Permanent {
		t.Errorf("a text that is too long: %v, want a permanent refusal", err)
	}
}

// An album is several images in one request: they go one after another. What
// comes too soon after it is handed back at once, with the time to come again.
func TestAnAlbumArrivesInOrder(t *testing.T) {
	rates := whatsapp.DefaultRates()
	rates.Chat.PerMinute = 1 // slower than the slowest machine
	w := newWorld(t, func(o *whatsapp.Options) { o.Rates = rates }).run()
	for i := range 10 {
		w.send(file(family, media.Info{Name: "a.jpg", Kind: media.Image, MIME: "image/jpeg"}, jpegOf(t, 10+i, 10)))
	}
	for i, e := range w.seen(family, 10) {
		if got := e.Message.GetImageMessage().GetWidth(); got != uint32(10+i) {
			t.Errorf("picture %d is %d wide, want %d", i, got, 10+i)
		}
	}
	start := time.Now()
	_, err := w.ch.Send(soon(t), text(family, "and now?"))
	if wait := channel.RetryAfterOf(err); channel.ClassOf(err) != channel.Passing || wait <= 0 || wait > time.Minute {
		t.Errorf("the eleventh: %v, again after %v", err, wait)
	}
	if d := time.Since(start); d > 30*time.Second {
		t.Errorf("Send waited for its turn, for %v", d)
	}
}
