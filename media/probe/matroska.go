package probe

import (
	"bytes"
	"io"
	"math/bits"

	"github.com/longshore-bridge/longshore/media"
)

// The elements of Matroska that are read: RFC 9559, section 5.
const (
	idHeader  = 0x1A45DFA3
	idSegment = 0x18538067
	idCluster = 0x1F43B675
	idTracks  = 0x1654AE6B
	idTrack   = 0xAE
	idType    = 0x83
	idCodec   = 0x86
	idPrivate = 0x63A2
)

// maxElements bounds a file that was made to be read without end.
const maxElements = 2000

// matroskaCodecs are codecs of RFC 9559's registry, https://www.matroska.org/technical/codec_specs.html.
var matroskaCodecs = map[string]string{
	"V_MPEGH/ISO/HEVC": "hevc", "V_VP8": "vp8", "V_VP9": "vp9", "V_AV1": "av1", "V_THEORA": "theora", "V_MPEG4/ISO/": "mpeg4", "V_MPEG1": "mpeg1video", "V_MPEG2": "mpeg2video", "V_MJPEG": "mjpeg", "V_PRORES": "prores",
	"A_OPUS": "opus", "A_VORBIS": "vorbis", "A_AAC": "aac", "A_MPEG/L3": "mp3", "A_MPEG/L2": "mp2", "A_FLAC": "flac", "A_AC3": "ac3", "A_EAC3": "eac3", "A_ALAC": "alac", "A_PCM": "pcm",
}

// readMatroska reads the tracks of a Matroska or WebM file, which come before its content.
func readMatroska(r io.ReaderAt, size int64) media.Tracks {
	m := matroska{r: r, left: maxElements}
	m.elements(0, size, nil)
	return m.tracks
}

type matroska struct {
	r      io.ReaderAt
	left   int // number of elements that may still be read
	tracks media.Tracks
}

// track is one track's description.
type track struct {
	kind    byte // 1: pictures, 2: sound
	codec   string
	private []byte
}

// elements reads the elements between two offsets, which may describe a track. It returns
// false once nothing further has to be read.
func (m *matroska) elements(at, end int64, t *track) bool {
	for at < end && m.left > 0 {
		m.left--
		id, n := m.number(at, end, 4, false)
		length, k := m.number(at+n, end, 8, true)
		if n == 0 || k == 0 {
			return false
		}
		start := at + n + k
		stop := start + int64(length)
		if length > uint64(end-start) { // also if it is not known
			stop = end
		}
		switch id {
		case idCluster:
			return false
		case idSegment, idTracks:
			if !m.elements(start, stop, nil) {
				return false
			}
		case idTrack:
			one := &track{}
			m.elements(start, stop, one)
			m.add(one)
		case idType, idCodec, idPrivate:
			m.describe(t, id, start, stop)
		}
		at = stop
	}
	return m.left > 0
}

func (m *matroska) describe(t *track, id uint64, start, stop int64) {
	b := make([]byte, min(stop-start, 32))
	if _, err := m.r.ReadAt(b, start); t == nil || len(b) == 0 || err != nil && err != io.EOF {
		return
	}
	switch id {
	case idType:
		t.kind = b[len(b)-1]
	case idCodec:
		t.codec = string(bytes.TrimRight(b, "\x00"))
	case idPrivate:
		t.private = b
	}
}

func (m *matroska) add(t *track) {
	codec := named(matroskaCodecs, t.codec)
	if t.codec == "V_MPEG4/ISO/AVC" {
		codec = h264(t.private)
	}
	if t.kind == 1 || t.kind == 2 {
		add(&m.tracks, t.kind == 1, codec)
	}
}

// number reads a number of variable length (RFC 8794, section 4), with the mark of its
// length or without; n is that length, 0 if there is none. A number of ones alone means
// that a size is not known.
func (m *matroska) number(at, end int64, most int, bare bool) (v uint64, n int64) {
	var b [8]byte
	if got, _ := m.r.ReadAt(b[:min(int64(most), max(0, end-at))], at); got == 0 || b[0] == 0 {
		return 0, 0
	}
	n = int64(bits.LeadingZeros8(b[0])) + 1
	if n > int64(most) || n > end-at {
		return 0, 0
	}
	for _, c := range b[:n] {
		v = v<<8 | uint64(c)
	}
	if bare {
		v &= 1<<(7*n) - 1
		if v == 1<<(7*n)-1 {
			v = 1<<64 - 1
		}
	}
	return v, n
}
