// Package probe reads what a chat's app shows of a file before a member opens it:
// the size of a picture or film, the duration of a sound, its waveform, a thumbnail.
//
// Its input is untrusted. Every reader limits how much it reads, and values that
// make no sense count as absent.
package probe

import (
	"bytes"
	"encoding/binary"
	"io"
)

// Limits for a JPEG that was made to be read without end.
const (
	maxSegments = 64
	maxEntries  = 512 // of one directory of tags
)

// Upright is the orientation of a picture that is shown as it is stored.
const Upright = 1

// Orientation returns how a JPEG must be turned before it is shown: the value of the
// tag Orientation in its EXIF segment, from 1 to 8 (Exif 2.32, section 4.6.4.A). It
// is Upright if there is no valid one. Orientation reads r from the beginning: the
// heads of at most 64 segments, and the content of possible EXIF segments, at most
// 64 KiB each.
func Orientation(r io.ReadSeeker) int {
	var head [4]byte
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return Upright
	}
	if _, err := io.ReadFull(r, head[:2]); err != nil || head[0] != 0xFF || head[1] != 0xD8 {
		return Upright
	}
	for range maxSegments {
		if _, err := io.ReadFull(r, head[:]); err != nil || head[0] != 0xFF {
			return Upright
		}
		n := int64(binary.BigEndian.Uint16(head[2:])) - 2 // the length counts itself
		switch {
		case n < 0 || head[1] == 0xDA: // the picture itself follows
			return Upright
		case head[1] == 0xE1:
			segment := make([]byte, n) // at most 64 KiB
			if _, err := io.ReadFull(r, segment); err != nil {
				return Upright
			}
			if tiff, ok := bytes.CutPrefix(segment, []byte("Exif\x00\x00")); ok {
				return orientationOf(tiff)
			}
		default:
			if _, err := r.Seek(n, io.SeekCurrent); err != nil {
				return Upright
			}
		}
	}
	return Upright
}

// orientationOf reads the first directory of a TIFF structure (TIFF 6.0, section 2):
// a byte order, 42 and the directory's offset; the directory has a number of
// entries, each with a tag, a type, a count and a value.
func orientationOf(tiff []byte) int {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case bytes.HasPrefix(tiff, []byte("II*\x00")):
	case bytes.HasPrefix(tiff, []byte("MM\x00*")):
		order = binary.BigEndian
	default:
		return Upright
	}
	if len(tiff) < 8 {
		return Upright
	}
	at := uint64(order.Uint32(tiff[4:]))
	if at+2 > uint64(len(tiff)) {
		return Upright
	}
	const entry, tag, short = 12, 0x0112, 3
	entries := tiff[at+2:]
	for range min(int(order.Uint16(tiff[at:])), maxEntries, len(entries)/entry) {
		if order.Uint16(entries) == tag {
			value := int(order.Uint16(entries[8:]))
			if order.Uint16(entries[2:]) != short || order.Uint32(entries[4:]) != 1 || value < 1 || value > 8 {
				return Upright
			}
			return value
		}
		entries = entries[entry:]
	}
	return Upright
}

// Sideways reports whether an orientation swaps width and height.
func Sideways(orientation int) bool { return orientation >= 5 && orientation <= 8 }
