package assistant

import (
	"io"
	"mime"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/internal/safefs"
)

// What of members' text files stands in a prompt, in bytes.
const (
	contentOne = 16 << 10 // of one file; a longer one is only named
	contentAll = 48 << 10 // of all files of one prompt or follow-up
)

// textNames are the endings of text files whose type platforms do not know.
var textNames = []string{".txt", ".md", ".csv", ".tsv", ".json", ".yaml", ".yml", ".toml", ".ini", ".log", ".xml", ".html", ".css", ".js", ".ts", ".py", ".go", ".rs", ".c", ".h", ".java", ".sh", ".sql", ".srt", ".ics"}

// readContents reads the small text files of records that are about to be handed over,
// so that they stand in the prompt. What cannot be read is named there as any other file.
func (m *Manager) readContents(c *chat, records []*record) {
	if m.configured(c).TextFiles == groups.TextFilesPath {
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
				r.Files[i].content = text
				m.mu.Unlock()
			}
		}
	}
}

// isText says whether a file claims to hold text.
func isText(f file) bool {
	kind, _, _ := mime.ParseMediaType(f.MIME)
	return strings.HasPrefix(kind, "text/") || kind == "application/json" || slices.Contains(textNames, strings.ToLower(path.Ext(f.Name)))
}

// smallText reads a text file of the inbox; empty if it is none. The workspace is the
// agent's: no link is followed, and nothing is waited for.
func smallText(workspace, name string) string {
	home, err := openDir(workspace)
	if err != nil {
		return ""
	}
	defer home.Close()
	inbox, err := safefs.OpenDir(home, inboxDir)
	if err != nil {
		return ""
	}
	defer inbox.Close()
	f, err := inbox.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	b, err := io.ReadAll(io.LimitReader(f, contentOne+1))
	if err != nil || len(b) > contentOne || !utf8.Valid(b) || slices.Contains(b, 0) {
		return ""
	}
	return string(b)
}
