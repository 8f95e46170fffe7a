package probe

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"testing"

	"github.com/longshore-bridge/longshore/media/probe/probetest"
)

func TestAPhonesPictureIsShownAsItWasTaken(t *testing.T) {
	for orientation := 1; orientation <= 8; orientation++ {
		f := (&Prober{}).image(bytes.NewReader(probetest.TurnedJPEG(t, 640, 320, orientation)))
		if f.Width != 640 || f.Height != 320 {
			t.Errorf("orientation %d: %d x %d, want 640 x 320", orientation, f.Width, f.Height)
		}
		img, err := jpeg.Decode(bytes.NewReader(f.Thumbnail))
		if err != nil {
			t.Fatalf("orientation %d: %v", orientation, err)
		}
		if size := img.Bounds().Size(); size != image.Pt(100, 50) {
			t.Errorf("orientation %d: a thumbnail of %v", orientation, size)
			continue
		}
		for name, at := range map[string]image.Point{"top left": {10, 5}, "top right": {90, 5}, "bottom left": {10, 45}, "bottom right": {90, 45}} {
			if got := img.At(at.X, at.Y); !near(got, probetest.Corners[name]) {
				t.Errorf("orientation %d: %s is %v", orientation, name, got)
			}
		}
	}
}

func near(a, b color.Color) bool {
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	far := func(x, y uint32) bool { return max(x, y)-min(x, y) > 0x3000 }
	return !far(ar, br) && !far(ag, bg) && !far(ab, bb)
}

func TestAPhonesFilmTellsItsSizeAsItIsShown(t *testing.T) {
	for track, want := range map[int]string{0: "1920 x 1080", 90: "1080 x 1920", 180: "1920 x 1080", 270: "1080 x 1920"} {
		m := readMP4(bytes.NewReader(probetest.TurnedMP4(1920, 1080, track, 0)))
		if got := fmt.Sprintf("%d x %d", m.width, m.height); got != want || m.seconds != 5 {
			t.Errorf("turned by %d: %s, %d s, want %s", track, got, m.seconds, want)
		}
	}
	for movie, want := range map[int]uint32{0: 1080, 90: 1920, 180: 1080} {
		if m := readMP4(bytes.NewReader(probetest.TurnedMP4(1920, 1080, 90, movie))); m.width != want {
			t.Errorf("the film turned by %d besides: %d wide, want %d", movie, m.width, want)
		}
	}
}

// A WebP's canvas says nothing of the picture in it, which may be a bomb.
func TestAWebPIsNotDecoded(t *testing.T) {
	webp := append([]byte("RIFF\x22\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00\x2f\x00\x00\x00\x10\x07\x10\x11\x11\x88\x88\xfe\x07\x00"), 0)
	if f := (&Prober{}).image(bytes.NewReader(webp)); f.Thumbnail != nil {
		t.Errorf("a WebP of %d x %d has a thumbnail", f.Width, f.Height)
	}
}

// What ffprobe says of a file is the file's word.
func TestADurationThatIsNoneIsUnknown(t *testing.T) {
	for answer, want := range map[string]uint32{"12.6\n": 13, "0.01": 1, "nan": 0, "inf": 0, "-3": 0, "0": 0, "2147483648": 0, "N/A\n": 0, "": 0} {
		if got := secondsIn([]byte(answer)); got != want {
			t.Errorf("%q is %d s, want %d", answer, got, want)
		}
	}
}
