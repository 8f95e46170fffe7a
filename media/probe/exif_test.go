package probe_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/media/probe"
)

// exif is the start of a JPEG with the tags given, each of one short value.
func exif(order binary.AppendByteOrder, tags ...uint16) []byte {
	tiff := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		tiff = []byte("MM\x00*")
	}
	tiff = order.AppendUint32(tiff, 8)
	tiff = order.AppendUint16(tiff, uint16(len(tags)/2))
	for i := 0; i < len(tags); i += 2 {
		tiff = order.AppendUint16(tiff, tags[i])
		tiff = order.AppendUint16(tiff, 3)
		tiff = order.AppendUint32(tiff, 1)
		tiff = order.AppendUint16(tiff, tags[i+1])
		tiff = append(tiff, 0, 0)
	}
	return jpeg(segment(0xE0, []byte("JFIF\x00")), segment(0xE1, append([]byte("Exif\x00\x00"), tiff...)))
}

func segment(marker byte, content []byte) []byte {
	return append(binary.BigEndian.AppendUint16([]byte{0xFF, marker}, uint16(len(content)+2)), content...)
}

func jpeg(segments ...[]byte) []byte {
	return append(append([]byte{0xFF, 0xD8}, bytes.Join(segments, nil)...), 0xFF, 0xDA, 0, 2)
}

func TestAPhonesPictureSaysHowItIsTurned(t *testing.T) {
	for want := 1; want <= 8; want++ {
		for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
			if got := probe.Orientation(bytes.NewReader(exif(order, 0x010F, 7, 0x0112, uint16(want)))); got != want {
				t.Errorf("orientation %d, want %d", got, want)
			}
		}
		if got := probe.Sideways(want); got != (want > 4) {
			t.Errorf("orientation %d is sideways: %t", want, got)
		}
	}
}

func TestWhatMakesNoSenseIsUpright(t *testing.T) {
	whole := exif(binary.BigEndian, 0x0112, 6)
	wrongType := bytes.Replace(whole, []byte{0x01, 0x12, 0, 3}, []byte{0x01, 0x12, 0, 4}, 1)
	far := bytes.Replace(whole, []byte{'*', 0, 0, 0, 8}, []byte{'*', 0xFF, 0xFF, 0xFF, 0xFF}, 1)
	for name, b := range map[string][]byte{
		"nothing": nil, "a PNG": []byte("\x89PNG\r\n\x1a\n"), "no EXIF": jpeg(segment(0xE0, []byte("JFIF\x00"))),
		"orientation 0": exif(binary.LittleEndian, 0x0112, 0), "orientation 9": exif(binary.LittleEndian, 0x0112, 9),
		"another type": wrongType, "a directory far away": far, "no tags": exif(binary.LittleEndian),
		"EXIF behind the picture": append(jpeg(), whole[2:]...), "a segment of no length": jpeg([]byte{0xFF, 0xE1, 0, 0}),
		"XMP": jpeg(segment(0xE1, []byte("http://ns.adobe.com/xap/1.0/\x00"))), "a thousand segments": append(jpeg(bytes.Repeat(segment(0xFE, nil), 1000))[:4002], whole[2:]...),
	} {
		if got := probe.Orientation(bytes.NewReader(b)); got != probe.Upright {
			t.Errorf("%s is turned by %d", name, got)
		}
	}
	for n := range len(whole) - 5 { // cut before the value
		if got := probe.Orientation(bytes.NewReader(whole[:n])); got != probe.Upright && got != 6 {
			t.Errorf("cut at %d: %d", n, got)
		}
	}
}

// counted counts the bytes that are read.
type counted struct {
	io.ReadSeeker
	n int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadSeeker.Read(p)
	c.n += n
	return n, err
}

func FuzzEXIF(f *testing.F) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		f.Add(exif(order, 0x0112, 6))
	}
	f.Add([]byte(strings.Repeat("\xff\xe1\x00\x02", 100)))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &counted{ReadSeeker: bytes.NewReader(b)}
		if got := probe.Orientation(r); got < 1 || got > 8 {
			t.Errorf("orientation %d", got)
		}
		if most := 2 + 64*(4+65533); r.n > most {
			t.Errorf("%d bytes were read", r.n)
		}
	})
}
