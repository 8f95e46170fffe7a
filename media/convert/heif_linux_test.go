package convert_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/convert"
)

// A phone's HEIC holds its picture as a grid of tiles, and ffmpeg's first stream is one of them.
func TestAPhonesHEICIsNotCutToOneTile(t *testing.T) {
	whole := "\x00\x00\x00\x1cftypheic\x00\x00\x00\x00mif1heicmiaf\x00\x00\x01\x42meta\x00\x00\x00\x00\x00\x00\x00\x0epitm\x00\x00\x00\x00\x00\x01infe\x02\x00\x00\x00\x00\x01\x00\x00hvc1"
	for name, tt := range map[string]struct {
		mime, data string
		want       bool
	}{
		"one picture":    {"image/heic", whole, false},
		"a grid":         {"image/heic", strings.ReplaceAll(whole, "hvc1", "grid"), true},
		"an overlay":     {"image/heif", strings.ReplaceAll(whole, "hvc1", "iovl"), true},
		"turned":         {"image/avif", whole + "\x00\x00\x00\x09irot\x01", true},
		"mirrored":       {"image/avif", whole + "\x00\x00\x00\x09imir\x01", true},
		"no description": {"image/heic", strings.Repeat("x", 2<<20) + whole, true},
		"empty":          {"image/heic", "", true},
		"another type":   {"image/png", "grid", false},
		"no TIFF":        {"image/tiff", "no picture", true},
	} {
		if got := convert.Partly(strings.NewReader(tt.data), tt.mime); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// ffmpeg reads HEIC from version 7 on. Older ones must fail and leave the file alone, never make another picture of it.
func TestHEICIsConvertedWholeOrNotAtAll(t *testing.T) {
	need(t, "ffmpeg", "ffprobe", "heif-enc")
	png := made(t, "a.png", "-f", "lavfi", "-i", "testsrc=size=320x240:duration=1", "-frames:v", "1")
	at := filepath.Join(t.TempDir(), "a.heic")
	if out, err := exec.Command("heif-enc", png.Name(), "-o", at).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f := opened(t, at)
	info := classified(t, f)
	r, ok := convert.For(info, "", whatsapp())
	if !ok || r.Note != "converted from heic to jpeg" || convert.Partly(f, info.MIME) {
		t.Fatalf("%+v, %t", r, ok)
	}
	out, err := converter(t).Run(t.Context(), f, r, media.MiB)
	if err != nil {
		version, verr := exec.Command("ffmpeg", "-version").Output()
		check(t, verr)
		old := false
		for _, v := range []string{"4.", "5.", "6."} {
			old = old || bytes.HasPrefix(version, []byte("ffmpeg version "+v))
		}
		if !old {
			t.Errorf("%v, with %.40s", err, version)
		}
		return
	}
	defer out.Close()
	if got := probed(t, out.File); len(got) != 1 || got[0].Codec != "mjpeg" || got[0].Width != 320 || got[0].Height != 240 {
		t.Errorf("%+v", got)
	}
}

func FuzzPartly(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x0cpitm\x00\x00\x00\x00grid"), "image/heic")
	f.Add([]byte("II*\x00\x08\x00\x00\x00\x00\x00"), "image/tiff")
	f.Fuzz(func(_ *testing.T, data []byte, mime string) { convert.Partly(bytes.NewReader(data), mime) })
}
