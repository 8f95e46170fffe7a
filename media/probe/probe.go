package probe

import (
	"context"
	"image"
	"io"
	"math"
	"os"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/media"
)

// Facts is what a chat's app can show of a file before a member opens it.
// What is not known is zero.
type Facts struct {
	Width, Height uint32 // pixels, as the picture or film is shown
	Seconds       uint32 // of sound or film, at least 1
	Pages         uint32
	Animated      bool
	Opus          bool   // Ogg Opus
	Waveform      []byte // 64 values from 0 to 100
	Thumbnail     []byte // a JPEG of at most 100 by 100 pixels
}

// Temp makes a file without a name for so many bytes. The caller closes the
// file and then calls release.
type Temp func(bytes int64) (f *os.File, release func(), err error)

// Prober reads facts. Its methods may be called from several goroutines.
type Prober struct {
	tools    tools
	decoding sync.Mutex // one picture at a time
}

// New makes a Prober. mode says how the programs of the machine run that make
// thumbnails and find durations; with the empty mode none runs.
func New(mode confine.Mode, temp Temp) *Prober { return &Prober{tools: tools{mode: mode, temp: temp}} }

// readTime bounds all reading for one file, tools included.
const readTime = 15 * time.Second

// Read reads what can be known of a file that is shown as a kind, by its media
// type, in at most 15 s. Nothing fails: what cannot be read is not known. Tools
// read src only if it is an *os.File.
func (p *Prober) Read(ctx context.Context, src io.ReadSeeker, kind media.Kind, mime string) Facts {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	r := &seekReader{ctx: ctx, r: src}
	switch kind {
	case media.Image:
		return p.image(r)
	case media.Sticker:
		w, h, animated := webpSize(r)
		return Facts{Width: w, Height: h, Animated: animated}
	case media.Video:
		v := readMP4(r)
		return Facts{Width: v.width, Height: v.height, Seconds: v.seconds, Thumbnail: p.tools.frame(ctx, src)}
	case media.Voice:
		v := readOpus(r)
		return Facts{Seconds: v.seconds, Waveform: v.waveform, Opus: v.opus}
	case media.Audio:
		return p.audio(ctx, mime, r, src)
	}
	switch mime {
	case "application/pdf":
		return p.pdf(ctx, r, src)
	case "image/jpeg", "image/png", "image/gif":
		return Facts{Thumbnail: p.image(r).Thumbnail}
	}
	return Facts{}
}

func (p *Prober) audio(ctx context.Context, mime string, r io.ReadSeeker, src io.ReadSeeker) (f Facts) {
	switch mime {
	case "audio/mp4":
		f.Seconds = readMP4(r).seconds
	case "audio/ogg":
		v := readOpus(r)
		f.Seconds, f.Opus = v.seconds, v.opus
	case "audio/mpeg":
		f.Seconds = mp3Seconds(r)
	}
	if f.Seconds == 0 {
		f.Seconds = p.tools.seconds(ctx, src)
	}
	return f
}

// maxHeader is how far into a picture its size is looked for, in bytes: the size
// of a JPEG may stand behind kilobytes of camera data.
const maxHeader = 1 << 20

// Dimensions reads how many pixels a JPEG, PNG, GIF or WebP has as it is
// stored, without decoding it; 0 if that cannot be told.
func Dimensions(r io.Reader) (width, height int) {
	c, _, err := image.DecodeConfig(io.LimitReader(r, maxHeader))
	if err != nil {
		return 0, 0
	}
	return c.Width, c.Height
}

// seekReader is a file for the small readers: it ends with its context.
type seekReader struct {
	ctx context.Context
	r   io.ReadSeeker
}

func (s *seekReader) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

func (s *seekReader) Seek(off int64, whence int) (int64, error) { return s.r.Seek(off, whence) }

// roundSeconds never calls something that can be heard 0 seconds long.
func roundSeconds(d float64) uint32 {
	if !(d > 0 && d <= math.MaxInt32) { // nor what is no number
		return 0
	}
	return max(1, uint32(math.Round(d)))
}
