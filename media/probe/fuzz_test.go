package probe

import (
	"bytes"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/media/probe/probetest"
)

// Every parser of a foreign file has a target here or in media/probe; what a
// tool says of a file is as foreign as the file.

// frugal fails the test if a reader takes more than a file can hold so many
// times over.
type frugal struct {
	io.ReadSeeker
	t    *testing.T
	left int
}

func reading(t *testing.T, b []byte, times int) *frugal {
	return &frugal{ReadSeeker: bytes.NewReader(b), t: t, left: times*len(b) + 256<<10}
}

func (f *frugal) Read(p []byte) (int, error) {
	n, err := f.ReadSeeker.Read(p)
	if f.left -= n; f.left < 0 {
		f.t.Fatal("the reader does not come to an end")
	}
	return n, err
}

func FuzzMP4(f *testing.F) {
	f.Add(probetest.MP4(1, 2, 3))
	f.Add(probetest.MP4With64(9))
	f.Add(probetest.TurnedMP4(1920, 1080, 90, 0))
	f.Add(bytes.Repeat(probetest.Box("moov"), 3000))
	f.Add(probetest.Box("moov", probetest.Box("moov", probetest.Box("moov", probetest.Box("moov", probetest.Box("moov"))))))
	f.Fuzz(func(t *testing.T, b []byte) {
		m := readMP4(reading(t, b, 2*maxDepth))
		if m.seconds > math.MaxInt32 || m.width > math.MaxUint16 || m.height > math.MaxUint16 {
			t.Errorf("%+v", m)
		}
	})
}

func FuzzOgg(f *testing.F) {
	f.Add(probetest.Opus(4))
	f.Add(probetest.OggPage(48000, []byte("\x01vorbis, and more than 19 bytes")))
	f.Add(bytes.Repeat(probetest.OggPage(math.MaxUint64), 100))
	f.Fuzz(func(t *testing.T, b []byte) {
		o := readOpus(reading(t, b, 1))
		if o.waveform != nil && len(o.waveform) != waveformValues || o.seconds > math.MaxInt32 {
			t.Errorf("%d bars, %d s", len(o.waveform), o.seconds)
		}
		for _, bar := range o.waveform {
			if bar > 100 {
				t.Errorf("a bar of %d", bar)
			}
		}
	})
}

func FuzzMP3(f *testing.F) {
	f.Add(probetest.MP3(true)[:900])
	f.Add(probetest.MP3(false)[:900])
	f.Add([]byte("ID3\x04\x00\x00\x7f\x7f\x7f\x7f"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s := mp3Seconds(reading(t, b, 2)); s > math.MaxInt32 {
			t.Errorf("%d s", s)
		}
	})
}

func FuzzPDFPages(f *testing.F) {
	f.Add([]byte("<</Type/Pages/Count 3>>\nendobj"))
	f.Add([]byte(strings.Repeat("/Type /Pages /Count 999999\n", 1000)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n := countPages(reading(t, b, 1)); n > maxPages {
			t.Errorf("%d pages", n)
		}
	})
}

func FuzzPictureHeaders(f *testing.F) {
	for _, format := range []string{"png", "jpeg", "gif"} {
		f.Add(probetest.Encoded(f, format, probetest.Picture(3, 3)))
	}
	f.Add(probetest.Bomb(65535, 65535))
	f.Add(probetest.TurnedJPEG(f, 8, 4, 6))
	f.Add([]byte("RIFF????WEBPVP8X0000000000000000"))
	f.Fuzz(func(t *testing.T, b []byte) {
		webpSize(reading(t, b, 2))
		progressive(reading(t, b, 1))
		if f := (&Prober{}).image(reading(t, b, 8)); len(f.Thumbnail) > maxThumbnail {
			t.Errorf("a thumbnail of %d bytes", len(f.Thumbnail))
		}
	})
}

func FuzzAnswersOfTools(f *testing.F) {
	for _, answer := range []string{"12.6\n", "N/A", "nan", "inf", "-1", "1e300", "0x1p31", "Pages:          7\n", "Pages: 99999999999999999999\n"} {
		f.Add([]byte(answer))
	}
	f.Add(probetest.Encoded(f, "jpeg", probetest.Picture(90, 60)))
	f.Add(probetest.Bomb(65535, 65535))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s := secondsIn(b); s > math.MaxInt32 {
			t.Errorf("%q is %d s", b, s)
		}
		if n := pagesIn(b); n > maxPages {
			t.Errorf("%q is %d pages", b, n)
		}
		if checkedThumbnail(b) != nil && len(b) > maxThumbnail {
			t.Errorf("a thumbnail of %d bytes", len(b))
		}
	})
}
