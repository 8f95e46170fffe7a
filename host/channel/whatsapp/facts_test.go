package whatsapp

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/media"
)

// oggPageBytes is one page whose packets have the given sizes. Its checksum is
// zero; nobody here reads it.
func oggPageBytes(granule uint64, packets ...[]byte) []byte {
	var lacing, body []byte
	for _, p := range packets {
		for n := len(p); ; n -= 255 {
			lacing = append(lacing, byte(min(n, 255)))
			if n < 255 {
				break
			}
		}
		body = append(body, p...)
	}
	head := make([]byte, 27)
	copy(head, "OggS")
	binary.LittleEndian.PutUint64(head[6:], granule)
	head[26] = byte(len(lacing))
	return append(append(head, lacing...), body...)
}

// opusFile is a voice note of so many packets of 20 ms, the later the larger.
func opusFile(packets int) []byte {
	head := append([]byte("OpusHead\x01\x01"), 0x38, 0x01, 0x80, 0xbb, 0, 0, 0, 0, 0) // pre-skip 312
	out := append(oggPageBytes(0, head), oggPageBytes(0, []byte("OpusTags\x00\x00\x00\x00\x00\x00\x00\x00"))...)
	for i := range packets {
		out = append(out, oggPageBytes(uint64(312+(i+1)*960), make([]byte, 20+i))...)
	}
	return out
}

func box(kind string, content ...[]byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, 8)
	b = append(b, kind...)
	for _, c := range content {
		b = append(b, c...)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)))
	return b
}

func u32(ns ...uint32) (b []byte) {
	for _, n := range ns {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	return b
}

// mp4File is an MP4 without a sample in it, whose movie box comes last.
func mp4File(seconds, width, height uint32) []byte {
	mvhd := box("mvhd", u32(0, 0, 0, 1000, seconds*1000), make([]byte, 80))
	sound := box("trak", box("tkhd", make([]byte, 84)))
	picture := box("trak", box("tkhd", make([]byte, 76), u32(width<<16, height<<16)))
	return bytes.Join([][]byte{
		box("ftyp", []byte("isom\x00\x00\x02\x00isomiso2mp41")), box("mdat", make([]byte, 1000)), box("moov", mvhd, sound, picture),
	}, nil)
}

// mp4With64 has every field in its 64-bit form.
func mp4With64(seconds uint64) []byte {
	mvhd := append(u32(1<<24, 0, 0, 0, 0, 600), binary.BigEndian.AppendUint64(nil, seconds*600)...)
	moov := box("mvhd", mvhd, make([]byte, 80))
	long := append(append(u32(1), "moov"...), binary.BigEndian.AppendUint64(nil, uint64(16+len(moov)))...)
	return append(long, moov...)
}

func mp3File(xing bool) []byte {
	frame := make([]byte, 417)
	copy(frame, []byte{0xFF, 0xFB, 0x90, 0x00}) // MPEG 1, layer III, 128 kbit/s, 44.1 kHz
	tag := append([]byte("ID3\x04\x00\x00"), 0, 0, 1, 0)
	tag = append(tag, make([]byte, 128)...)
	if xing {
		copy(frame[36:], "Xing\x00\x00\x00\x01")
		binary.BigEndian.PutUint32(frame[44:], 3829) // of 1152 samples: 100 s
	}
	return append(tag, bytes.Repeat(frame, 100)...)
}

func TestTheSmallReadersKnowDurations(t *testing.T) {
	quiet := opusFile(500)
	for _, tt := range []struct {
		name string
		got  uint32
		want uint32
	}{
		{"a voice note of ten seconds", readOpus(bytes.NewReader(quiet)).seconds, 10},
		{"a very short one is not 0", readOpus(bytes.NewReader(opusFile(3))).seconds, 1},
		{"a voice note cut in the middle", readOpus(bytes.NewReader(quiet[:len(quiet)/2])).seconds, 7},
		{"Ogg without Opus", readOpus(bytes.NewReader(oggPageBytes(48000, []byte("\x01vorbis, and more than 19 bytes")))).seconds, 0},
		{"an MP4", readMP4(bytes.NewReader(mp4File(83, 640, 360))).seconds, 83},
		{"an MP4 with 64-bit fields", readMP4(bytes.NewReader(mp4With64(7000))).seconds, 7000},
		{"an MP3 that tells its frames", mp3Seconds(bytes.NewReader(mp3File(true))), 100},
		{"an MP3 of one rate", mp3Seconds(bytes.NewReader(mp3File(false))), 3},
		{"text", mp3Seconds(strings.NewReader(strings.Repeat("no frame here ", 500))), 0},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %d s, want %d", tt.name, tt.got, tt.want)
		}
	}
}

func TestAVideoTellsItsSize(t *testing.T) {
	got := readMP4(bytes.NewReader(mp4File(5, 1280, 720)))
	if got.width != 1280 || got.height != 720 {
		t.Errorf("the video is %d x %d, want 1280 x 720", got.width, got.height)
	}
}

func TestTheWaveformRisesAsThePacketsGrow(t *testing.T) {
	w := readOpus(bytes.NewReader(opusFile(640))).waveform
	if len(w) != 64 || w[63] != 100 || w[0] == 0 {
		t.Fatalf("waveform %v, want 64 values that end at 100", w)
	}
	for i := range w[1:] {
		if w[i+1] < w[i] {
			t.Fatalf("waveform falls at %d: %v", i, w)
		}
	}
	for _, packets := range []int{1, 5} {
		if w := readOpus(bytes.NewReader(opusFile(packets))).waveform; len(w) != 64 {
			t.Errorf("%d packets make %d values", packets, len(w))
		}
	}
}

func picture(w, h int) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for x := range w {
		for y := range h {
			img.SetNRGBA(x, y, color.NRGBA{R: uint8(x), G: uint8(y), B: 90, A: 255})
		}
	}
	return img
}

func encoded(t testing.TB, format string, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	err := map[string]func() error{
		"png":  func() error { return png.Encode(&b, img) },
		"jpeg": func() error { return jpeg.Encode(&b, img, nil) },
		"gif":  func() error { return gif.Encode(&b, img, nil) },
	}[format]()
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestPicturesGetAThumbnail(t *testing.T) {
	for _, tt := range []struct {
		format       string
		w, h, tw, th int
	}{
		{"png", 640, 480, 100, 75}, {"jpeg", 300, 600, 50, 100}, {"png", 1, 1, 100, 100}, {"jpeg", 2000, 3, 100, 1},
	} {
		s := &session{}
		f := s.lookAtImage(bytes.NewReader(encoded(t, tt.format, picture(tt.w, tt.h))))
		if f.width != uint32(tt.w) || f.height != uint32(tt.h) {
			t.Errorf("%s of %d x %d is seen as %d x %d", tt.format, tt.w, tt.h, f.width, f.height)
		}
		c, err := jpeg.DecodeConfig(bytes.NewReader(f.thumbnail))
		if err != nil || c.Width != tt.tw || c.Height != tt.th || len(f.thumbnail) > maxThumbnail {
			t.Errorf("thumbnail of %d x %d: %d x %d in %d bytes, %v; want %d x %d", tt.w, tt.h, c.Width, c.Height, len(f.thumbnail), err, tt.tw, tt.th)
		}
	}
}

// bomb is a PNG of few bytes that decodes into w x h pixels.
func bomb(w, h uint32) []byte {
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x00\x00\x00\x00")
	binary.BigEndian.PutUint32(b[16:], w)
	binary.BigEndian.PutUint32(b[20:], h)
	binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
	return b
}

func TestAPictureThatIsABombIsNotDecoded(t *testing.T) {
	for _, size := range [][2]uint32{{20000, 20000}, {5000, 5000}, {1<<31 - 1, 1}, {65535, 65535}} {
		s := &session{}
		f := s.lookAtImage(bytes.NewReader(bomb(size[0], size[1])))
		if f.thumbnail != nil {
			t.Errorf("a PNG of %d x %d got a thumbnail", size[0], size[1])
		}
	}
	if cost := decodeCost(image.Config{Width: 6000, Height: 4000, ColorModel: color.NRGBAModel}, "png", nil); cost <= decodeBudget {
		t.Errorf("24 megapixels of PNG cost %d", cost)
	}
	base := bytes.NewReader(encoded(t, "jpeg", picture(20, 20)))
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

// A tool that is there is used, one that lies is not believed, one that hangs
// is ended, and none of them is needed.
func TestToolsOfTheMachineAreUsedWithCare(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	small := filepath.Join(dir, "small.jpg")
	if err := os.WriteFile(small, encoded(t, "jpeg", picture(90, 60)), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "video.mp4")
	if err := os.WriteFile(file, mp4File(4, 90, 60), 0o600); err != nil {
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
	if got := (tools{}).frame(ctx, src); got != nil {
		t.Errorf("without ffmpeg there is a frame of %d bytes", len(got))
	}
	script("ffmpeg", "cat "+small)
	if got := (tools{}).frame(ctx, src); len(got) == 0 {
		t.Error("ffmpeg's frame is not used")
	}
	if got := (tools{off: true}).frame(ctx, src); got != nil {
		t.Error("ffmpeg runs although tools are off")
	}
	if got := (tools{}).frame(ctx, bytes.NewReader(nil)); got != nil {
		t.Error("ffmpeg is given what is no file")
	}
	script("ffmpeg", "echo not a picture")
	if got := (tools{}).frame(ctx, src); got != nil {
		t.Errorf("what is no picture became a thumbnail of %d bytes", len(got))
	}
	script("ffmpeg", "while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done")
	if got := (tools{}).frame(ctx, src); got != nil {
		t.Error("output without an end became a thumbnail")
	}
	script("ffprobe", `read -r x < /dev/stdin; echo 12.6; [ -z "$SECRET" ]`)
	t.Setenv("SECRET", "1")
	if got := (tools{}).seconds(ctx, src); got != 13 {
		t.Errorf("ffprobe's 12.6 s became %d, or it saw the environment", got)
	}
	script("pdfinfo", `printf 'Title: Pages: 9\nPages:          7\n'`)
	if got := (tools{}).pages(ctx, src); got != 7 {
		t.Errorf("pdfinfo's 7 pages became %d", got)
	}
}

func FuzzSmallReaders(f *testing.F) {
	for _, seed := range [][]byte{opusFile(4), mp4File(1, 2, 3), mp4With64(9), mp3File(true)[:900], encoded(f, "png", picture(3, 3)),
		encoded(f, "jpeg", picture(3, 3)), []byte("RIFF????WEBPVP8X0000000000000000"), []byte("<</Type/Pages/Count 3>>\nendobj")} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if w := readOpus(bytes.NewReader(b)).waveform; w != nil && len(w) != waveformValues {
			t.Errorf("waveform of %d values", len(w))
		}
		if s := readMP4(bytes.NewReader(b)).seconds; s > math.MaxInt32 {
			t.Errorf("%d seconds", s)
		}
		mp3Seconds(bytes.NewReader(b))
		webpSize(bytes.NewReader(b))
		if n := countPages(bytes.NewReader(b)); n > maxPages {
			t.Errorf("%d pages", n)
		}
		s := &session{}
		if f := s.lookAtImage(bytes.NewReader(b)); len(f.thumbnail) > maxThumbnail {
			t.Errorf("thumbnail of %d bytes", len(f.thumbnail))
		}
	})
}

func TestAForeignLogLineIsHarmless(t *testing.T) {
	for in, want := range map[string]string{
		"Failed to handle <message id=\"1\">\n<enc>a</enc></message> now": "Failed to handle <…> now",
		"key 3q2+7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA":            "key …",
		"from 4915112345678@s.whatsapp.net":                               "from 491…78@s.whatsapp.net",
		"name \x1b[31mred\u202e":                                          `name \x1b[31mred\u202e`,
	} {
		if diff := cmp.Diff(want, harmless(in)); diff != "" {
			t.Errorf("harmless(%q): %s", in, diff)
		}
	}
	if long := harmless(strings.Repeat("é ", 1000)); len(long) > maxLogged+len("…") {
		t.Errorf("a line of %d bytes", len(long))
	}
}
