package whatsapp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// toolTime is what one call of a tool may take, and maxToolOutput what it may
// say.
const (
	toolTime      = 5 * time.Second
	maxToolOutput = 64 << 10
)

// tools are programs of the machine that make thumbnails and know durations.
// None is needed. They read a file that an assistant made and are therefore
// told as little as possible: the bytes on standard input, no environment, no
// protocol but files, and five seconds.
type tools struct{ off bool }

var pdfinfoPages = regexp.MustCompile(`(?m)^Pages:\s+([0-9]+)`)

// frame is a video's first picture as a small JPEG, or nil.
func (t tools) frame(ctx context.Context, src io.ReadSeeker) []byte {
	return checkedThumbnail(t.run(ctx, src, "ffmpeg", "-v", "error", "-nostdin", "-protocol_whitelist", "file,pipe,fd",
		"-f", "mov", "-i", "/dev/stdin", "-an", "-sn", "-frames:v", "1", "-vf", "scale=100:100:force_original_aspect_ratio=decrease",
		"-f", "mjpeg", "-q:v", "8", "pipe:1"))
}

// seconds is the duration of an audio file, or 0.
func (t tools) seconds(ctx context.Context, src io.ReadSeeker) uint32 {
	out := t.run(ctx, src, "ffprobe", "-v", "error", "-protocol_whitelist", "file,pipe,fd",
		"-show_entries", "format=duration", "-of", "default=nw=1:nk=1", "/dev/stdin")
	d, err := strconv.ParseFloat(string(bytes.TrimSpace(out)), 64)
	if err != nil {
		return 0
	}
	return roundSeconds(d)
}

// pages is how many a PDF has, or 0.
func (t tools) pages(ctx context.Context, src io.ReadSeeker) uint32 {
	m := pdfinfoPages.FindSubmatch(t.run(ctx, src, "pdfinfo", "/dev/stdin"))
	if m == nil {
		return 0
	}
	n, err := strconv.ParseUint(string(m[1]), 10, 32)
	if err != nil || n > maxPages {
		return 0
	}
	return uint32(n)
}

// firstPage is a PDF's first page as a small JPEG, or nil.
func (t tools) firstPage(ctx context.Context, src io.ReadSeeker) []byte {
	return checkedThumbnail(t.run(ctx, src, "pdftoppm", "-q", "-f", "1", "-l", "1", "-singlefile", "-scale-to", strconv.Itoa(thumbnailEdge*2),
		"-jpeg", "-jpegopt", "quality=60", "/dev/stdin"))
}

// run gives a tool the file and returns what it writes, nil where anything is
// amiss. Only a file of the system can be read from its middle.
func (t tools) run(ctx context.Context, src io.ReadSeeker, name string, args ...string) []byte {
	file, ok := src.(*os.File)
	if t.off || !ok {
		return nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return nil
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, toolTime)
	defer cancel()
	out := &cappedBuffer{left: maxToolOutput, full: cancel}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdin, cmd.Stdout, cmd.Dir, cmd.Env = file, out, "/", []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	cmd.WaitDelay = time.Second
	if cmd.Run() != nil || out.over {
		return nil
	}
	return out.data
}

// cappedBuffer takes so much and no more. It embeds no bytes.Buffer, whose
// ReadFrom would know no bound.
type cappedBuffer struct {
	data []byte
	left int
	over bool
	full func() // called when there is more
}

func (b *cappedBuffer) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		b.over = true
		b.full()
		return 0, errors.New("too much output")
	}
	b.data = append(b.data, p...)
	return len(p), nil
}
