package probe

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/media"
)

// Tracks reads the codecs of an MP4, QuickTime, 3GP, Matroska, WebM or Ogg file by the file's
// description, and decodes nothing. Of other files, and of what it cannot read, it knows none.
func Tracks(r io.ReaderAt, size int64) media.Tracks {
	var head [12]byte
	if n, _ := r.ReadAt(head[:], 0); n < len(head) {
		return media.Tracks{}
	}
	section := io.NewSectionReader(r, 0, size)
	switch {
	case slices.Contains([]string{"ftyp", "moov", "mdat", "wide", "free", "skip"}, string(head[4:8])):
		return readMP4(section).tracks
	case string(head[:4]) == "\x1A\x45\xDF\xA3":
		return readMatroska(r, size)
	case string(head[:4]) == "OggS":
		return readOggTracks(section)
	}
	return media.Tracks{}
}

// add notes a track, if it is the first of its kind.
func add(t *media.Tracks, video bool, codec string) {
	at := &t.Audio
	if video {
		at = &t.Video
	}
	if *at == "" {
		*at = codec
	}
}

// maxStreams is how many streams of an Ogg file are looked at.
const maxStreams = 16

// readOggTracks reads the first pages of all streams, which come before all others (RFC 3533,
// section 4). The signatures are those of https://wiki.xiph.org/index.php/MIMETypesCodecs.
func readOggTracks(r io.Reader) (t media.Tracks) {
	in := bufio.NewReader(r)
	for range maxStreams {
		page, ok := readPage(in)
		if !ok || !page.begins {
			break
		}
		for _, s := range []struct {
			sign, codec string
			video       bool
		}{
			{"OpusHead", "opus", false}, {"\x01vorbis", "vorbis", false}, {"\x7fFLAC", "flac", false}, {"Speex ", "speex", false},
			{"\x80theora", "theora", true}, {"OVP80", "vp8", true}, {"BBCD", "dirac", true},
		} {
			if bytes.HasPrefix(page.body, []byte(s.sign)) {
				add(&t, s.video, s.codec)
			}
		}
	}
	return t
}

// sampleEntry reads the codec of a track: the first entry of its stsd box, and in it the
// codec's own configuration. The entry is searched for that, since QuickTime hides it deeper.
func (m *mp4Reader) sampleEntry(start, end int64) {
	b := m.read(start, int(min(maxEntry, end-start)))
	if len(b) < 16 || m.shows != "vide" && m.shows != "soun" {
		return
	}
	name, entry := string(b[12:16]), b[16:]
	codec := named(mp4Codecs, name)
	switch name {
	case "avc1", "avc3":
		codec = h264(after(entry, "avcC"))
	case "mp4v", "mp4a":
		codec = named(mpeg4Objects, fmt.Sprintf("%s %02x", name, objectType(after(entry, "esds"))))
	}
	add(&m.facts.tracks, m.shows == "vide", codec)
}

// after is what comes after a box's name.
func after(b []byte, name string) []byte {
	_, rest, _ := bytes.Cut(b, []byte(name))
	return rest
}

// h264 names H.264 by the profile in its configuration (ISO/IEC 14496-15, section 5.3.3.1).
// Phones and browsers decode Baseline, Main and High alone, which are of 8 bits and 4:2:0.
func h264(config []byte) string {
	if len(config) < 2 {
		return "h264"
	}
	switch profile := config[1]; profile {
	case 66, 77, 100:
		return "h264"
	case 110:
		return "h264 10-bit"
	case 122:
		return "h264 4:2:2"
	case 44, 144, 244:
		return "h264 4:4:4"
	default:
		return fmt.Sprintf("h264 profile %d", profile)
	}
}

// objectType reads what an esds box holds (ISO/IEC 14496-1, section 7.2.6); 0 if it does not say.
func objectType(b []byte) byte {
	skip := func(tag byte, fields int) bool {
		if len(b) < 2 || b[0] != tag {
			return false
		}
		for b = b[1:]; len(b) > 0 && b[0]&0x80 != 0; { // the length
			b = b[1:]
		}
		b = b[min(len(b), 1+fields):]
		return len(b) > 0
	}
	b = b[min(len(b), 4):] // version and flags
	if !skip(3, 3) || !skip(4, 0) {
		return 0
	}
	return b[0]
}

// named is a codec's usual name, by its own or the beginning of that; its own, if the table
// does not have it.
func named(table map[string]string, own string) string {
	if name := table[own]; name != "" {
		return name
	}
	for prefix, name := range table {
		if strings.HasPrefix(own, prefix) {
			return name
		}
	}
	return media.Cut(media.Printable(strings.ToLower(strings.TrimSpace(own))), 32)
}

// mp4Codecs are codes of https://mp4ra.org/registered-types/sampleentries, and of QuickTime.
var mp4Codecs = map[string]string{
	"hvc1": "hevc", "hev1": "hevc", "vp08": "vp8", "vp09": "vp9", "av01": "av1", "s263": "h263", "ap": "prores", "theo": "theora", "jpeg": "mjpeg", "mjp": "mjpeg", "png": "png",
	"Opus": "opus", "fLaC": "flac", "alac": "alac", "ac-3": "ac3", "ec-3": "eac3", ".mp3": "mp3", "samr": "amr_nb", "sawb": "amr_wb",
	"msVo": "vorbis", ".mp2": "mp2", "sowt": "pcm", "twos": "pcm", "lpcm": "pcm", "ipcm": "pcm", "fpcm": "pcm", "in24": "pcm", "in32": "pcm", "raw": "pcm",
}

// mpeg4Objects are object types of https://mp4ra.org/registered-types/object-types.
var mpeg4Objects = map[string]string{
	"mp4v 20": "mpeg4", "mp4v 6a": "mpeg1video", "mp4v 6c": "mjpeg", "mp4v 6d": "png", "mp4v 6": "mpeg2video",
	"mp4a 40": "aac", "mp4a 00": "aac", "mp4a 66": "aac", "mp4a 67": "aac", "mp4a 68": "aac", "mp4a 69": "mp3", "mp4a 6b": "mp3", "mp4a a5": "ac3", "mp4a a6": "eac3", "mp4a dd": "vorbis",
}
