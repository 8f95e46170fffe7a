package turns

import (
	"io"
	"mime"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/inbound"
)

// The limits for members' text files in a prompt, in bytes.
const (
	contentOne = 16 << 10 // of one file; a longer one is only named
	contentAll = 48 << 10 // of all files of one prompt or follow-up
)

// textNames are the extensions of text files whose type platforms do not know.
var textNames = []string{".txt", ".md", ".csv", ".tsv", ".json", ".yaml", ".yml", ".toml", ".ini", ".log", ".xml", ".html", ".css", ".js", ".ts", ".py", ".go", ".rs", ".c", ".h", ".java", ".sh", ".sql", ".srt", ".ics"}

// readContents reads the small text files of records that are about to be handed over, so
// that their text is part of the prompt. Files that cannot be read are only named, like
// other files.
func (m *Manager) readContents(c *chat, records []*record) {
	if c.configured().TextFiles == groups.TextFilesPath {
		return
	}
	room := contentAll
	for _, r := range records {
		for i, f := range r.Files {
			if f.Path == "" || f.Size > contentOne || f.Size > int64(room) || !isText(f) {
				continue
			}
			text := smallText(m.o.Layout.Workspace(c.group.Folder), path.Base(f.Path))
			if room -= len(text); text != "" {
				m.mu.Lock()
				r.Files = slices.Clone(r.Files) // others may be reading them
				r.Files[i].Content = text
				m.mu.Unlock()
			}
		}
	}
}

// isText reports whether a file claims to be text.
func isText(f inbound.File) bool {
	kind, _, _ := mime.ParseMediaType(f.MIME)
	return strings.HasPrefix(kind, "text/") || kind == "application/json" || slices.Contains(textNames, strings.ToLower(path.Ext(f.Name)))
}

// smallText reads a text file from the inbox; it returns "" if the file is not text. The
// workspace belongs to the agent, so smallText follows no link and waits for nothing.
func smallText(workspace, name string) string {
	f, err := inbound.OpenFile(workspace, name, contentOne)
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, contentOne+1))
	if err != nil || len(b) > contentOne || !utf8.Valid(b) || slices.Contains(b, 0) {
		return ""
	}
	return string(b)
}
