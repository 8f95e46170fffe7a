package probe

import (
	"encoding/binary"
	"io"

	"github.com/longshore-bridge/longshore/media"
)

// Limits for an MP4 that was made to be read without end.
const (
	maxBoxes = 2000
	maxDepth = 6 // a codec's name lies in moov, trak, mdia, minf, stbl and stsd
	maxEntry = 1 << 10
)

type mp4Facts struct {
	width, height uint32 // of the first track that has them, as shown
	seconds       uint32
	tracks        media.Tracks
}

// readMP4 reads the movie header and the track headers of an ISO base media file
// (ISO/IEC 14496-12). The file consists of boxes with a size, a type and a content.
func readMP4(r io.ReadSeeker) mp4Facts {
	end, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return mp4Facts{}
	}
	m := mp4Reader{r: r, left: maxBoxes}
	m.boxes(0, end, 0)
	if m.movieSideways != m.trackSideways {
		m.facts.width, m.facts.height = m.facts.height, m.facts.width
	}
	return m.facts
}

type mp4Reader struct {
	r     io.ReadSeeker
	left  int // number of boxes that may still be read
	facts mp4Facts
	shows string // what the present track holds: vide, soun, or something else

	movieSideways, trackSideways bool // turned by a quarter, in either direction
}

// boxes reads the boxes between two offsets.
func (m *mp4Reader) boxes(at, end int64, depth int) {
	for at+8 <= end && depth < maxDepth && m.left > 0 {
		m.left--
		head := m.read(at, 8)
		if head == nil {
			return
		}
		size, start := int64(binary.BigEndian.Uint32(head)), at+8
		switch size {
		case 0: // to the end
			size = end - at
		case 1: // a 64-bit size follows
			long := m.read(start, 8)
			if long == nil {
				return
			}
			size, start = int64(binary.BigEndian.Uint64(long)), start+8
		}
		if size < start-at || size > end-at {
			return
		}
		switch string(head[4:]) {
		case "trak":
			m.shows = ""
			fallthrough
		case "moov", "mdia", "minf", "stbl":
			m.boxes(start, at+size, depth+1)
		case "hdlr":
			if b := m.read(start, int(min(12, at+size-start))); len(b) == 12 && m.shows == "" { // QuickTime has another one for the data
				m.shows = string(b[8:])
			}
		case "stsd":
			m.sampleEntry(start, at+size)
		case "mvhd":
			m.movieHeader(start, at+size)
		case "tkhd":
			m.trackHeader(start, at+size)
		}
		at += size
	}
}

// read returns n bytes at an offset, or nil.
func (m *mp4Reader) read(at int64, n int) []byte {
	if _, err := m.r.Seek(at, io.SeekStart); err != nil {
		return nil
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(m.r, b); err != nil {
		return nil
	}
	return b
}

// movieHeader reads the duration. Version 0 has 32-bit times, version 1 has 64-bit
// times.
func (m *mp4Reader) movieHeader(start, end int64) {
	b := m.read(start, int(min(32, end-start)))
	if end-start >= 60+36 { // the matrix, then 28 bytes
		m.movieSideways = sideways(m.read(end-28-36, 36))
	}
	switch {
	case len(b) >= 20 && b[0] == 0:
		m.facts.seconds = seconds(uint64(binary.BigEndian.Uint32(b[16:])), binary.BigEndian.Uint32(b[12:]))
	case len(b) >= 32 && b[0] == 1:
		m.facts.seconds = seconds(binary.BigEndian.Uint64(b[24:]), binary.BigEndian.Uint32(b[20:]))
	}
}

func seconds(duration uint64, scale uint32) uint32 {
	if scale == 0 {
		return 0
	}
	return roundSeconds(float64(duration) / float64(scale))
}

// sideways reports whether a matrix of nine numbers swaps width and height (ISO/IEC
// 14496-12, section 6.2.2): x becomes y and y becomes x, with any sign.
func sideways(matrix []byte) bool {
	if len(matrix) < 36 {
		return false
	}
	at := func(i int) uint32 { return binary.BigEndian.Uint32(matrix[4*i:]) }
	return at(0) == 0 && at(4) == 0 && at(1) != 0 && at(3) != 0
}

// trackHeader reads width and height: the last eight bytes, after the matrix, as
// 16.16 numbers.
func (m *mp4Reader) trackHeader(start, end int64) {
	if m.facts.width != 0 || end-start < 84 {
		return
	}
	b := m.read(end-44, 44)
	if b == nil {
		return
	}
	if w, h := binary.BigEndian.Uint32(b[36:])>>16, binary.BigEndian.Uint32(b[40:])>>16; w != 0 && h != 0 {
		m.facts.width, m.facts.height, m.trackSideways = w, h, sideways(b)
	}
}
