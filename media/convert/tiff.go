package convert

import (
	"encoding/binary"
	"io"
)

// ManyPages reports whether a TIFF has more than one page, of which a picture would
// keep the first alone, or cannot be read (TIFF 6.0, section 2).
func ManyPages(r io.ReaderAt) bool {
	var head [8]byte
	if _, err := r.ReadAt(head[:], 0); err != nil {
		return true
	}
	var order binary.ByteOrder = binary.LittleEndian
	if head[0] == 'M' {
		order = binary.BigEndian
	}
	if order.Uint16(head[2:]) != 42 { // BigTIFF has another form
		return true
	}
	at := int64(order.Uint32(head[4:]))
	var number [2]byte
	if _, err := r.ReadAt(number[:], at); err != nil {
		return true
	}
	var next [4]byte
	_, err := r.ReadAt(next[:], at+2+12*int64(order.Uint16(number[:])))
	return err != nil || order.Uint32(next[:]) != 0
}
