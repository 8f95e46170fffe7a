// Package probetest makes small files for tests. The files contain little more than
// their headers.
package probetest

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"testing"
)

// OggPage returns a page with the given packets. Its checksum is zero; nothing in
// these tests reads it.
func OggPage(granule uint64, packets ...[]byte) []byte {
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

// Opus returns a voice note with this many packets of 20 ms, each larger than the
// one before.
func Opus(packets int) []byte {
	head := append([]byte("OpusHead\x01\x01"), 0x38, 0x01, 0x80, 0xbb, 0, 0, 0, 0, 0) // pre-skip 312
	out := append(OggPage(0, head), OggPage(0, []byte("OpusTags\x00\x00\x00\x00\x00\x00\x00\x00"))...)
	for i := range packets {
		out = append(out, OggPage(uint64(312+(i+1)*960), make([]byte, 20+i))...)
	}
	return out
}

func Box(kind string, content ...[]byte) []byte {
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

// MP4 returns an MP4 without samples whose movie box comes last.
func MP4(seconds, width, height uint32) []byte {
	mvhd := Box("mvhd", u32(0, 0, 0, 1000, seconds*1000), make([]byte, 80))
	sound := Box("trak", Box("tkhd", make([]byte, 84)))
	picture := Box("trak", Box("tkhd", make([]byte, 76), u32(width<<16, height<<16)))
	return bytes.Join([][]byte{
		Box("ftyp", []byte("isom\x00\x00\x02\x00isomiso2mp41")), Box("mdat", make([]byte, 1000)), Box("moov", mvhd, sound, picture),
	}, nil)
}

// MP4With64 returns the movie box of an MP4 with every field in its 64-bit form.
func MP4With64(seconds uint64) []byte {
	mvhd := append(u32(1<<24, 0, 0, 0, 0, 600), binary.BigEndian.AppendUint64(nil, seconds*600)...)
	moov := Box("mvhd", mvhd, make([]byte, 80))
	long := append(append(u32(1), "moov"...), binary.BigEndian.AppendUint64(nil, uint64(16+len(moov)))...)
	return append(long, moov...)
}

func MP3(xing bool) []byte {
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

func Picture(w, h int) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for x := range w {
		for y := range h {
			img.SetNRGBA(x, y, color.NRGBA{R: uint8(x), G: uint8(y), B: 90, A: 255})
		}
	}
	return img
}

func Encoded(t testing.TB, format string, img image.Image) []byte {
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

// Bomb returns a PNG of a few bytes that decodes into w x h pixels.
func Bomb(w, h uint32) []byte {
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x00\x00\x00\x00")
	binary.BigEndian.PutUint32(b[16:], w)
	binary.BigEndian.PutUint32(b[20:], h)
	binary.BigEndian.PutUint32(b[29:], crc32.ChecksumIEEE(b[12:29]))
	return b
}

// Corners are the colours of a picture's corners, as shown.
var Corners = map[string]color.NRGBA{
	"top left": {R: 255, A: 255}, "top right": {G: 255, A: 255}, "bottom left": {B: 255, A: 255}, "bottom right": {R: 255, G: 255, A: 255},
}

// sides says on which sides the first stored row and the first stored column are
// shown (Exif 2.32, section 4.6.4.A).
var sides = map[int][2]string{
	1: {"top", "left"}, 2: {"top", "right"}, 3: {"bottom", "right"}, 4: {"bottom", "left"},
	5: {"left", "top"}, 6: {"right", "top"}, 7: {"right", "bottom"}, 8: {"left", "bottom"},
}

// corner returns the name of the corner between two sides.
func corner(a, b string) string {
	if a == "left" || a == "right" {
		a, b = b, a
	}
	return a + " " + b
}

func opposite(side string) string {
	return map[string]string{"top": "bottom", "bottom": "top", "left": "right", "right": "left"}[side]
}

// TurnedJPEG returns a photo of w x h pixels, stored as a phone does that was held
// so that the photo has this orientation.
func TurnedJPEG(t testing.TB, w, h, orientation int) []byte {
	t.Helper()
	row, column := sides[orientation][0], sides[orientation][1]
	if orientation > 4 {
		w, h = h, w
	}
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for x := range w {
		for y := range h {
			r, c := row, column
			if y >= h/2 {
				r = opposite(r)
			}
			if x >= w/2 {
				c = opposite(c)
			}
			img.SetNRGBA(x, y, Corners[corner(r, c)])
		}
	}
	plain := Encoded(t, "jpeg", img)
	tiff := append([]byte("MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00"), byte(orientation), 0, 0, 0, 0, 0, 0)
	segment := append([]byte("Exif\x00\x00"), tiff...)
	head := binary.BigEndian.AppendUint16([]byte{0xFF, 0xD8, 0xFF, 0xE1}, uint16(len(segment)+2))
	return append(append(head, segment...), plain[2:]...)
}

// matrices turn a picture by the given degrees. The numbers are 16.16, except the
// last of each row, which is 2.30 (ISO/IEC 14496-12, section 8.3.2).
var matrices = map[int][9]int32{
	0:   {0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000},
	90:  {0, 0x10000, 0, -0x10000, 0, 0, 0, 0, 0x40000000},
	180: {-0x10000, 0, 0, 0, -0x10000, 0, 0, 0, 0x40000000},
	270: {0, -0x10000, 0, 0x10000, 0, 0, 0, 0, 0x40000000},
}

func Matrix(degrees int) (b []byte) {
	for _, n := range matrices[degrees] {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return b
}

// TurnedMP4 returns a film of w x h pixels that both its track and its movie header
// turn.
func TurnedMP4(w, h uint32, track, movie int) []byte {
	mvhd := Box("mvhd", u32(0, 0, 0, 1000, 5000), make([]byte, 16), Matrix(movie), make([]byte, 28))
	tkhd := Box("tkhd", make([]byte, 40), Matrix(track), u32(w<<16, h<<16))
	return bytes.Join([][]byte{Box("ftyp", []byte("isom\x00\x00\x02\x00isomiso2mp41")), Box("moov", mvhd, Box("trak", tkhd))}, nil)
}
