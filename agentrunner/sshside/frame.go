// Package sshside is the assistant's end of runtime: ssh: agentrunner runs an assistant for a
// host on another machine. The host starts it over ssh; its stdin and stdout are the whole
// connection, beside a forwarded socket for the tools.
//
// On stdin come frames: a line of JSON, and as many bytes as it says. On stdout go the
// outputs of the agent protocol, unchanged; on stderr the assistant's log, and between its
// lines the names of the follow-ups that the assistant has read; the last line says that it has
// ended, and has read no other. When stdin ends, the connection is lost or the host has gone,
// and the assistant is ended.
//
// The account on this machine is the assistant's: what separates it from others there is
// the operating system, not this package.
package sshside

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// The kinds of frames.
const (
	KindBegin    = "begin"    // the first: whose assistant it is
	KindFile     = "file"     // puts a file of a member into the workspace
	KindDocument = "document" // starts the assistant; the bytes are the start document
	KindInput    = "input"    // hands over a follow-up
	KindStop     = "stop"     // ends the assistant
)

// Frame is one frame. Size bytes follow its line.
type Frame struct {
	Kind  string `json:"kind"`
	Name  string `json:"name,omitempty"` // of a file: relative to the workspace; of a follow-up: as in its directory
	Size  int64  `json:"size,omitempty"`
	Begin *Begin `json:"begin,omitempty"`
}

// Begin says what to start.
type Begin struct {
	Folder string            `json:"folder"`        // of the group
	Slot   string            `json:"slot"`          // of the group and its host, in lower-case hex
	Run    string            `json:"run,omitempty"` // directory of what is the sessions' own; empty: below the home directory
	Agent  string            `json:"agent"`
	Env    map[string]string `json:"env"`
	Socket string            `json:"socket"`          // to the host's remote server
	Token  string            `json:"token"`           // for it
	Model  string            `json:"model,omitempty"` // socket to the host's models; empty: the assistant reaches its model by itself
	Mark   string            `json:"mark"`            // begins the lines on stderr that are this package's
}

// The bounds of frames, in bytes.
const (
	maxLine     = 1 << 20
	maxDocument = 64 << 20
	maxInput    = 16 << 20
	maxFile     = 4 << 30
)

// Write writes a frame and exactly its bytes. An error may leave a part of it written:
// nothing more can be written then.
func Write(w io.Writer, f Frame, content io.Reader) error {
	line, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("encode frame: %w", err)
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	if f.Size == 0 {
		return nil
	}
	if _, err := io.CopyN(w, content, f.Size); err != nil {
		return fmt.Errorf("write frame: %w", err)
	}
	return nil
}

// read reads a frame's line. The caller reads its bytes. io.EOF means that the host ends
// the connection.
func read(r *bufio.Reader) (f Frame, err error) {
	var line []byte
	for more := true; more; {
		var piece []byte
		piece, err = r.ReadSlice('\n')
		if more = errors.Is(err, bufio.ErrBufferFull); err != nil && !more {
			return f, err
		}
		if line = append(line, piece...); len(line) > maxLine {
			return f, errors.New("read frame: its line is too long")
		}
	}
	if err := json.Unmarshal(line, &f); err != nil {
		return f, fmt.Errorf("read frame: %w", err)
	}
	return f, f.check()
}

func (f Frame) check() error {
	most := map[string]int64{KindBegin: 0, KindDocument: maxDocument, KindFile: maxFile, KindInput: maxInput, KindStop: 0}
	limit, known := most[f.Kind]
	switch {
	case !known:
		return fmt.Errorf("read frame: unknown kind %.40q", f.Kind)
	case f.Size < 0 || f.Size > limit:
		return fmt.Errorf("read frame: %s of %d bytes", f.Kind, f.Size)
	case f.Kind == KindFile && !filepath.IsLocal(f.Name):
		return fmt.Errorf("read frame: %.200q is no path in the workspace", f.Name)
	case f.Kind == KindInput && (f.Name != filepath.Base(f.Name) || strings.HasPrefix(f.Name, ".")):
		return fmt.Errorf("read frame: %.200q is no name of a follow-up", f.Name)
	case f.Kind == KindBegin && f.Begin == nil:
		return errors.New("read frame: it begins nothing")
	}
	return nil
}
