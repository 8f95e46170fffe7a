package whatsapp_test

import (
	"bytes"
	"image/jpeg"
	"testing"

	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/probe/probetest"
)

// What a phone stores sideways is told and shown upright.
func TestAPhonesFilesArriveUpright(t *testing.T) {
	w := newWorld(t).run()
	w.send(file(family, media.Info{Name: "a.jpg", Kind: media.Image, MIME: "image/jpeg"}, probetest.TurnedJPEG(t, 300, 600, 6)))
	i := w.seen(family, 1)[0].Message.GetImageMessage()
	c, err := jpeg.DecodeConfig(bytes.NewReader(i.GetJPEGThumbnail()))
	if i.GetWidth() != 300 || i.GetHeight() != 600 || err != nil || c.Width != 50 || c.Height != 100 {
		t.Errorf("the picture is %d x %d with a thumbnail of %d x %d, %v", i.GetWidth(), i.GetHeight(), c.Width, c.Height, err)
	}
	w.send(file(family, media.Info{Name: "a.mp4", Kind: media.Video, MIME: "video/mp4"}, probetest.TurnedMP4(1920, 1080, 90, 0)))
	if v := w.seen(family, 2)[1].Message.GetVideoMessage(); v.GetWidth() != 1080 || v.GetHeight() != 1920 {
		t.Errorf("the film is %d x %d", v.GetWidth(), v.GetHeight())
	}
}

func TestAPictureSentAsADocumentHasAThumbnail(t *testing.T) {
	w := newWorld(t).run()
	for i, tt := range []struct {
		mime string
		data []byte
		want bool
	}{
		{"image/jpeg", probetest.TurnedJPEG(t, 400, 200, 8), true}, {"image/png", pngOf(t, 400, 200), true}, {"application/zip", pngOf(t, 40, 20), false},
	} {
		w.send(file(family, media.Info{Name: "a", Kind: media.Document, MIME: tt.mime}, tt.data))
		d := w.seen(family, i+1)[i].Message.GetDocumentMessage()
		c, err := jpeg.DecodeConfig(bytes.NewReader(d.GetJPEGThumbnail()))
		if got := err == nil && c.Width == 100 && c.Height == 50; got != tt.want {
			t.Errorf("%s has a thumbnail of %d x %d, %v; want one: %t", tt.mime, c.Width, c.Height, err, tt.want)
		}
	}
}

// The apps want to know the codec of Ogg before they play it.
func TestOggOpusSentAsAudioNamesItsCodec(t *testing.T) {
	w := newWorld(t).run()
	vorbis := append([]byte("OggS\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x1e\x01vorbis"), make([]byte, 23)...)
	for i, tt := range []struct {
		data []byte
		want string
	}{{probetest.Opus(500), "audio/ogg; codecs=opus"}, {vorbis, "audio/ogg"}} {
		w.send(file(family, media.Info{Name: "a.ogg", Kind: media.Audio, MIME: "audio/ogg"}, tt.data))
		if a := w.seen(family, i+1)[i].Message.GetAudioMessage(); a.GetMimetype() != tt.want || a.GetPTT() {
			t.Errorf("it is %q, a voice note: %t, want %q and no voice note", a.GetMimetype(), a.GetPTT(), tt.want)
		}
	}
}
