package backup

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	format       = 1
	manifestName = "manifest.jsonl"
	configName   = "longshore.yaml"
	secretsDir   = "secrets"
	stateDir     = "state"
	maxLine      = 64 << 10 // bytes of a line of the manifest: more than two names of longest bytes take
)

// Header is the first line of a manifest.
type Header struct {
	Format  int          `json:"format"`
	Taken   time.Time    `json:"taken"`   // the moment of the stores
	Program string       `json:"program"` // its version
	Stores  []StoreEntry `json:"stores"`
	Entries int          `json:"entries"` // lines that follow

	StateAlone bool `json:"state_alone,omitempty"` // it has the database and its blobs, and no workspaces and channels
	LeftOut    int  `json:"left_out,omitempty"`    // blobs that it does not have
}

// StoreEntry is a store of the backup.
type StoreEntry struct {
	Name    string `json:"name"`
	Path    string `json:"path"`    // of the database, in the backup
	Version int    `json:"version"` // of the schema; 0: the store has none of ours
}

// Entry is a file, a directory or a symbolic link of the backup: each further line of
// the manifest.
type Entry struct {
	Path   string      `json:"path"` // in the backup, with slashes
	Dir    bool        `json:"dir,omitempty"`
	Target string      `json:"target,omitempty"` // of a symbolic link, wherever it leads
	From   string      `json:"from,omitempty"`   // where a secret's file was
	Mode   fs.FileMode `json:"mode"`             // the permissions
	UID    int         `json:"uid"`
	GID    int         `json:"gid"`
	Time   int64       `json:"time,omitempty"` // of the last change, in nanoseconds since 1970
	Size   int64       `json:"size,omitempty"`
	SHA256 string      `json:"sha256,omitempty"` // in hex; of a file
}

// line is an entry as the manifest has it. A name on disk is bytes; JSON holds no text that
// is not UTF-8, so such a path or target stands beside its text.
type line struct {
	Entry

	PathBytes   []byte `json:"path_bytes,omitempty"`
	TargetBytes []byte `json:"target_bytes,omitempty"`
}

func lineOf(e Entry) line {
	l := line{Entry: e}
	if !utf8.ValidString(e.Path) {
		l.PathBytes = []byte(e.Path)
	}
	if !utf8.ValidString(e.Target) {
		l.TargetBytes = []byte(e.Target)
	}
	return l
}

func (l line) entry() Entry {
	if l.PathBytes != nil {
		l.Path = string(l.PathBytes)
	}
	if l.TargetBytes != nil {
		l.Target = string(l.TargetBytes)
	}
	return l.Entry
}

// file reports whether the entry is a plain file.
func (e Entry) file() bool { return !e.Dir && e.Target == "" }

// check refuses an entry that could lead out of the directory that it is restored to: each path
// has one spelling and stands once. before is the path of the entry before, since the
// entries are sorted.
func (e Entry) check(before string) error {
	if !filepath.IsLocal(filepath.FromSlash(e.Path)) || path.Clean(e.Path) != e.Path || e.Path <= before ||
		e.Dir && e.Target != "" || e.Mode&^fs.ModePerm != 0 || e.Size < 0 {
		return fmt.Errorf("the manifest has an entry that no backup has: %q", e.Path)
	}
	return nil
}

// writeManifest writes the manifest of the backup in temp.
func writeManifest(ctx context.Context, temp string, h Header, all iter.Seq2[Entry, error]) error {
	f, err := os.OpenFile(filepath.Join(temp, manifestName), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	enc := json.NewEncoder(w)
	err = enc.Encode(h)
	for e, failed := range all {
		if err = errors.Join(err, failed, ctx.Err()); err == nil {
			err = enc.Encode(lineOf(e))
		}
		if err != nil {
			break
		}
	}
	return errors.Join(err, w.Flush(), f.Sync(), f.Close())
}

// readManifest reads the manifest of a backup, and calls do for each entry.
func readManifest(dir string, do func(Entry) error) (h Header, err error) {
	m, err := openManifest(dir)
	if err != nil {
		return h, err
	}
	defer m.Close()
	for m.next() {
		if err := do(m.at); err != nil {
			return m.Header, err
		}
	}
	return m.Header, m.err
}

// readHeader reads the beginning of a backup's manifest.
func readHeader(dir string) (Header, error) {
	m, err := openManifest(dir)
	if err != nil {
		return Header{}, err
	}
	return m.Header, m.Close()
}

// manifest is one that is being read.
type manifest struct {
	*os.File
	Header

	lines *bufio.Scanner
	n     int   // entries so far
	at    Entry // the last of them
	err   error
}

func openManifest(dir string) (_ *manifest, err error) {
	if strings.HasSuffix(filepath.Clean(dir), partial) { // even with a manifest, it may not be synced
		return nil, fmt.Errorf("%s is no backup: it was cut off while it was made; the next backup in its directory deletes it", dir)
	}
	f, err := open(filepath.Join(dir, manifestName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is no backup: it has no %s", dir, manifestName)
	}
	if err != nil {
		return nil, err
	}
	m := &manifest{File: f, lines: bufio.NewScanner(f)}
	m.lines.Buffer(nil, maxLine)
	switch {
	case !m.lines.Scan():
		err = errors.Join(errors.New("the manifest is empty"), m.lines.Err())
	case json.Unmarshal(m.lines.Bytes(), &m.Header) != nil || m.Format < 1:
		err = errors.New("the manifest cannot be read")
	case m.Format > format:
		err = errors.New("a newer longshore made the backup: use that program")
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return m, nil
}

// next reads the next entry. It returns false after the last one, or with the error in err.
func (m *manifest) next() bool {
	if m.err != nil {
		return false
	}
	if !m.lines.Scan() {
		if m.err = m.lines.Err(); m.err == nil && m.n != m.Entries {
			m.err = fmt.Errorf("the manifest has %d of %d entries", m.n, m.Entries)
		}
		return false
	}
	m.n++
	var l line
	before := m.at.Path
	if m.err = json.Unmarshal(m.lines.Bytes(), &l); m.err == nil {
		m.at = l.entry()
		m.err = m.at.check(before)
	}
	return m.err == nil
}
