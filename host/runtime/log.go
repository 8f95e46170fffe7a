package runtime

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// The limits of a log: two files of maxLog bytes, and logRate bytes a second.
const (
	maxLog  = 1 << 20
	logRate = 64 << 10
)

// Log stores what an assistant writes to stderr:
//
//	<dir>/assistant.log     the newest
//	<dir>/assistant.log.1   the one before, replaced when the newest is full
//
// It never blocks its writer and never fails. Output above 64 KiB a second, or
// that cannot be written, is discarded and its amount noted. Control and
// bidirectional characters are escaped, so that the file is safe on a terminal.
// A line that begins with a bracket is the host's own; in the assistant's
// lines, a space comes before the bracket.
type Log struct {
	mu      sync.Mutex
	path    string
	file    *os.File
	size    int64
	second  time.Time // the second that used refers to
	used    int
	dropped int
	partial []byte // start of a character that the next write completes
	midline bool   // the last write did not end its line
}

// OpenLog opens the log in dir, readable only for the host's user, and creates
// dir. The caller closes the log.
func OpenLog(dir string) (*Log, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make log directory: %w", err)
	}
	l := &Log{path: filepath.Join(dir, "assistant.log")}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return l, nil
}

func (l *Log) open() error {
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	l.file, l.size = f, info.Size()
	if last := []byte{0}; l.size > 0 { // written by a host that was killed
		_, err := f.ReadAt(last, l.size-1)
		l.midline = err != nil || last[0] != '\n'
	}
	return nil
}

// Write stores as much as the limits allow. It always reports all bytes as
// written.
func (l *Log) Write(piece []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(piece)
	if now := time.Now(); now.Sub(l.second) >= time.Second {
		l.second, l.used = now, 0
	}
	if l.used+n > logRate {
		keep := max(logRate-l.used, 0)
		l.dropped += n - keep
		piece = piece[:keep]
	}
	l.used += len(piece)
	if len(piece) > 0 {
		if l.used < logRate {
			l.noteDropped()
		}
		l.write(l.printable(piece))
	}
	return n, nil
}

// Note writes a line of the host's own, which does not count for the rate.
func (l *Log) Note(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noteDropped()
	stamp := time.Now().UTC().Format(time.RFC3339)
	l.note("[host %s] %s\n", stamp, fmt.Sprintf(format, args...))
}

// Close closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noteDropped()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}

func (l *Log) noteDropped() {
	if l.dropped > 0 {
		dropped := l.dropped
		l.dropped = 0
		l.note("[host] %d bytes came too fast and were dropped\n", dropped)
	}
}

// note writes a line of the host's own, on a new line.
func (l *Log) note(format string, args ...any) {
	text := fmt.Appendf(nil, format, args...)
	if l.midline {
		text = append([]byte{'\n'}, text...)
	}
	l.write(text)
}

func (l *Log) write(text []byte) {
	if l.file == nil {
		return
	}
	if l.size+int64(len(text)) > maxLog {
		l.file.Close()
		l.file = nil
		// If the rename fails, the old file is removed, so that the limit
		// holds.
		if os.Rename(l.path, l.path+".1") != nil {
			os.Remove(l.path)
		}
		if l.open() != nil {
			return
		}
		if l.midline { // the continued line could otherwise look like the host's
			text = append([]byte("… "), text...)
		}
	}
	n, err := l.file.Write(text)
	l.size += int64(n)
	if n > 0 {
		l.midline = text[n-1] != '\n'
	}
	if err != nil {
		l.dropped += len(text) - n
	}
}

// printable escapes characters that would control a terminal.
func (l *Log) printable(piece []byte) []byte {
	piece = append(l.partial, piece...)
	out := make([]byte, 0, len(piece)+16)
	for len(piece) > 0 {
		if !utf8.FullRune(piece) {
			break
		}
		r, size := utf8.DecodeRune(piece)
		if r == '[' && l.begins(out) {
			out = append(out, ' ')
		}
		switch {
		case r == '\n' || r == '\t' || (unicode.IsPrint(r) && r != utf8.RuneError):
			out = append(out, piece[:size]...)
		case r == utf8.RuneError && size == 1:
			out = fmt.Appendf(out, `\x%02x`, piece[0])
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			out = append(out, quoted[1:len(quoted)-1]...)
		}
		piece = piece[size:]
	}
	l.partial = append([]byte(nil), piece...)
	return out
}

// begins reports whether the text after out begins a line of the file.
func (l *Log) begins(out []byte) bool {
	if len(out) == 0 {
		return !l.midline
	}
	return out[len(out)-1] == '\n'
}

var _ io.WriteCloser = (*Log)(nil)
