package dropdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
)

// maxManifest is the size of the largest manifest, in bytes; it is larger than any
// caption that a channel accepts.
const maxManifest = 64 << 10

// manifest says how a file is to be sent. Unknown keys are ignored: other programs
// read the same directory.
type manifest struct {
	File        string `json:"file"`        // the file's own name, only to check it
	Action      string `json:"action"`      // send, send_file, or a form: document, voice, gif, sticker
	Message     string `json:"message"`     // caption of the file
	ContentType string `json:"contentType"` // for a file whose name and content do not show its type
}

// readManifest describes the file at path, by the manifest beside it if there is
// one.
func readManifest(path string) (sender.File, error) {
	file := sender.File{Path: path, Name: filepath.Base(path)}
	// A pipe in the manifest's place must not block the turn.
	in, err := os.OpenFile(path+manifestSuffix, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	if err != nil {
		return file, errors.New("the manifest cannot be read")
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, maxManifest+1))
	if err != nil {
		return file, errors.New("the manifest cannot be read")
	}
	if len(text) > maxManifest {
		return file, fmt.Errorf("the manifest is larger than %d bytes", maxManifest)
	}
	return file, apply(text, &file)
}

func apply(text []byte, file *sender.File) error {
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("the manifest is not a JSON object with string values: %w", err)
	}
	if m.File != "" && filepath.Base(m.File) != file.Name {
		return fmt.Errorf("the manifest names %q, but it is beside %q", m.File, file.Name)
	}
	switch m.Action {
	case "", "send", "send_file":
	case "document", "voice", "gif", "sticker":
		file.As = m.Action
	default:
		return fmt.Errorf("the manifest's action %q is unknown: use send, document, voice, gif or sticker", m.Action)
	}
	file.Caption, file.MIME = m.Message, m.ContentType
	return nil
}
