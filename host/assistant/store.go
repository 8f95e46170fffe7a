package assistant

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// The files in a group's directory that are not records.
const (
	turnFile    = "turn.json" // of the chat itself
	threadTurn  = "turn-"     // of a thread: and the key of its id
	sessionFile = "session"
	seenFile    = "seen"
)

// The seen file is cut to seenKeep keys when it has grown to seenMax.
const (
	seenKeep = 2000
	seenMax  = 4000
)

// The forms of the names that a start reads, and puts aside if it cannot. Files with other
// names are not the host's: it leaves them alone.
var (
	recordForm  = regexp.MustCompile(`^\d{20}-[0-9a-f]{8}\.json$`)
	turnForm    = regexp.MustCompile(`^` + threadTurn + `[0-9a-f]{32}$`)
	pendingForm = regexp.MustCompile(`^[0-9a-f]{32}-\d+\.json$`)
)

// store keeps one group's records. Changes are durable when its methods return. Only the
// host writes to the directory, so its names are trusted.
type store struct {
	mu   sync.Mutex
	dir  string
	last int64 // the nanoseconds of the last name, so that names sort in order
	seen map[string]bool
	done []string // the keys in the seen file, oldest first

	senderKey []byte // of senderID; does not change

	register register // guarded by mu
	refusals []string // in the file of refusals; nil: not read; guarded by mu
}

// openStore creates or loads the directory. It renames records that cannot be read to a
// name that later starts ignore.
func openStore(parent, folder string) (*store, []*record, []*turn, error) {
	if err := Examine(parent, folder); err != nil {
		return nil, nil, nil, err
	}
	s := &store{dir: filepath.Join(parent, folder), seen: map[string]bool{}}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, nil, nil, err
	}
	if err := errors.Join(safefs.SyncDir(parent), s.loadSeen(), s.loadSenderKey()); err != nil {
		return nil, nil, nil, err
	}
	entries, err := safefs.ReadDir(s.dir) // sorted, so in order
	if err != nil {
		return nil, nil, nil, err
	}
	s.loadRegister()
	var kept []*record
	var turns []string
	for _, e := range entries {
		name := e.Name()
		switch {
		case !e.Type().IsRegular(): // not the host's
			continue
		case safefs.IsTemp(name):
			os.Remove(s.path(name))
			continue
		case name == turnFile, turnForm.MatchString(name):
			turns = append(turns, name)
			continue
		case !recordForm.MatchString(name):
			continue
		}
		var r record
		if err := s.load(name, &r); err != nil {
			os.Rename(s.path(name), s.path(name+".broken"))
			continue
		}
		if s.seen[r.Key] { // ended; the host died before it was removed
			os.Remove(s.path(name))
			continue
		}
		r.name = name
		s.last = max(s.last, r.Kept.UnixNano()) // the clock may have been set back
		r.arrivedAt = time.Now().Add(-max(0, time.Since(r.Kept)))
		s.seen[r.Key] = true
		kept = append(kept, &r)
	}
	var held []*turn
	for _, name := range turns {
		t := &turn{}
		if err := s.load(name, t); err != nil {
			os.Rename(s.path(name), s.path(name+".broken"))
			continue
		}
		t.resolve(kept)
		held = append(held, t)
	}
	return s, kept, held, nil
}

// Examine returns the error with which opening a group's records in parent would fail. It
// changes nothing.
func Examine(parent, folder string) error {
	dir := filepath.Join(parent, folder)
	for _, place := range []string{parent, dir} {
		fi, err := os.Lstat(place) // a link leads to files that are not the host's
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // the first start makes it
		case err == nil && !fi.IsDir():
			return fmt.Errorf("%s is a link or no directory: find out who replaced it, and move it away; if the files lie on another disk, mount that there", place)
		case err == nil:
			_, err = safefs.ReadDir(place)
		}
		if err != nil {
			return fmt.Errorf("%w: run this as the user that the host runs as", err)
		}
	}
	for _, name := range []string{seenFile, senderKeyFile} {
		path := filepath.Join(dir, name)
		if fi, err := os.Stat(path); err == nil && !fi.Mode().IsRegular() {
			return fmt.Errorf("%s is not a file: find out who replaced it, and move it away", path)
		}
		f, err := os.Open(path)
		if err == nil {
			err = f.Close()
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: run this as the user that the host runs as", err)
		}
	}
	return nil
}

func (s *store) path(name string) string { return filepath.Join(s.dir, name) }

func (s *store) load(name string, to any) error {
	data, err := os.ReadFile(s.path(name))
	if err != nil {
		return err
	}
	return json.Unmarshal(data, to)
}

// key identifies a message of a chat.
func key(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// knows reports whether a message with that key was added before.
func (s *store) knows(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[key]
}

// untouched reports whether the group's assistant has never had a message.
func (s *store) untouched() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen) == 0
}

// add keeps a record and gives it its name and time.
func (s *store) add(r *record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.arrivedAt = time.Now()
	s.last = max(s.last+1, r.arrivedAt.UnixNano())
	r.Kept = time.Unix(0, s.last)
	r.name = fmt.Sprintf("%020d-%s.json", s.last, r.Key[:8])
	if err := s.save(r.name, r); err != nil {
		return fmt.Errorf("keep message: %w", err)
	}
	s.seen[r.Key] = true
	return nil
}

// forget deletes records that a turn has ended. They count as finished once their keys are
// in the seen file, even if the host dies then.
func (s *store) forget(records []*record) error {
	if len(records) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []byte
	for _, r := range records {
		lines = append(append(lines, r.Key...), '\n')
		s.done = append(s.done, r.Key)
	}
	if err := s.appendSeen(lines); err != nil {
		return fmt.Errorf("note ended messages: %w", err)
	}
	for _, r := range records {
		if err := os.Remove(s.path(r.name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove ended message: %w", err)
		}
	}
	return nil
}

func (s *store) appendSeen(lines []byte) error {
	if len(s.done) > seenMax {
		for _, old := range s.done[:len(s.done)-seenKeep] {
			delete(s.seen, old)
		}
		s.done = slices.Clone(s.done[len(s.done)-seenKeep:])
		return s.write(seenFile, []byte(strings.Join(s.done, "\n")+"\n"))
	}
	f, err := os.OpenFile(s.path(seenFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(lines)
	return errors.Join(err, f.Sync(), f.Close(), safefs.SyncDir(s.dir))
}

func (s *store) loadSeen() error {
	data, err := os.ReadFile(s.path(seenFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for line := range bytes.Lines(data) {
		if k, whole := strings.CutSuffix(string(line), "\n"); whole && len(k) == 32 {
			s.seen[k] = true
			s.done = append(s.done, k)
		}
	}
	if len(data) > 0 && data[len(data)-1] != '\n' { // torn by a crash: nothing may be appended to it
		return s.write(seenFile, []byte(strings.Join(s.done, "\n")+"\n"))
	}
	return nil
}

// saveTurn records the present turn of a thread; nil if there is none.
func (s *store) saveTurn(thread string, t *turn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := turnName(thread)
	if t != nil {
		return s.save(name, t)
	}
	if err := os.Remove(s.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return safefs.SyncDir(s.dir)
}

// session is the agent's session id in a thread, or empty.
func (s *store) session(thread string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if thread == "" {
		data, _ := os.ReadFile(s.path(sessionFile))
		return string(data)
	}
	if t := s.register.thread(thread); t != nil {
		return t.Session
	}
	return ""
}

func (s *store) saveSession(thread, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if thread == "" {
		return s.write(sessionFile, []byte(id))
	}
	t := s.register.thread(thread)
	if t == nil { // forgotten meanwhile
		return nil
	}
	t.Session, t.Forgotten = id, false
	return s.save(threadsFile, s.register)
}

func (s *store) save(name string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return s.write(name, data)
}

// write replaces a whole file and is durable when it returns.
func (s *store) write(name string, data []byte) error {
	return safefs.WriteFile(s.path(name), data, 0o600)
}
