package convert_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/internal/need"
	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/convert"
	"github.com/longshore-bridge/longshore/media/probe/probetest"
)

func TestMain(m *testing.M) {
	confine.Child() // ffmpeg runs as a process of this binary
	goleak.VerifyTestMain(m)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// needFFmpeg skips the test unless this machine's ffmpeg runs confined, and makes and
// reads what the tests want of it.
func needFFmpeg(t *testing.T) {
	t.Helper()
	if err := ffmpegWorks(); err != nil {
		need.Lacking(t, "convert files by ffmpeg: %v", err)
	}
}

var ffmpegWorks = sync.OnceValue(func() error { // asked once for all tests
	for _, program := range []string{"ffmpeg", "ffprobe"} {
		if _, err := (confine.Runner{Mode: confine.Confined}).Run(context.Background(), confine.Command{Program: program, Args: []string{"-version"}, Time: time.Minute}); err != nil {
			return err
		}
	}
	film, sound := []string{"-f", "lavfi", "-i", "testsrc=size=64x64:rate=5:duration=1"}, []string{"-f", "lavfi", "-i", "sine=duration=1"}
	for _, args := range [][]string{
		slices.Concat(film, sound, []string{"-c:v", "libx264", "-pix_fmt", "yuv420p", "-c:a", "aac", "-f", "mp4"}), slices.Concat(sound, []string{"-c:a", "libopus", "-f", "ogg"}),
		slices.Concat(sound, []string{"-f", "mp3"}), slices.Concat(film, []string{"-frames:v", "1"}, quickAVIF, []string{"-f", "avif"}),
		slices.Concat(film, []string{"-frames:v", "1", "-c:v", "libwebp", "-f", "webp"}),
		slices.Concat(film, []string{"-frames:v", "1", "-pix_fmt", "yuv420p", "-c:v", "libx265", "-x265-params", "log-level=none", "-f", "hevc"}),
	} {
		if out, err := exec.Command("ffmpeg", slices.Concat([]string{"-v", "error"}, args, []string{"-y", os.DevNull})...).CombinedOutput(); err != nil {
			return fmt.Errorf("ffmpeg %s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	return nil
})

// quickAVIF has ffmpeg's encoder take as little time as it can.
var quickAVIF = []string{"-c:v", "libaom-av1", "-cpu-used", "8"}

// made has ffmpeg make a file of its own sources.
func made(t *testing.T, name string, args ...string) *os.File {
	t.Helper()
	at := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("ffmpeg", append(append([]string{"-v", "error"}, args...), at)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return opened(t, at)
}

func opened(t *testing.T, at string) *os.File {
	t.Helper()
	f, err := os.Open(at)
	check(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func written(t *testing.T, name string, data []byte) *os.File {
	t.Helper()
	at := filepath.Join(t.TempDir(), name)
	check(t, os.WriteFile(at, data, 0o600))
	return opened(t, at)
}

// stream is what ffprobe says of a file.
type stream struct {
	Codec    string `json:"codec_name"`
	Width    int
	Height   int
	Rate     string `json:"sample_rate"`
	Channels int
	Format   string `json:"pix_fmt"`
}

func probed(t *testing.T, f *os.File) (streams []stream) {
	t.Helper()
	cmd := exec.Command("ffprobe", "-v", "error", "-show_streams", "-of", "json", "/dev/stdin")
	_, err := f.Seek(0, io.SeekStart)
	check(t, err)
	cmd.Stdin = f
	out, err := cmd.Output()
	check(t, err)
	var all struct{ Streams []stream }
	check(t, json.Unmarshal(out, &all))
	return all.Streams
}

// whatsapp is a channel that shows few types.
func whatsapp() media.Limits {
	return media.Limits{Kinds: map[media.Kind]media.Limit{
		media.Image:    {Bytes: 4 * media.MiB, MIME: []string{"image/jpeg", "image/png"}},
		media.Video:    {Bytes: 16 * media.MiB, MIME: []string{"video/mp4"}},
		media.Audio:    {Bytes: 16 * media.MiB, MIME: []string{"audio/mpeg"}},
		media.Voice:    {Bytes: 16 * media.MiB, MIME: []string{"audio/ogg"}},
		media.Sticker:  {Bytes: media.MiB},
		media.Document: {Bytes: 100 * media.MiB},
	}}
}

func converter(t *testing.T) *convert.Converter {
	c := convert.New(confine.Confined, func(int64) (*os.File, func(), error) {
		f, err := os.CreateTemp(t.TempDir(), "")
		return f, func() {}, err
	})
	c.SetTime(10 * time.Minute) // which no busy machine uses up
	return c
}

func classified(t *testing.T, f *os.File) media.Info {
	t.Helper()
	head := make([]byte, media.HeadSize)
	n, _ := f.ReadAt(head, 0)
	fi, err := f.Stat()
	check(t, err)
	info, err := media.Classify(filepath.Base(f.Name()), "", head[:n], fi.Size(), media.Auto)
	check(t, err)
	return info
}

func TestEachFileBecomesOneThatTheChatShows(t *testing.T) {
	needFFmpeg(t)
	picture := []string{"-f", "lavfi", "-i", "testsrc=size=320x240:duration=1", "-frames:v", "1"}
	film := []string{"-f", "lavfi", "-i", "testsrc=size=319x241:rate=10:duration=2", "-f", "lavfi", "-i", "sine=duration=2"}
	sound := []string{"-f", "lavfi", "-i", "sine=frequency=440:duration=3"}
	for _, tt := range []struct {
		file     *os.File
		as       media.Style
		name     string
		note     string
		want     []stream
		wantMIME string
	}{
		{made(t, "a.tiff", picture...), "", "a.jpg", "converted from tif to jpeg", []stream{{Codec: "mjpeg", Width: 320, Height: 240}}, "image/jpeg"},
		{made(t, "a.webp", picture...), "auto", "a.jpg", "converted from webp to jpeg", []stream{{Codec: "mjpeg", Width: 320, Height: 240}}, "image/jpeg"},
		{made(t, "a.avif", append(picture, quickAVIF...)...), "", "a.jpg", "converted from avif to jpeg", []stream{{Codec: "mjpeg", Width: 320, Height: 240}}, "image/jpeg"},
		{made(t, "a.mov", film...), "", "a.mp4", "converted from mov to mp4", []stream{{Codec: "h264", Width: 318, Height: 240}, {Codec: "aac", Channels: 2, Rate: "44100"}}, "video/mp4"},
		{made(t, "a.mkv", film...), "gif", "a.mp4", "converted from mkv to mp4", []stream{{Codec: "h264", Width: 318, Height: 240}}, "video/mp4"},
		{made(t, "a.gif", "-f", "lavfi", "-i", "testsrc=size=64x64:rate=5:duration=2"), "gif", "a.mp4", "converted from gif to mp4", []stream{{Codec: "h264", Width: 64, Height: 64}}, "video/mp4"},
		{made(t, "b.gif", "-f", "lavfi", "-i", "testsrc=size=64x64:rate=5:duration=2"), "", "b.mp4", "converted from gif to mp4", []stream{{Codec: "h264", Width: 64, Height: 64}}, "video/mp4"},
		{made(t, "a.mp3", sound...), "voice", "a.ogg", "converted from mp3 to Ogg Opus", []stream{{Codec: "opus", Channels: 1, Rate: "48000"}}, "audio/ogg"},
		{made(t, "a.wav", sound...), "voice", "a.ogg", "converted from wav to Ogg Opus", []stream{{Codec: "opus", Channels: 1, Rate: "48000"}}, "audio/ogg"},
		{made(t, "a.m4a", sound...), "voice", "a.ogg", "converted from m4a to Ogg Opus", []stream{{Codec: "opus", Channels: 1, Rate: "48000"}}, "audio/ogg"},
	} {
		t.Run(filepath.Base(tt.file.Name())+" as "+string(tt.as), func(t *testing.T) {
			r, ok := convert.For(classified(t, tt.file), tt.as, whatsapp())
			if !ok || r.Name != tt.name || r.Note != tt.note {
				t.Fatalf("%+v, %t", r, ok)
			}
			out, err := converter(t).Run(t.Context(), tt.file, r, 16*media.MiB)
			check(t, err)
			defer out.Close()
			got := probed(t, out.File)
			if len(got) != len(tt.want) {
				t.Fatalf("streams %+v", got)
			}
			for i, w := range tt.want {
				if g := got[i]; g.Codec != w.Codec || g.Width != w.Width || g.Height != w.Height || g.Channels != w.Channels || w.Rate != "" && g.Rate != w.Rate ||
					w.Codec == "h264" && g.Format != "yuv420p" {
					t.Errorf("stream %d is %+v, want %+v", i, g, w)
				}
			}
			head := make([]byte, media.HeadSize)
			n, _ := out.ReadAt(head, 0)
			info, err := media.Classify(r.Name, "", head[:n], 1000, tt.as)
			if err != nil || info.MIME != tt.wantMIME || info.MIME != r.MIME || info.Kind != r.Kind && tt.as != "" {
				t.Errorf("the result is %+v, %v", info, err)
			}
			if tt.as == media.AsVoice && head[47] != 0x80 && !bytes.Contains(head[:100], []byte{0x80, 0x3e, 0, 0}) { // 16000 Hz in the Opus header
				t.Errorf("the header does not say 16 kHz: %x", head[:64])
			}
		})
	}
}

func TestAPictureThatIsTooLargeIsMadeSmaller(t *testing.T) {
	needFFmpeg(t)
	img := image.NewNRGBA(image.Rect(0, 0, 3000, 1500))
	noise := rand.New(rand.NewPCG(1, 2))
	for i := range img.Pix {
		img.Pix[i] = byte(noise.Uint32())
	}
	for y := range 500 {
		for x := range 3000 {
			img.SetNRGBA(x, y, color.NRGBA{A: 0}) // black, if it were seen
		}
	}
	var data bytes.Buffer
	check(t, (&png.Encoder{CompressionLevel: png.NoCompression}).Encode(&data, img))
	f := written(t, "photo.png", data.Bytes())
	info := classified(t, f)
	r, ok := convert.For(info, "", whatsapp())
	if !ok || !strings.HasPrefix(r.Note, "made smaller, from ") || r.Name != "photo.jpg" {
		t.Fatalf("%d bytes: %+v, %t", info.Size, r, ok)
	}
	out, err := converter(t).Run(t.Context(), f, r, 4*media.MiB)
	check(t, err)
	defer out.Close()
	if got := probed(t, out.File); len(got) != 1 || got[0].Width != 2560 || got[0].Height != 1280 {
		t.Errorf("%+v", got)
	}
	_, err = out.Seek(0, io.SeekStart)
	check(t, err)
	shown, _, err := image.Decode(out)
	check(t, err)
	if r, g, b, _ := shown.At(1280, 100).RGBA(); min(r, g, b) < 0xf000 {
		t.Errorf("what was transparent is %x %x %x, not white", r, g, b)
	}
}

func TestAPhonesPictureStaysUpright(t *testing.T) {
	needFFmpeg(t)
	l := whatsapp()
	l.Kinds[media.Image] = media.Limit{Bytes: 1000, MIME: []string{"image/jpeg"}}
	for orientation := 1; orientation <= 8; orientation++ {
		f := written(t, "photo.jpg", probetest.TurnedJPEG(t, 640, 320, orientation))
		r, ok := convert.For(classified(t, f), "", l)
		if !ok {
			t.Fatal("it is not made smaller")
		}
		out, err := converter(t).Run(t.Context(), f, r, media.MiB)
		check(t, err)
		img, _, err := image.Decode(out)
		check(t, errOf(err, out.Close()))
		if size := img.Bounds().Size(); size != image.Pt(640, 320) {
			t.Errorf("orientation %d: %v", orientation, size)
			continue
		}
		for name, at := range map[string]image.Point{"top left": {60, 30}, "top right": {580, 30}, "bottom left": {60, 290}, "bottom right": {580, 290}} {
			r, g, b, _ := img.At(at.X, at.Y).RGBA()
			wr, wg, wb, _ := probetest.Corners[name].RGBA()
			if far(r, wr) || far(g, wg) || far(b, wb) {
				t.Errorf("orientation %d: %s is %x %x %x", orientation, name, r, g, b)
			}
		}
	}
}

func far(a, b uint32) bool { return max(a, b)-min(a, b) > 0x3000 }

func errOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestWhatTheChatShowsAndWhatMustNotChangeIsLeftAlone(t *testing.T) {
	info := func(mime string, kind media.Kind, size int64) media.Info {
		return media.Info{Name: "a" + media.ExtensionFor(mime), MIME: mime, Kind: kind, Size: size}
	}
	for _, tt := range []struct {
		info media.Info
		as   media.Style
		l    media.Limits
	}{
		{info("image/jpeg", media.Image, 1000), "", whatsapp()},
		{info("video/mp4", media.Video, 1000), "", whatsapp()},
		{info("video/mp4", media.Video, 1000), media.AsGIF, whatsapp()},
		{info("audio/mpeg", media.Audio, 1000), "", whatsapp()},
		{info("audio/ogg", media.Audio, 1000), media.AsVoice, whatsapp()},
		{info("application/pdf", media.Document, 1000), "", whatsapp()},
		{info("image/webp", media.Image, 1000), media.AsSticker, whatsapp()},
		{info("image/tiff", media.Document, 1000), media.AsOriginal, whatsapp()},
		{info("video/quicktime", media.Video, 1000), media.AsOriginal, whatsapp()},
		{info("video/quicktime", media.Video, 1000), media.AsDocument, whatsapp()},
		{info("image/jpeg", media.Image, 10*media.MiB), media.AsDocument, whatsapp()},
		{info("image/jpeg", media.Image, 10*media.MiB), media.AsOriginal, whatsapp()},
		{info("image/webp", media.Image, 1000), "", media.DefaultLimits()},
		{info("image/gif", media.Image, 1000), "", media.DefaultLimits()},
		{info("image/tiff", media.Document, 1000), "", media.Limits{Kinds: map[media.Kind]media.Limit{media.Document: {Bytes: 1000}}}},
	} {
		if r, ok := convert.For(tt.info, tt.as, tt.l); ok {
			t.Errorf("%s as %q: %+v", tt.info.MIME, tt.as, r)
		}
	}
}

func TestHostileMediaEndsTheConversionAlone(t *testing.T) {
	needFFmpeg(t)
	var bomb bytes.Buffer // 20,000 by 20,000 pixels in a few kilobytes
	check(t, gif.Encode(&bomb, image.NewPaletted(image.Rect(0, 0, 1, 1), color.Palette{color.Black, color.White}), nil))
	huge := bytes.Clone(bomb.Bytes())
	copy(huge[6:], []byte{0xff, 0xff, 0xff, 0xff}) // the canvas
	whole, err := io.ReadAll(made(t, "whole.mov", "-f", "lavfi", "-i", "testsrc=duration=1"))
	check(t, err)
	for name, data := range map[string][]byte{
		"huge.gif": huge, "torn.mov": whole[:len(whole)/3], "empty.tiff": []byte("II*\x00\x08\x00\x00\x00\x00\x00"),
		"list.mov": []byte("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n"), "concat.mov": []byte("ffconcat version 1.0\nfile /etc/passwd\n"),
	} {
		f := written(t, name, data)
		r, ok := convert.For(media.Info{Name: name, MIME: "video/quicktime", Kind: media.Video, Size: 1}, "", whatsapp())
		if !ok {
			t.Fatal("no recipe")
		}
		out, err := converter(t).Run(t.Context(), f, r, media.MiB)
		if err == nil {
			_ = out.Close()
			t.Errorf("%s was converted", name)
		}
		if now, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(now, data) {
			t.Errorf("%s has changed, %v", name, err)
		}
	}
	film := made(t, "long.mov", "-f", "lavfi", "-i", "testsrc=size=640x480:rate=25", "-t", "4")
	r, _ := convert.For(classified(t, film), "", whatsapp())
	if out, err := converter(t).Run(t.Context(), film, r, 10_000); err == nil {
		_ = out.Close()
		t.Error("a result of more bytes than allowed was kept")
	}
}

func TestATIFFOfManyPagesIsNotCutToOne(t *testing.T) {
	one := []byte("II*\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	two := []byte("II*\x00\x08\x00\x00\x00\x00\x00\x0e\x00\x00\x00")
	big := []byte("MM\x00*\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00")
	for name, tt := range map[string]struct {
		data []byte
		want bool
	}{"one": {one, false}, "two": {two, true}, "of the other order": {big, false}, "torn": {one[:9], true}, "no TIFF": {[]byte("no picture"), true}} {
		if got := convert.ManyPages(bytes.NewReader(tt.data)); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func FuzzManyPages(f *testing.F) {
	f.Add([]byte("II*\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("MM\x00*\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(_ *testing.T, data []byte) { convert.ManyPages(bytes.NewReader(data)) })
}
