package assistant

import (
	"bufio"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// fetchedFile lists the members' files of a group that were fetched.
const fetchedFile = "arrived"

// maxFetched is how many files are remembered: the journals know as many messages.
// The list is cut to that when it has twice as many lines.
const maxFetched = 1000

// fetchedFiles maps members' files to their names in the inbox, so that a file is not fetched
// again when its message is quoted. It is only a cache: a file that is missing from it is
// fetched.
type fetchedFiles struct {
	file string

	mu    sync.Mutex
	lines []arrival // oldest first
	names map[string]string
}

// arrival is one line of the list.
type arrival struct {
	Ref  string `json:"ref"`  // the channel's
	Name string `json:"name"` // in the inbox
}

func openFetchedFiles(dir string) *fetchedFiles {
	a := &fetchedFiles{file: filepath.Join(dir, fetchedFile), names: map[string]string{}}
	f, err := os.Open(a.file)
	if err != nil {
		return a
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var one arrival
		if json.Unmarshal(lines.Bytes(), &one) == nil { // not of a line that a crash has torn
			a.add(one)
		}
	}
	return a
}

func (a *fetchedFiles) add(one arrival) {
	a.lines = append(a.lines, one)
	a.names[one.Ref] = one.Name
	if len(a.lines) <= 2*maxFetched {
		return
	}
	a.lines = slices.Clone(a.lines[len(a.lines)-maxFetched:])
	clear(a.names)
	for _, kept := range a.lines {
		a.names[kept.Ref] = kept.Name
	}
}

// name is the file's name in the inbox, or empty.
func (a *fetchedFiles) name(ref string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.names[ref]
}

// note remembers a file that was fetched.
func (a *fetchedFiles) note(ref, name string, log *slog.Logger) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := len(a.lines)
	a.add(arrival{ref, name})
	if err := a.save(len(a.lines) < before); err != nil {
		log.Warn("a member's file is fetched again if its message is answered", "error", err)
	}
}

// save appends the last line to the file, or rewrites the file. Each line starts with a
// line break, because the line before it may be torn.
func (a *fetchedFiles) save(all bool) error {
	lines := a.lines[len(a.lines)-1:]
	if all {
		lines = a.lines
	}
	var text []byte
	for _, one := range lines {
		line, err := json.Marshal(one)
		if err != nil {
			return err
		}
		text = append(append(text, '\n'), line...)
	}
	if all {
		return safefs.WriteFile(a.file, text, 0o600)
	}
	f, err := os.OpenFile(a.file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// liesInInbox reports whether a workspace's inbox has a file of that name.
func liesInInbox(workspace, name string) bool {
	home, err := openDir(workspace)
	if err != nil {
		return false
	}
	defer home.Close()
	inbox, err := safefs.OpenDir(home, inboxDir)
	if err != nil {
		return false
	}
	defer inbox.Close()
	info, err := inbox.Lstat(name)
	return err == nil && info.Mode().IsRegular()
}
