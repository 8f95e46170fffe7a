package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// survey is what exists on the disk of a store.
type survey struct {
	present   bool   // the database exists and is not empty
	marker    mark   // zero: there is none
	reference bool   // the installation has used the store before
	home      string // the installation's id; empty: there is none yet
	inside    mark   // the mark in the database; zero: none
}

// surveyMarks reads what stands beside the database. Its errors are *Error.
func (s Spec) surveyMarks() (found survey, err error) {
	if err := s.places(); err != nil {
		return found, err
	}
	if found.marker, err = s.readMarker(); err != nil {
		return found, err
	}
	if found.home, err = s.Home.ID(); err != nil {
		return found, err
	}
	if s.Home.Installation != "" {
		_, err := os.Lstat(s.referencePath())
		found.reference = err == nil
	}
	return found, nil
}

// survey only examines files. Its errors are *Error.
func (s Spec) survey() (found survey, err error) {
	if found, err = s.surveyMarks(); err != nil {
		return found, err
	}
	state, err := s.file()
	if err != nil {
		return found, err
	}
	found.present = state == ""
	if found.present {
		if err := s.agree(found, found.marker, "its marker"); err != nil {
			return found, err
		}
		return found, s.filesThere(found)
	}
	if err := s.refuseOld(); err != nil {
		return found, err
	}
	if rest := s.rest(found); rest != "" {
		return found, &Error{
			Kind: ErrMissing, Store: s.Name,
			Message: fmt.Sprintf("the %s's database, %s, %s, and %s", s.Name, s.path(), state, rest),
			Remedy:  "put the database back, or restore it from a backup; or " + s.setAsideWords(),
		}
	}
	return found, nil
}

// refuseOld refuses a directory that an older program has written: what waits in it would be
// ignored, and never be sent.
func (s Spec) refuseOld() error {
	for _, name := range s.Old {
		if _, err := os.Stat(filepath.Join(s.Dir, name)); err == nil {
			return &Error{
				Kind: ErrOld, Store: s.Name,
				Message: fmt.Sprintf("the %s in %s was written before longshore's first release", s.Name, s.Dir),
				Remedy:  "let commit " + s.LastOfOld + ", the last one that reads it, send what waits; then start with an empty directory",
			}
		}
	}
	return nil
}

// places refuses a file in the place of a directory, or anything but a file in
// the place of the lock.
func (s Spec) places() error {
	for i, name := range []string{"", s.Files, s.Lock} {
		if i > 0 && name == "" {
			continue
		}
		path := filepath.Join(s.Dir, name)
		see := os.Stat
		if i == 1 {
			see = os.Lstat // the files are in a real directory, or on a disk that is mounted there
		}
		fi, err := see(path)
		if err == nil && i == 1 && fi.IsDir() {
			err = safefs.Readable(path, true)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return s.unreadable(err)
		case i < 2 && !fi.IsDir():
			return s.misplaced(path, "directory")
		case i == 2 && !fi.Mode().IsRegular():
			return s.misplaced(path, "file")
		}
	}
	return nil
}

func (s Spec) misplaced(path, what string) error {
	return &Error{
		Kind: ErrUnreadable, Store: s.Name, Message: fmt.Sprintf("%s, of the %s, is not a %s", path, s.Name, what),
		Remedy: "find out who replaced it, and move it away; or restore the store from a backup",
	}
}

// filesThere refuses a store whose directory of files was moved or is not
// mounted, since every record would lose its bytes. The marker in the directory
// tells it from an empty mount point. A first start that was killed may leave a
// database alone; then neither marker nor reference exists.
func (s Spec) filesThere(found survey) error {
	if s.Files == "" || found.marker == (mark{}) && !found.reference {
		return nil
	}
	path, lost := filepath.Join(s.Dir, s.Files), "create an empty directory in its place"
	_, err := os.Stat(path)
	if found.marker.Files {
		lost = fmt.Sprintf("or are to lie elsewhere from now on, copy %s into the directory", s.markerPath())
		var m mark
		if data, failed := readSmall(s.filesMarker()); errors.Is(failed, errNotSmall) {
			return s.misplaced(s.filesMarker(), "small file")
		} else if failed != nil {
			err = failed
		} else if json.Unmarshal(data, &m) != nil || m.Store != s.Name || m.Installation != found.marker.Installation {
			err = fs.ErrNotExist
		}
	}
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return s.unreadable(err)
	}
	return &Error{
		Kind: ErrMissing, Store: s.Name, Message: fmt.Sprintf("the files of the %s are missing: %s is not there, or is another directory than before", s.Name, path),
		Remedy: "put the directory back, mount its disk, or restore it from a backup; if its files are lost, " + lost,
	}
}

// file returns the problem of the database's file: "" if there is none, "is
// missing" or "is empty". If it is not a plain file, or cannot be read, that is
// an error.
func (s Spec) file() (string, error) {
	fi, err := os.Stat(s.path())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "is missing", nil
	case err != nil:
		return "", s.unreadable(err)
	case !fi.Mode().IsRegular():
		return "", &Error{
			Kind: ErrDamaged, Store: s.Name, Message: fmt.Sprintf("the %s's database, %s, is not a file", s.Name, s.path()),
			Remedy: "find out who replaced it, and restore it from a backup; or " + s.setAsideWords(),
		}
	case fi.Size() == 0:
		return "is empty", nil
	}
	f, err := os.Open(s.path())
	if err != nil {
		return "", s.unreadable(err)
	}
	defer f.Close()
	return "", s.CheckHead(f)
}

// CheckHead returns an *Error if a database does not begin as one does.
func (s Spec) CheckHead(database io.ReaderAt) error {
	head := make([]byte, len(magic))
	_, err := database.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) { // it says nothing of the bytes
		return s.unreadable(err)
	}
	if string(head) != magic {
		return s.damaged(errors.New("it does not begin like an SQLite database"))
	}
	return nil
}

// CheckMarks returns the *Error that the marker, or the installation's id, would be for the next Open. It
// does not look at the database.
func (s Spec) CheckMarks() error {
	found, err := s.surveyMarks()
	if err != nil {
		return err
	}
	return s.agree(found, found.marker, "its marker")
}

// magic is the first bytes of a database:
// https://www.sqlite.org/fileformat.html
const magic = "SQLite format 3\x00"

// rest describes what else exists of a store without a database; "" is nothing.
func (s Spec) rest(found survey) string {
	var all []string
	for _, name := range s.besides("-wal", "-journal") {
		if n := s.holds(filepath.Join(s.Dir, name)); n != "" {
			all = append(all, name+n)
		}
	}
	if found.marker != (mark{}) {
		all = append(all, "its marker")
	}
	switch {
	case len(all) > 0:
		return "other parts of the store still exist: " + strings.Join(all, ", ")
	case found.reference:
		return "this installation has used the store before: its directory was moved, or its disk is not mounted"
	}
	return ""
}

// besides returns the names of the database with the given suffixes, and of the
// directory of its files.
func (s Spec) besides(suffixes ...string) (names []string) {
	for _, suffix := range suffixes {
		names = append(names, s.File+suffix)
	}
	if s.Files != "" {
		names = append(names, s.Files)
	}
	return names
}

// manyFiles is how many entries of a directory are counted for a message.
const manyFiles = 100_000

// holds describes a file that is not empty, or a directory that has more than the
// marker; "" for anything else.
func (s Spec) holds(path string) string {
	fi, err := os.Stat(path)
	switch {
	case err != nil:
		return ""
	case !fi.IsDir():
		if fi.Size() == 0 {
			return ""
		}
		return fmt.Sprintf(" (%d bytes)", fi.Size())
	}
	d, err := os.Open(path)
	if err != nil {
		return " (cannot be read)"
	}
	defer d.Close()
	names, _ := d.Readdirnames(manyFiles)
	names = slices.DeleteFunc(names, func(name string) bool { return name == s.MarkerName() })
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d files)", len(names))
}

// inspectPlain inspects a database that the caller has locked. A crash during a
// transaction may have left a rollback journal. SQLite then reads the database
// only after it has rolled the transaction back, for which it must be able to
// write.
func (s Spec) inspectPlain(ctx context.Context, found survey) (mark, error) {
	if err := s.checkLog(); err != nil {
		return mark{}, err
	}
	mode := "ro"
	if fi, err := os.Stat(s.path() + "-journal"); err == nil && fi.Size() > 0 {
		mode = "rw"
	}
	db, err := connect(s.path(), url.Values{"mode": {mode}, "_pragma": {"busy_timeout(5000)"}})
	if err != nil {
		return mark{}, err
	}
	defer db.Close()
	return s.inspect(ctx, db, found)
}

// inspect reads a database's mark and version, and refuses a database that this
// program must not open. Open and Examine both use it.
func (s Spec) inspect(ctx context.Context, db *sql.DB, found survey) (mark, error) {
	inside, err := readIdentity(ctx, db)
	if errors.Is(err, errNoSense) {
		return inside, s.damaged(err)
	}
	if err != nil {
		return inside, s.Explain("read", err)
	}
	if err := s.agree(found, inside, "it"); err != nil {
		return inside, err
	}
	var newer bool
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&inside.Version); err != nil {
		return inside, s.Explain("read", err)
	}
	if s.Schema != "" {
		newer = max(inside.Version, found.marker.Version) > s.version()
	} else if s.Library != nil {
		if newer, err = s.Library.Newer(ctx, db); err != nil {
			return inside, s.Explain("read", err)
		}
	}
	if newer {
		return inside, s.newer()
	}
	return inside, nil
}

func (s Spec) newer() error {
	return &Error{
		Kind: ErrNewer, Store: s.Name, Message: "the " + s.Name + " was written by a newer longshore",
		Remedy: "use the newer program that wrote it; or restore a backup from before; or " + s.setAsideWords(),
	}
}

// agree refuses the mark of another store or installation. who is the holder of
// the mark.
func (s Spec) agree(found survey, m mark, who string) error {
	wrong := ""
	switch {
	case m.Store != "" && m.Store != s.Name:
		wrong = fmt.Sprintf("%s belongs to the store %q", who, m.Store)
	case m.Installation == "":
	case found.home != "" && m.Installation != found.home,
		found.marker.Installation != "" && m.Installation != found.marker.Installation:
		wrong = who + " belongs to another installation"
	}
	if wrong == "" {
		return nil
	}
	return &Error{
		Kind: ErrForeign, Store: s.Name, Message: fmt.Sprintf("the %s's database, %s, was replaced: %s", s.Name, s.path(), wrong),
		Remedy: "put the right database back; if you restored the state directory, also restore its directory installation; or " + s.setAsideWords(),
	}
}
