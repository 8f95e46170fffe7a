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

// Facts is what a chat's app can show of a file before a member opens it. Unknown
// values are zero.
type Facts struct {
	Width, Height uint32 // pixels, as shown
	Seconds       uint32 // duration of sound or film; at least 1 if known
	Pages         uint32
	Animated      bool
	Opus          bool   // Ogg Opus
	Waveform      []byte // 64 values from 0 to 100
	Thumbnail     []byte // a JPEG of at most 100 by 100 pixels
}

// Temp creates an unnamed file for the given number of bytes. The caller closes the
// file and then calls release.
type Temp func(bytes int64) (f *os.File, release func(), err error)

// Prober reads Facts. Its methods may be called concurrently.
type Prober struct {
	tools    tools
	decoding sync.Mutex // one picture at a time
}

// New returns a Prober. mode says how it runs the machine's programs that make
// thumbnails and find durations; with the empty mode it runs none.
func New(mode confine.Mode, temp Temp) *Prober { return &Prober{tools: tools{mode: mode, temp: temp}} }

// readTime limits all reading of one file, tools included.
const readTime = 15 * time.Second

// Read reads the facts of a file with the given kind and media type, in at most 15
// s. It returns no error: what it cannot read stays zero. Tools read src only if src
// is an *os.File.
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

// maxHeader is how much of a picture is read to find its size, in bytes. The size of
// a JPEG may come after kilobytes of camera data.
const maxHeader = 1 << 20

// Dimensions returns the size in pixels of a JPEG, PNG, GIF or WebP as stored,
// without decoding it; 0 if unknown.
func Dimensions(r io.Reader) (width, height int) {
	c, _, err := image.DecodeConfig(io.LimitReader(r, maxHeader))
	if err != nil {
		return 0, 0
	}
	return c.Width, c.Height
}

// seekReader fails once its context has ended.
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

// roundSeconds rounds, but never down to 0 for a sound that is not empty.
func roundSeconds(d float64) uint32 {
	if !(d > 0 && d <= math.MaxInt32) { // false for NaN too
		return 0
	}
	return max(1, uint32(math.Round(d)))
}
