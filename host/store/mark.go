package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// mark names the store and the installation that a database belongs to. The
// marker holds a mark as JSON, the database as a row.
type mark struct {
	Store        string `json:"store"`
	Version      int    `json:"version"` // of the schema; in a database, user_version
	Installation string `json:"installation"`
	Files        bool   `json:"files,omitempty"` // a copy of the marker lies among the store's files
}

// idSize is the size of an installation's id, in bytes.
const idSize = 16

// maxMark is the largest marker that is read, in bytes.
const maxMark = 4 << 10

// identitySQL returns SQL that creates the table for the mark, and its row.
// [Probe] writes "checked".
func identitySQL(name, id string) string {
	quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
	return `CREATE TABLE longshore_store (name TEXT NOT NULL, installation TEXT NOT NULL, checked INTEGER NOT NULL DEFAULT 0);
		INSERT INTO longshore_store (name, installation) VALUES (` + quote(name) + `, ` + quote(id) + `);`
}

// Probe is a statement without a lasting effect: if it can be committed, a
// record can be committed too. Its one argument is a time.
const Probe = `UPDATE longshore_store SET checked = ?`

// ProbeRead reads what [Probe] has written. A server may have room for the connection that writes, and for none that reads.
const ProbeRead = `SELECT checked FROM longshore_store`

// readIdentity returns the database's mark; zero if it has none.
func readIdentity(ctx context.Context, db *sql.DB) (m mark, err error) {
	var there bool
	err = db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'longshore_store')`).Scan(&there)
	if err != nil || !there {
		return m, err
	}
	var name, id sql.NullString
	err = db.QueryRowContext(ctx, `SELECT name, installation FROM longshore_store`).Scan(&name, &id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return mark{}, nil
	case err == nil && (name.String == "" || !isID(id.String)):
		return mark{}, errNoSense
	}
	return mark{Store: name.String, Installation: id.String}, err
}

// errNoSense is the error for a mark that this program cannot have written.
var errNoSense = errors.New("it does not name its store and installation")

// readMarker returns the marker; zero if there is none.
func (s Spec) readMarker() (m mark, err error) {
	data, err := readSmall(s.markerPath())
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err == nil && (m.Store == "" || !isID(m.Installation)) {
		err = errors.New("it does not name a store and an installation")
	}
	if err != nil {
		return mark{}, ofMark(s.Name, "the marker of the "+s.Name, s.markerPath(), err,
			"restore it from a backup; if the database beside it is the right one, delete the marker; the host writes a new one")
	}
	return m, nil
}

// writeMarks writes the marker and the reference if they are missing. An older
// program that may open a newer database keeps the newer version in the marker.
func (s Spec) writeMarks(found survey, id string) error {
	want := mark{s.Name, max(s.version(), found.marker.Version), id, s.Files != ""}
	if found.marker != want {
		data, err := json.Marshal(want)
		if err != nil {
			return fmt.Errorf("mark the %s: %w", s.Name, err)
		}
		places := []string{s.markerPath()}
		if want.Files { // first: the other marker says that it is there
			places = []string{s.filesMarker(), s.markerPath()}
		}
		for _, path := range places {
			if err := replace(path, append(data, '\n')); err != nil {
				return s.Explain("mark", err)
			}
		}
	}
	if s.Home.Installation == "" || found.reference {
		return nil
	}
	return s.Explain("mark", replace(s.referencePath(), []byte(id+"\n")))
}

// ID returns the installation's id; empty if there is none yet.
func (h Home) ID() (string, error) {
	if h.Installation == "" {
		return "", nil
	}
	path := filepath.Join(h.Installation, "id")
	data, err := readSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	id := strings.TrimSpace(string(data))
	if err == nil && !isID(id) {
		err = errors.New("it contains no id")
	}
	if err != nil {
		return "", ofMark("installation", "the installation's id", path, err,
			"restore it from a backup; if all stores are the right ones, delete the file; the host writes it again from their markers")
	}
	return id, nil
}

// id returns the installation's id, and creates it if it is missing: from a
// store that already exists, or at random. Two processes may do this at once.
func (h Home) id(found survey) (string, error) {
	id := found.home
	for _, m := range []mark{found.marker, found.inside} {
		id = cmp.Or(id, m.Installation)
	}
	if id == "" {
		var raw [idSize]byte
		_, _ = rand.Read(raw[:]) // never fails
		id = hex.EncodeToString(raw[:])
	}
	if h.Installation == "" || found.home != "" {
		return id, nil
	}
	path := filepath.Join(h.Installation, "id")
	err := makeDir(h.Installation)
	if err == nil {
		err = safefs.WriteNew(path, []byte(id+"\n"), 0o600) // another process may have been faster
	}
	if err != nil {
		return "", fmt.Errorf("mark the installation: %w", Words(err))
	}
	return h.ID()
}

// isID reports whether s is 32 lower-case hex digits.
func isID(s string) bool {
	return len(s) == 2*idSize && strings.Trim(s, "0123456789abcdef") == ""
}

var errNotSmall = errors.New("it is not a small file")

// readSmall reads a small plain file.
func readSmall(path string) ([]byte, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() || fi.Size() > maxMark {
		return nil, errNotSmall
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxMark))
}
