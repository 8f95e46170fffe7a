// Package convert makes files that a chat would refuse, or show badly, into
// files that it shows, with the machine's ffmpeg. The files are untrusted: package
// confine runs ffmpeg without rights and within limits.
package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/internal/confine"
)

const (
	// Time is how long one conversion may take.
	Time = 60 * time.Second

	// atOnce is how many conversions run at once, and queued how many may wait
	// for those.
	atOnce, queued = 2, 1
)

// ErrBusy is the error of a conversion for which there is no place now.
var ErrBusy = errors.New("the host converts other files")

// Temp creates an unnamed file for the given number of bytes. The caller closes the
// file and then calls release.
type Temp func(bytes int64) (f *os.File, release func(), err error)

// Converter runs conversions. Its methods may be called concurrently.
type Converter struct {
	mode    confine.Mode
	temp    Temp
	time    time.Duration // for one conversion
	running chan struct{}
	waiting chan struct{}
}

// New returns a Converter. mode says how it runs ffmpeg; with confine.Off it
// converts nothing.
func New(mode confine.Mode, temp Temp) *Converter {
	return &Converter{mode: mode, temp: temp, time: Time, running: make(chan struct{}, atOnce), waiting: make(chan struct{}, atOnce+queued)}
}

// File is the result of a conversion, from its beginning. The caller closes it.
type File struct {
	*os.File
	release func()
}

// Close gives the file's room back.
func (f *File) Close() error {
	err := f.File.Close()
	f.release()
	return err
}

// Run makes a file of src by a recipe, at most most bytes. The error wraps
// confine.ErrOff if no programs may run, and exec.ErrNotFound if there is no ffmpeg.
func (c *Converter) Run(ctx context.Context, src *os.File, r Recipe, most int64) (*File, error) {
	if c.mode != confine.Confined && c.mode != confine.Unconfined {
		return nil, confine.ErrOff
	}
	leave, err := c.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	to, release, err := c.temp(most)
	if err != nil {
		return nil, fmt.Errorf("make room for a conversion: %w", err)
	}
	out := &File{to, release}
	var input []string
	if r.heic {
		tiles, done, err := c.tiles(src, &r)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("convert: %w", err), out.Close())
		}
		defer done()
		src, input = tiles, []string{"-f", "hevc"}
	}
	if err := c.ffmpeg(ctx, src, out, input, r, most); err != nil {
		_ = out.Close()
		return nil, fmt.Errorf("convert: %w", err)
	}
	return out, nil
}

// tiles makes a stream of a HEIC's tiles, and has the recipe put them together.
func (c *Converter) tiles(src *os.File, r *Recipe) (tiles *os.File, done func(), err error) {
	info, err := src.Stat()
	if err != nil {
		return nil, nil, err
	}
	h, err := readHEIC(src, info.Size())
	if err != nil {
		return nil, nil, err
	}
	room := info.Size() + heicMeta
	tiles, release, err := c.temp(room)
	if err != nil {
		return nil, nil, fmt.Errorf("make room for a conversion: %w", err)
	}
	done = func() { _ = tiles.Close(); release() }
	if err = h.stream(tiles, src, room); err == nil {
		_, err = tiles.Seek(0, io.SeekStart)
	}
	if err != nil {
		done()
		return nil, nil, err
	}
	r.output = jpeg(h.filter())
	return tiles, done, nil
}

// enter waits for a place among those that run, for at most the time of a conversion.
func (c *Converter) enter(ctx context.Context) (leave func(), err error) {
	select {
	case c.waiting <- struct{}{}:
	default:
		return nil, ErrBusy
	}
	select {
	case c.running <- struct{}{}:
		return func() { <-c.running; <-c.waiting }, nil
	case <-time.After(c.time):
		err = ErrBusy
	case <-ctx.Done():
		err = ctx.Err()
	}
	<-c.waiting
	return nil, err
}

func (c *Converter) ffmpeg(ctx context.Context, src *os.File, out *File, input []string, r Recipe, most int64) error {
	args := slices.Concat([]string{"-v", "error", "-nostdin", "-threads", "2", "-protocol_whitelist", "file,pipe,fd"}, input,
		[]string{"-i", "/dev/stdin", "-map_metadata", "-1", "-threads", "2"}, r.output, []string{"-y", "-truncate", "0", "/dev/stdout"})
	copied := func() {} // gives back the room of the copy that a host running as root makes
	runner := confine.Runner{Mode: c.mode, Temp: func(bytes int64) (f *os.File, err error) {
		f, release, err := c.temp(bytes)
		if err == nil {
			copied = release
		}
		return f, err
	}}
	_, err := runner.Run(ctx, confine.Command{
		Program: "ffmpeg", Args: args, Input: src, Result: out.File, Output: int(most), Time: c.time,
		Limits: confine.Limits{CPU: int(2 * Time / time.Second), Memory: 3 << 30},
	})
	copied()
	if err != nil {
		return err
	}
	if fi, err := out.Stat(); err != nil || fi.Size() == 0 || fi.Size() > most {
		return errors.Join(err, errors.New("ffmpeg made no file"))
	}
	_, err = out.Seek(0, io.SeekStart)
	return err
}
