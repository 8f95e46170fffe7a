package convert_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg"
	_ "image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/internal/need"
	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/convert"
)

// needHEIF skips the test unless a program of libheif's examples starts.
func needHEIF(t *testing.T, program string) {
	t.Helper()
	var exit *exec.ExitError
	if out, err := exec.Command(program, "--help").CombinedOutput(); err != nil && !errors.As(err, &exit) || !bytes.Contains(out, []byte("sage")) {
		need.Lacking(t, "make or read HEIC by %s: %v", program, err)
	}
}

// coded is a picture of one colour, as HEVC units: the parameter sets, and the picture.
func coded(t *testing.T, colour string, edge int) (sets [][]byte, picture []byte) {
	t.Helper()
	f := made(t, "a.hevc", "-f", "lavfi", "-i", fmt.Sprintf("color=%s:size=%dx%d", colour, edge, edge), "-frames:v", "1", "-pix_fmt", "yuv420p", "-c:v", "libx265", "-x265-params", "log-level=none", "-f", "hevc")
	b, err := io.ReadAll(f)
	check(t, err)
	for _, unit := range bytes.Split(bytes.ReplaceAll(b, []byte("\x00\x00\x00\x01"), []byte("\x00\x00\x01")), []byte("\x00\x00\x01"))[1:] {
		switch kind := unit[0] >> 1 & 63; {
		case kind >= 32 && kind <= 34:
			sets = append(sets, unit)
		case kind < 32:
			picture = append(binary.BigEndian.AppendUint32(picture, uint32(len(unit))), unit...)
		}
	}
	return sets, picture
}

func boxOf(kind string, parts ...[]byte) []byte {
	body := bytes.Join(parts, nil)
	return append(append(binary.BigEndian.AppendUint32(nil, uint32(len(body)+8)), kind...), body...)
}

func u16(all ...int) (b []byte) {
	for _, n := range all {
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	}
	return b
}

func u32(all ...int) (b []byte) {
	for _, n := range all {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return b
}

// phonePicture is a HEIC as phones write it: a grid of tiles, cut to width and height, and
// turned.
func phonePicture(sets, pictures [][]byte, columns, edge, width, height, turns int) []byte {
	n := len(pictures)
	config := append([]byte{1}, sets[1][3:15]...)                                         // profile and level
	config = append(config, 0xf0, 0, 0xfc, 0xfd, 0xf8, 0xf8, 0, 0, 0x0f, byte(len(sets))) // 4:2:0, 8 bits, lengths of four bytes
	infos := [][]byte{u32(0), u16(n + 1), boxOf("infe", u32(2<<24), u16(100, 0), []byte("grid\x00"))}
	refs := [][]byte{u16(100, n)}
	props := [][]byte{u32(0, n+1), u16(100), []byte{2, 2, 4}}
	for i, s := range sets {
		config = append(append(config, []byte{0x80 | []byte{32, 33, 34}[i]}...), append(u16(1, len(s)), s...)...)
	}
	for i := range n {
		infos = append(infos, boxOf("infe", u32(2<<24|1), u16(i+1, 0), []byte("hvc1\x00")))
		refs = append(refs, u16(i+1))
		props = append(props, u16(i+1), []byte{2, 0x81, 3})
	}
	grid := append([]byte{0, 0, byte(n/columns - 1), byte(columns - 1)}, u16(width, height)...)
	file := func(from int) []byte {
		places := [][]byte{u32(1 << 24), {0x44, 0}, u16(n + 1), u16(100, 1, 0, 1), u32(0, len(grid))}
		for i, p := range pictures {
			places = append(places, u16(i+1, 0, 0, 1), u32(from, len(p)))
			from += len(p)
		}
		return append(boxOf("ftyp", []byte("heic\x00\x00\x00\x00mif1heic")), boxOf("meta", u32(0),
			boxOf("hdlr", u32(0, 0), []byte("pict"), u32(0, 0, 0), []byte{0}),
			boxOf("pitm", u32(0), u16(100)), boxOf("iinf", infos...), boxOf("iref", u32(0), boxOf("dimg", refs...)),
			boxOf("iprp", boxOf("ipco", boxOf("hvcC", config), boxOf("ispe", u32(0, width, height)), boxOf("ispe", u32(0, edge, edge)), boxOf("irot", []byte{byte(turns)})),
				boxOf("ipma", props...)),
			boxOf("idat", grid), boxOf("iloc", places...))...)
	}
	head := file(0)
	return append(file(len(head)+8), boxOf("mdat", bytes.Join(pictures, nil))...)
}

// A phone's HEIC holds its picture as a grid of tiles, of which ffmpeg's first stream is one.
// heif-convert, which is another program's reader, has to see the same picture.
func TestAPhonesHEICIsConvertedWhole(t *testing.T) {
	needFFmpeg(t)
	needHEIF(t, "heif-convert")
	var sets, pictures [][]byte
	for _, colour := range []string{"red", "lime", "blue", "white", "black", "yellow"} {
		s, picture := coded(t, colour, 64)
		sets, pictures = s, append(pictures, picture)
	}
	for turns := range 4 {
		at := filepath.Join(t.TempDir(), "a.heic")
		check(t, os.WriteFile(at, phonePicture(sets, pictures, 3, 64, 180, 120, turns), 0o600))
		other := filepath.Join(t.TempDir(), "b.png")
		if out, err := exec.Command("heif-convert", at, other).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		f := opened(t, at)
		info := classified(t, f)
		r, ok := convert.For(info, "", whatsapp())
		if !ok || convert.Partly(f, info.Size, info.MIME) {
			t.Fatalf("%+v, %t", r, ok)
		}
		out, err := converter(t).Run(t.Context(), f, r, media.MiB)
		check(t, err)
		ours, _, err := image.Decode(out.File)
		check(t, err)
		check(t, out.Close())
		theirs, _, err := image.Decode(opened(t, other))
		check(t, err)
		if ours.Bounds() != theirs.Bounds() {
			t.Fatalf("turned %d times: %v, and by libheif %v", turns, ours.Bounds(), theirs.Bounds())
		}
		for y := 10; y < ours.Bounds().Dy(); y += 20 {
			for x := 10; x < ours.Bounds().Dx(); x += 20 {
				if unlike(ours.At(x, y), theirs.At(x, y)) && !edge(theirs, x, y) {
					t.Errorf("turned %d times: at %d,%d %v, and by libheif %v", turns, x, y, ours.At(x, y), theirs.At(x, y))
				}
			}
		}
	}
}

// unlike says that two colours differ.
func unlike(a, b color.Color) bool {
	r, g, bl, _ := a.RGBA()
	r2, g2, bl2, _ := b.RGBA()
	d := func(x, y uint32) int { return max(int(x)-int(y), int(y)-int(x)) >> 8 }
	return d(r, r2)+d(g, g2)+d(bl, bl2) > 90
}

// edge says that colours meet near a point.
func edge(i image.Image, x, y int) bool {
	return unlike(i.At(x-4, y), i.At(x+4, y)) || unlike(i.At(x, y-4), i.At(x, y+4))
}

func TestAPictureOfHEIFThatNobodyReadsIsLeftAlone(t *testing.T) {
	whole := "\x00\x00\x00\x1cftypheic\x00\x00\x00\x00mif1heicmiaf\x00\x00\x01\x42meta\x00\x00\x00\x00\x00\x00\x00\x0epitm\x00\x00\x00\x00\x00\x01infe\x02\x00\x00\x00\x00\x01\x00\x00hvc1"
	for name, tt := range map[string]struct {
		mime, data string
		want       bool
	}{
		"cut off":        {"image/heic", whole, true},
		"AVIF":           {"image/avif", whole, false},
		"a grid of AVIF": {"image/avif", strings.ReplaceAll(whole, "hvc1", "grid"), true},
		"turned AVIF":    {"image/avif", whole + "\x00\x00\x00\x09irot\x01", true},
		"mirrored AVIF":  {"image/avif", whole + "\x00\x00\x00\x09imir\x01", true},
		"no description": {"image/heic", strings.Repeat("x", 2<<20) + whole, true},
		"empty":          {"image/heic", "", true},
		"another type":   {"image/png", "grid", false},
		"no TIFF":        {"image/tiff", "no picture", true},
	} {
		if got := convert.Partly(strings.NewReader(tt.data), int64(len(tt.data)), tt.mime); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestOnePictureOfHEICIsConverted(t *testing.T) {
	needFFmpeg(t)
	needHEIF(t, "heif-enc")
	png := made(t, "a.png", "-f", "lavfi", "-i", "testsrc=size=320x240:duration=1", "-frames:v", "1")
	at := filepath.Join(t.TempDir(), "a.heic")
	if out, err := exec.Command("heif-enc", png.Name(), "-o", at).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	f := opened(t, at)
	info := classified(t, f)
	r, ok := convert.For(info, "", whatsapp())
	if !ok || r.Note != "converted from heic to jpeg" || convert.Partly(f, info.Size, info.MIME) {
		t.Fatalf("%+v, %t", r, ok)
	}
	out, err := converter(t).Run(t.Context(), f, r, media.MiB)
	check(t, err)
	defer out.Close()
	if got := probed(t, out.File); len(got) != 1 || got[0].Codec != "mjpeg" || got[0].Width != 320 || got[0].Height != 240 {
		t.Errorf("%+v", got)
	}
}

func FuzzPartly(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x0cpitm\x00\x00\x00\x00grid"), "image/heic")
	f.Add([]byte("II*\x00\x08\x00\x00\x00\x00\x00"), "image/tiff")
	f.Fuzz(func(_ *testing.T, data []byte, mime string) {
		convert.Partly(bytes.NewReader(data), int64(len(data)), mime)
	})
}
