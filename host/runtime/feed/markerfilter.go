package feed

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// LogTo returns the writer for the far program's stderr. It passes the assistant's log on to
// to, without the lines that name follow-ups which the assistant has read.
func (f *Feeder) LogTo(to io.Writer) io.Writer {
	return &markerFilter{mark: []byte(f.Mark + " taken "), feeder: f, to: to}
}

// markerFilter removes the far program's own lines from the assistant's log, and gives the
// names in them to the feeder.
type markerFilter struct {
	mark   []byte // begins such a line
	feeder *Feeder
	to     io.Writer
	line   []byte
}

const longestMarker = 1 << 10

// Write implements io.Writer. It never fails.
func (a *markerFilter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n') + 1
		if i == 0 {
			i = len(p)
		}
		a.line, p = append(a.line, p[:i]...), p[i:]
		whole := a.line[len(a.line)-1] == '\n'
		if !whole && len(a.line) < longestMarker && (bytes.HasPrefix(a.line, a.mark) || bytes.HasPrefix(a.mark, a.line)) {
			continue // it may be one
		}
		if name, ok := bytes.CutPrefix(a.line, a.mark); ok && whole {
			a.feeder.taken(string(bytes.TrimSpace(name)))
		} else {
			_, _ = a.to.Write(a.line)
		}
		a.line = a.line[:0]
	}
	return n, nil
}

// taken notes that the assistant has read a follow-up, as an assistant that shares the
// directory does: it removes the file.
func (f *Feeder) taken(name string) {
	if name == "" || name != filepath.Base(name) {
		return
	}
	if err := os.Remove(filepath.Join(f.inputs(), name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		f.Log.Warn("a follow-up that was read is still there", "error", err)
	}
}
