package probe

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
)

// opusRate is the clock of every Ogg Opus stream, RFC 7845 section 4.
const opusRate = 48000

// waveformValues is the number of bars that the apps draw.
const waveformValues = 64

// maxPackets is almost three hours of packets of 20 ms. Later packets do not change
// the picture.
const maxPackets = 1 << 19

type opusFacts struct {
	seconds  uint32
	waveform []byte
	opus     bool // the stream is Opus
}

// readOpus reads a whole Ogg Opus file. The duration is the last page's granule
// position less the pre-skip. The waveform is drawn from the sizes of the packets:
// an encoder with a variable rate uses more bytes for loud parts, so nothing has to
// be decoded.
func readOpus(r io.ReadSeeker) opusFacts {
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return opusFacts{}
	}
	in := bufio.NewReaderSize(r, 64<<10)
	var sizes []uint32
	var granule, skip uint64
	packet, headers, serial, opus := uint32(0), 0, uint32(0), false
	for first := true; ; first = false {
		page, ok := readPage(in)
		if !ok {
			break
		}
		if first {
			head := page.body
			if len(head) < 19 || !bytes.HasPrefix(head, []byte("OpusHead")) {
				return opusFacts{}
			}
			opus, skip, serial = true, uint64(binary.LittleEndian.Uint16(head[10:])), page.serial
		}
		if page.serial != serial {
			continue
		}
		if page.granule != ^uint64(0) { // else no packet ends on this page
			granule = max(granule, page.granule)
		}
		for _, lacing := range page.lacing {
			packet += uint32(lacing)
			if lacing == 255 {
				continue
			}
			if headers++; headers > 2 && len(sizes) < maxPackets { // after OpusHead and OpusTags
				sizes = append(sizes, packet)
			}
			packet = 0
		}
	}
	f := opusFacts{waveform: drawWaveform(sizes), opus: opus}
	if granule > skip {
		f.seconds = roundSeconds(float64(granule-skip) / opusRate)
	}
	return f
}

// oggPage is one page; for its layout see RFC 3533, section 6.
type oggPage struct {
	begins  bool // it is the first of its stream
	serial  uint32
	granule uint64
	lacing  []byte
	body    []byte
}

func readPage(r *bufio.Reader) (p oggPage, ok bool) {
	var head [27]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || string(head[:4]) != "OggS" || head[4] != 0 {
		return p, false
	}
	p.begins = head[5]&2 != 0
	p.granule = binary.LittleEndian.Uint64(head[6:])
	p.serial = binary.LittleEndian.Uint32(head[14:])
	p.lacing = make([]byte, head[26])
	if _, err := io.ReadFull(r, p.lacing); err != nil {
		return p, false
	}
	n := 0
	for _, l := range p.lacing {
		n += int(l)
	}
	p.body = make([]byte, n) // at most 255 x 255
	_, err := io.ReadFull(r, p.body)
	return p, err == nil
}

// drawWaveform averages the packets' sizes over the bars and scales the largest bar
// to 100.
func drawWaveform(sizes []uint32) []byte {
	if len(sizes) == 0 {
		return nil
	}
	bars, most := make([]float64, waveformValues), 0.0
	for i := range bars {
		from := i * len(sizes) / waveformValues
		to := max(from+1, (i+1)*len(sizes)/waveformValues)
		for _, n := range sizes[from:to] {
			bars[i] += float64(n) / float64(to-from)
		}
		most = max(most, bars[i])
	}
	out := make([]byte, waveformValues)
	for i, v := range bars {
		if most > 0 {
			out[i] = byte(v / most * 100)
		}
	}
	return out
}
