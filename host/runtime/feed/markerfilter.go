package feed

import (
	"bytes"
	"io"
	"strings"
)

// LogTo returns the writer for the far program's stderr. It passes the assistant's log on to
// to, without the lines that are the far program's own: "taken" and the name of a follow-up
// that the assistant has read, and "ended" after the last of them.
func (f *Feeder) LogTo(to io.Writer) io.Writer {
	return &markerFilter{mark: []byte(f.Mark + " "), feeder: f, to: to}
}

// markerFilter removes the far program's own lines from the assistant's log, and gives them
// to the feeder.
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
		if said, ok := bytes.CutPrefix(a.line, a.mark); ok && whole {
			a.feeder.hear(string(bytes.TrimSpace(said)))
		} else {
			_, _ = a.to.Write(a.line)
		}
		a.line = a.line[:0]
	}
	return n, nil
}

// hear acts on a line of the far program's own.
func (f *Feeder) hear(said string) {
	var err error
	if name, ok := strings.CutPrefix(said, "taken "); ok {
		err = f.taken(name)
	} else if said == "ended" {
		err = f.ended()
	}
	if err != nil {
		f.Log.Warn("what the assistant has read is not noted", "error", err)
	}
}
