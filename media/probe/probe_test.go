package probe

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/media/probe/probetest"
)

// patient are tools whose time no busy machine uses up.
func patient(mode confine.Mode) tools { return tools{mode: mode, time: 10 * time.Minute} }

func TestMain(m *testing.M) {
	confine.Child() // the tools of the machine run as a process of this binary
	goleak.VerifyTestMain(m)
}

func TestTheSmallReadersKnowDurations(t *testing.T) {
	quiet := probetest.Opus(500)
	for _, tt := range []struct {
		name string
		got  uint32
		want uint32
	}{
		{"a voice note of ten seconds", readOpus(bytes.NewReader(quiet)).seconds, 10},
		{"a very short one is not 0", readOpus(bytes.NewReader(probetest.Opus(3))).seconds, 1},
		{"a voice note cut in the middle", readOpus(bytes.NewReader(quiet[:len(quiet)/2])).seconds, 7},
		{"Ogg without Opus", readOpus(bytes.NewReader(probetest.OggPage(48000, []byte("\x01vorbis, and more than 19 bytes")))).seconds, 0},
		{"an MP4", readMP4(bytes.NewReader(probetest.MP4(83, 640, 360))).seconds, 83},
		{"an MP4 with 64-bit fields", readMP4(bytes.NewReader(probetest.MP4With64(7000))).seconds, 7000},
		{"an MP3 that tells its frames", mp3Seconds(bytes.NewReader(probetest.MP3(true))), 100},
		{"an MP3 of one rate", mp3Seconds(bytes.NewReader(probetest.MP3(false))), 3},
		{"text", mp3Seconds(strings.NewReader(strings.Repeat("no frame here ", 500))), 0},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %d s, want %d", tt.name, tt.got, tt.want)
		}
	}
}

func TestAVideoTellsItsSize(t *testing.T) {
	got := readMP4(bytes.NewReader(probetest.MP4(5, 1280, 720)))
	if got.width != 1280 || got.height != 720 {
		t.Errorf("the video is %d x %d, want 1280 x 720", got.width, got.height)
	}
}

func TestTheWaveformRisesAsThePacketsGrow(t *testing.T) {
	w := readOpus(bytes.NewReader(probetest.Opus(640))).waveform
	if len(w) != 64 || w[63] != 100 || w[0] == 0 {
		t.Fatalf("waveform %v, want 64 values that end at 100", w)
	}
	for i := range w[1:] {
		if w[i+1] < w[i] {
			t.Fatalf("waveform falls at %d: %v", i, w)
		}
	}
	for _, packets := range []int{1, 5} {
		if w := readOpus(bytes.NewReader(probetest.Opus(packets))).waveform; len(w) != 64 {
			t.Errorf("%d packets make %d values", packets, len(w))
		}
	}
}

func TestPicturesGetAThumbnail(t *testing.T) {
	for _, tt := range []struct {
		format       string
		w, h, tw, th int
	}{
		{"png", 640, 480, 100, 75}, {"jpeg", 300, 600, 50, 100}, {"png", 1, 1, 100, 100}, {"jpeg", 2000, 3, 100, 1},
	} {
		p := &Prober{}
		f := p.image(bytes.NewReader(probetest.Encoded(t, tt.format, probetest.Picture(tt.w, tt.h))))
		if f.Width != uint32(tt.w) || f.Height != uint32(tt.h) {
			t.Errorf("%s of %d x %d is seen as %d x %d", tt.format, tt.w, tt.h, f.Width, f.Height)
		}
		c, err := jpeg.DecodeConfig(bytes.NewReader(f.Thumbnail))
		if err != nil || c.Width != tt.tw || c.Height != tt.th || len(f.Thumbnail) > maxThumbnail {
			t.Errorf("thumbnail of %d x %d: %d x %d in %d bytes, %v; want %d x %d", tt.w, tt.h, c.Width, c.Height, len(f.Thumbnail), err, tt.tw, tt.th)
		}
	}
}

func TestAPictureThatIsABombIsNotDecoded(t *testing.T) {
	for _, size := range [][2]uint32{{20000, 20000}, {5000, 5000}, {1<<31 - 1, 1}, {65535, 65535}} {
		p := &Prober{}
		f := p.image(bytes.NewReader(probetest.Bomb(size[0], size[1])))
		if f.Thumbnail != nil {
			t.Errorf("a PNG of %d x %d got a thumbnail", size[0], size[1])
		}
	}
	if cost := decodeCost(image.Config{Width: 6000, Height: 4000, ColorModel: color.NRGBAModel}, "png", nil); cost <= decodeBudget {
		t.Errorf("24 megapixels of PNG cost %d", cost)
	}
	base := bytes.NewReader(probetest.Encoded(t, "jpeg", probetest.Picture(20, 20)))
	if progressive(base) {
		t.Error("a baseline JPEG is taken for a progressive one")
	}
	if cost := decodeCost(image.Config{Width: 4000, Height: 3000}, "jpeg", base); cost > decodeBudget {
		t.Errorf("a phone's photo costs %d", cost)
	}
}

func TestStickersTellTheirSize(t *testing.T) {
	extended := append([]byte("RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x02\x00\x00\x00"), 0xff, 0x01, 0, 0xff, 0x01, 0)
	w, h, animated := webpSize(bytes.NewReader(extended))
	if w != 512 || h != 512 || !animated {
		t.Errorf("an animated sticker is %d x %d, animated %t", w, h, animated)
	}
	if w, h, _ := webpSize(strings.NewReader("RIFF????WEBPVP8 and no more of it")); w != 0 || h != 0 {
		t.Errorf("a broken sticker is %d x %d", w, h)
	}
}

func TestPagesOfAPDFAreCountedWhereThatIsEasy(t *testing.T) {
	tree := "%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [3 0 R 4 0 R]\n/Count 12 >>\nendobj\n" +
		"4 0 obj\n<</Type/Pages/Count 5/Kids[]>>\nendobj\n9 0 obj\n<< /Count 400 >>\nendobj\n%%EOF"
	for text, want := range map[string]uint32{
		tree: 12, "%PDF-1.7\nall of it compressed": 0, "<</Type/Pages/Count 999999>>\nendobj": 0,
		strings.Repeat("x", 100_000) + "\n<</Type/Pages/Count 3>> endobj": 3,
	} {
		if got := countPages(strings.NewReader(text)); got != want {
			t.Errorf("%.40q has %d pages, want %d", text, got, want)
		}
	}
}

// A tool that is there is used, one that lies is not believed, one that hangs
// is ended, and none of them is needed.
func TestToolsOfTheMachineAreUsedWithCare(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	small := filepath.Join(dir, "small.jpg")
	if err := os.WriteFile(small, probetest.Encoded(t, "jpeg", probetest.Picture(90, 60)), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "video.mp4")
	if err := os.WriteFile(file, probetest.MP4(4, 90, 60), 0o600); err != nil {
		t.Fatal(err)
	}
	src, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	script := func(name, body string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	if got := patient(confine.Unconfined).frame(ctx, src); got != nil {
		t.Errorf("without ffmpeg there is a frame of %d bytes", len(got))
	}
	script("ffmpeg", "cat "+small)
	if got := patient(confine.Unconfined).frame(ctx, src); len(got) == 0 {
		t.Error("ffmpeg's frame is not used")
	}
	if got := (tools{}).frame(ctx, src); got != nil {
		t.Error("ffmpeg runs although tools are off")
	}
	if got := patient(confine.Unconfined).frame(ctx, bytes.NewReader(nil)); got != nil {
		t.Error("ffmpeg is given what is no file")
	}
	script("ffmpeg", "echo not a picture")
	if got := patient(confine.Unconfined).frame(ctx, src); got != nil {
		t.Errorf("what is no picture became a thumbnail of %d bytes", len(got))
	}
	script("ffmpeg", "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done")
	if got := patient(confine.Unconfined).frame(ctx, src); got != nil {
		t.Error("output without an end became a thumbnail")
	}
	script("ffprobe", `read -r x < /dev/stdin; echo 12.6; [ -z "$SECRET" ]`)
	t.Setenv("SECRET", "1")
	if got := patient(confine.Unconfined).seconds(ctx, src); got != 13 {
		t.Errorf("ffprobe's 12.6 s became %d, or it saw the environment", got)
	}
	script("pdfinfo", `printf 'Title: Pages: 9\nPages:          7\n'`)
	if got := patient(confine.Unconfined).pages(ctx, src); got != 7 {
		t.Errorf("pdfinfo's 7 pages became %d", got)
	}
}
