package probe

import (
	"bytes"
	"context"
	"io"
	"os"
	"regexp"
	"strconv"
	"time"

	"github.com/longshore-bridge/longshore/internal/confine"
)

// tools runs programs of the machine that make thumbnails and find durations. None
// is required. They read untrusted files: package confine runs them without rights,
// for at most five seconds, and accepts at most 64 KiB of output.
type tools struct {
	mode confine.Mode
	temp Temp
	time time.Duration // for one program; 0: as confine has it
}

var pdfinfoPages = regexp.MustCompile(`(?m)^Pages:\s+([0-9]+)`)

// frame returns a video's first picture as a small JPEG, or nil.
func (t tools) frame(ctx context.Context, src io.ReadSeeker) []byte {
	return checkedThumbnail(t.run(ctx, src, "ffmpeg", "-v", "error", "-nostdin", "-threads", "1", "-protocol_whitelist", "file,pipe,fd",
		"-f", "mov", "-i", "/dev/stdin", "-an", "-sn", "-frames:v", "1", "-vf", "scale=100:100:force_original_aspect_ratio=decrease",
		"-f", "mjpeg", "-q:v", "8", "pipe:1"))
}

// seconds returns the duration of an audio file, or 0.
func (t tools) seconds(ctx context.Context, src io.ReadSeeker) uint32 {
	return secondsIn(t.run(ctx, src, "ffprobe", "-v", "error", "-protocol_whitelist", "file,pipe,fd",
		"-show_entries", "format=duration", "-of", "default=nw=1:nk=1", "/dev/stdin"))
}

// secondsIn reads ffprobe's output.
func secondsIn(out []byte) uint32 {
	d, err := strconv.ParseFloat(string(bytes.TrimSpace(out)), 64)
	if err != nil {
		return 0
	}
	return roundSeconds(d)
}

// pages returns a PDF's number of pages, or 0.
func (t tools) pages(ctx context.Context, src io.ReadSeeker) uint32 {
	return pagesIn(t.run(ctx, src, "pdfinfo", "/dev/stdin"))
}

// pagesIn reads pdfinfo's output.
func pagesIn(out []byte) uint32 {
	m := pdfinfoPages.FindSubmatch(out)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseUint(string(m[1]), 10, 32)
	if err != nil || n > maxPages {
		return 0
	}
	return uint32(n)
}

// firstPage returns a PDF's first page as a small JPEG, or nil.
func (t tools) firstPage(ctx context.Context, src io.ReadSeeker) []byte {
	return checkedThumbnail(t.run(ctx, src, "pdftoppm", "-q", "-f", "1", "-l", "1", "-singlefile", "-scale-to", strconv.Itoa(thumbnailEdge*2),
		"-jpeg", "-jpegopt", "quality=60", "/dev/stdin"))
}

// run runs a tool on the file and returns its output, or nil if anything fails.
// Tools need a real file, as they seek in it.
func (t tools) run(ctx context.Context, src io.ReadSeeker, name string, args ...string) []byte {
	file, ok := src.(*os.File)
	if !ok {
		return nil
	}
	release := func() {}
	runner := confine.Runner{Mode: t.mode, Temp: func(bytes int64) (f *os.File, err error) {
		f, done, err := t.temp(bytes)
		if err == nil {
			release = done
		}
		return f, err
	}}
	out, err := runner.Run(ctx, confine.Command{Program: name, Args: args, Input: file, Time: t.time})
	release()
	if err != nil {
		return nil
	}
	return out
}
