package probe_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/probe"
	"github.com/longshore-bridge/longshore/media/probe/probetest"
)

// element is one of Matroska, with a length of one byte.
func element(id string, content ...string) string {
	all := strings.Join(content, "")
	return id + string([]byte{0x80 | byte(len(all))}) + all
}

func matroska(tracks ...string) string {
	return element("\x1A\x45\xDF\xA3", "head") + "\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff" + // of unknown length
		element("\xEC", "void") + element("\x16\x54\xAE\x6B", tracks...) + element("\x1F\x43\xB6\x75", "cluster")
}

func entry(kind, codec, private string) string {
	return element("\xAE", element("\xD7", "\x01"), element("\x83", kind), element("\x86", codec), element("\x63\xA2", private))
}

// The samples are the descriptions of films that ffmpeg made, without their content.
func TestTracksAreThoseOfTheFileAndNotOfItsContainer(t *testing.T) {
	sample := func(name string) string {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	ogg := func(packets ...string) (all string) {
		for _, p := range packets {
			page := probetest.OggPage(0, []byte(p))
			page[5] |= 2
			all += string(page)
		}
		return all
	}
	for name, tt := range map[string]struct {
		file string
		want media.Tracks
	}{
		"hevc":             {sample("a-hevc.mp4"), media.Tracks{Video: "hevc", Audio: "aac"}},
		"4:4:4":            {sample("a-yuv444.mp4"), media.Tracks{Video: "h264 4:4:4", Audio: "aac"}},
		"sound alone":      {sample("audio-only.mp4"), media.Tracks{Audio: "aac"}},
		"cut":              {sample("a-hevc.mp4")[:300], media.Tracks{}},
		"webm":             {matroska(entry("\x02", "A_OPUS", ""), entry("\x01", "V_VP9", "")), media.Tracks{Video: "vp9", Audio: "opus"}},
		"mkv of 10 bits":   {matroska(entry("\x01", "V_MPEG4/ISO/AVC", "\x01\x6e\x00\x1f"), entry("\x11", "S_TEXT/UTF8", "")), media.Tracks{Video: "h264 10-bit"}},
		"mkv of something": {matroska(entry("\x01", "V_\x1b[31mNEW", "")), media.Tracks{Video: `v_\x1b[31mnew`}},
		"vorbis":           {ogg("\x01vorbis"), media.Tracks{Audio: "vorbis"}},
		"theora":           {ogg("fishead\x00", "\x80theora", "\x01vorbis"), media.Tracks{Video: "theora", Audio: "vorbis"}},
		"no film":          {"%PDF-1.7 and more", media.Tracks{}},
		"short":            {"OggS", media.Tracks{}},
	} {
		if got := probe.Tracks(strings.NewReader(tt.file), int64(len(tt.file))); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

func FuzzTracks(f *testing.F) {
	for _, name := range []string{"a-hevc.mp4", "a-yuv444.mp4", "audio-only.mp4"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(matroska(entry("\x01", "V_MPEG4/ISO/AVC", "\x01\x6e"), entry("\x02", "A_AAC", ""))))
	f.Add(probetest.Opus(3))
	f.Add([]byte(strings.Repeat("\x1A\x45\xDF\xA3\x80", 3000)))
	f.Add([]byte("\x1A\x45\xDF\xA3\x80" + strings.Repeat("\x18\x53\x80\x67\xff", 3000)))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &counting{Reader: bytes.NewReader(b)}
		for _, codec := range []string{probe.Tracks(r, int64(len(b))).Video, probe.Tracks(r, int64(len(b))).Audio} {
			if codec != media.Printable(codec) || len(codec) > 64 {
				t.Errorf("a codec %q", codec)
			}
		}
		if most := 2 * (14*len(b) + 256<<10); r.read > most {
			t.Errorf("%d bytes are read of %d", r.read, len(b))
		}
	})
}

// counting counts what is read.
type counting struct {
	*bytes.Reader
	read int
}

func (c *counting) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.Reader.ReadAt(p, off)
	c.read += n
	return n, err
}
