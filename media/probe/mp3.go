package probe

import (
	"bytes"
	"encoding/binary"
	"io"
)

// The tables of an MPEG audio frame's header, layer III (ISO/IEC 11172-3 and
// 13818-3), in kbit/s and Hz.
var (
	mp3Rates1 = [16]int{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}
	mp3Rates2 = [16]int{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160}
	mp3Clocks = [4]int{44100, 48000, 32000, 0}
)

// mp3Seconds computes the duration from an MP3's first frame: from the number of
// frames in a Xing or Info header, else from the first frame's bit rate, as if all
// frames had it.
func mp3Seconds(r io.ReadSeeker) uint32 {
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return 0
	}
	start := id3Size(r)
	if _, err := r.Seek(start, io.SeekStart); err != nil {
		return 0
	}
	b := make([]byte, 4096)
	n, _ := io.ReadFull(r, b)
	b = b[:n]
	for i := 0; i+4 <= len(b); i++ {
		if b[i] != 0xFF || b[i+1]&0xE6 != 0xE2 { // the sync word and layer III
			continue
		}
		version, rate, clock := b[i+1]>>3&3, b[i+2]>>4, mp3Clocks[b[i+2]>>2&3]
		kbit, samples := mp3Rates1[rate], 1152
		if version != 3 { // MPEG 2 and 2.5
			kbit, samples = mp3Rates2[rate], 576
			clock >>= map[byte]uint{2: 1, 0: 2}[version]
		}
		if version == 1 || kbit == 0 || clock == 0 {
			continue
		}
		if frames := xingFrames(b[i:]); frames > 0 {
			return roundSeconds(float64(frames) * float64(samples) / float64(clock))
		}
		return roundSeconds(float64(size-start-int64(i)) / float64(kbit*1000/8))
	}
	return 0
}

// id3Size returns the length of the ID3v2 tag at the start; 0 without a tag.
func id3Size(r io.ReadSeeker) int64 {
	var head [10]byte
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return 0
	}
	if _, err := io.ReadFull(r, head[:]); err != nil || string(head[:3]) != "ID3" {
		return 0
	}
	n := int64(0)
	for _, b := range head[6:] {
		n = n<<7 | int64(b&0x7F)
	}
	return n + 10
}

// xingFrames returns the number of frames from a Xing header in the first frame; 0
// without a header.
func xingFrames(frame []byte) uint32 {
	frame = frame[:min(len(frame), 200)]
	i := max(bytes.Index(frame, []byte("Xing")), bytes.Index(frame, []byte("Info")))
	if i < 0 || len(frame) < i+12 || frame[i+7]&1 == 0 {
		return 0
	}
	return binary.BigEndian.Uint32(frame[i+8:])
}
