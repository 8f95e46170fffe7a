package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// shared is the part of a Store whose blobs above Small lie in a place. Of what this host uses, it
// has copies.
type shared struct {
	place  Place
	copies *copies

	mu      sync.Mutex
	reached bool // the place was there at the last look
	wrong   []finding.Finding
	damaged map[string]bool // blobs whose bytes in the place are not those of their record
	fresh   map[string]bool // names made by this process; nil: they are known no longer
	free    int64
	total   int64 // 0: no bounds are known
}

// errNotReached is the trouble of a place before the first look.
var errNotReached = &Trouble{Cause: "the place of state.files was not reached yet", Remedy: "wait a moment"}

// OpenShared opens a store whose blobs above [Small] lie in a place. The directory is for copies, on
// this host's disk; what an earlier process has left in it is deleted. The caller closes the Store.
//
//   - Stage and Snapshot make a blob on the disk. Publish stores it in the place.
//   - Open fetches a blob and compares its hash before the caller sees the first byte.
//   - Remove deletes the copy alone. What has no record any more is noted by [Delete] in the commit
//     that removes the record, and goes from the place later: see [Due].
//
// The store works once Reach has found the place.
func OpenShared(dir string, place Place) (*Store, error) {
	s, err := Open(dir)
	if err != nil {
		return nil, err
	}
	c, err := openCopies(dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("delete copies of files: %w", err), s.Close())
	}
	s.shared = &shared{place: place, copies: c, damaged: map[string]bool{}, fresh: map[string]bool{}}
	s.shared.note("reach", errNotReached)
	return s, nil
}

// Shared reports whether blobs lie in a place that several hosts share.
func (s *Store) Shared() bool { return s.shared != nil }

// NewMark returns the mark for the store's place, see the function.
func (s *Store) NewMark(t *store.Tx) (string, error) { return NewMark(t, s.shared.place) }

// Claim makes the store's place this database's, see the function.
func (s *Store) Claim(ctx context.Context, mark string) error {
	return Claim(ctx, s.shared.place, s.path, mark)
}

// Claim writes the mark of a database into a place that has none, or finds it there. It refuses a
// place with another one. The directory is for a file of a moment. If it returns a *Trouble, an
// operator can mend that.
func Claim(ctx context.Context, p Place, dir, mark string) error {
	var found strings.Builder
	err := p.Get(ctx, Marker, limited(&found))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return writeMark(ctx, p, dir, mark)
	case err == nil && found.String() != mark:
		return &Trouble{Cause: "the place of state.files is that of another installation, or of another database",
			Remedy: "name another directory, bucket or prefix; or restore the database that belongs to these files; if nobody uses the place, empty it and delete its file " + Marker}
	}
	return err
}

// writeMark writes the mark, which is also a test whether the place can be written.
func writeMark(ctx context.Context, p Place, dir, mark string) error {
	f, err := os.CreateTemp(dir, "mark-*")
	if err != nil {
		return fmt.Errorf("mark the place of files: %w", err)
	}
	defer f.Close()
	_, err = f.WriteString(mark)
	if err = errors.Join(err, os.Remove(f.Name())); err != nil {
		return fmt.Errorf("mark the place of files: %w", err)
	}
	return p.Put(ctx, Marker, f, int64(len(mark)))
}

// Reach looks whether the place is there and has the mark, and notes it for Findings. If the place
// could not be written lately, it tries that again. The error is a *Trouble.
func (s *Store) Reach(ctx context.Context, mark string) error {
	h := s.shared
	var found strings.Builder
	err := h.place.Get(ctx, Marker, limited(&found))
	if errors.Is(err, fs.ErrNotExist) || err == nil && found.String() != mark {
		err = &Trouble{Cause: "the place of state.files is not the one that has this host's files: its file " + Marker + " is missing or another one",
			Remedy: "mount the right directory, or correct state.files and restart the host", Err: err}
	}
	if h.note("reach", err) {
		h.note("write", writeMark(ctx, h.place, s.path, mark))
	}
	if err == nil {
		free, total, failed := h.place.Space(ctx)
		err = failed
		h.mu.Lock()
		h.free, h.total = free, total
		h.mu.Unlock()
	}
	return err
}

// limited takes the first bytes of a marker.
func limited(to *strings.Builder) io.Writer { return &limitedWriter{to, 64} }

// limitedWriter takes no more bytes than are left.
type limitedWriter struct {
	to   io.Writer
	left int64
}

func (l *limitedWriter) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		return 0, errLonger
	}
	return l.to.Write(p)
}

var errLonger = errors.New("it is longer than it was")

// Publish stores blobs in the place, if the store is shared; else it does nothing. The caller does
// so before the commit that names them. The error is a *Trouble, which is temporary.
func (s *Store) Publish(ctx context.Context, names ...string) error {
	if s.shared == nil {
		return nil
	}
	for _, name := range names {
		if IsName(name) {
			if err := s.shared.publish(ctx, name); err != nil {
				return fmt.Errorf("keep a file: %w", err)
			}
		}
	}
	return nil
}

func (h *shared) publish(ctx context.Context, name string) error {
	one, ok := h.copies.get(name)
	if !ok {
		return fs.ErrNotExist
	}
	if one.published {
		return nil
	}
	if err := h.writable(); err != nil {
		return err
	}
	if one.from != "" && h.place.Copy(ctx, one.from, name) == nil {
		h.copies.publish(name)
		return nil
	}
	f, err := h.copies.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := h.place.Put(ctx, name, f.File, one.size); err != nil {
		h.note("write", err)
		return err
	}
	h.note("write", nil)
	h.copies.publish(name)
	return nil
}

// fetch returns a blob of the place as a file on this host's disk. Its bytes are those of the hash.
func (s *Store) fetch(ctx context.Context, name, sum string, size int64) (_ *File, err error) {
	h := s.shared
	leave, err := h.copies.enter(ctx, name)
	if err != nil {
		return nil, err
	}
	defer leave()
	if f, err := h.copies.open(name); err == nil {
		return f, nil
	}
	if err := h.ready(); err != nil {
		return nil, err
	}
	part := s.file(name + partSuffix)
	dst, err := os.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("fetch a kept file: %w", err)
	}
	err = h.copyTo(ctx, &limitedWriter{dst, size}, name, sum)
	if err = errors.Join(err, dst.Close()); err == nil {
		err = os.Rename(part, s.file(name))
	}
	var f *os.File // opened before others make room for theirs
	if err == nil {
		f, err = os.Open(s.file(name))
	}
	if err != nil {
		_, _ = os.Remove(part), os.Remove(s.file(name)) // else the next start does
		return nil, err
	}
	h.copies.add(localCopy{name: name, path: s.file(name), size: size, published: true})
	return &File{f}, nil
}

// copyTo writes a blob of the place to a file. The error is a *Trouble if the bytes are not those of
// the hash: they may have changed on their way, or in the place.
func (h *shared) copyTo(ctx context.Context, dst io.Writer, name, sum string) error {
	hash := sha256.New()
	err := h.place.Get(ctx, name, io.MultiWriter(dst, hash))
	if err != nil && !errors.Is(err, errLonger) {
		if !errors.Is(err, fs.ErrNotExist) {
			h.note("read", err)
		}
		return err
	}
	h.note("read", nil)
	right := err == nil && hex.EncodeToString(hash.Sum(nil)) == sum
	h.mu.Lock()
	delete(h.damaged, name)
	if !right {
		h.damaged[name] = true
	}
	h.mu.Unlock()
	if !right {
		return &Trouble{Cause: "a file has other bytes than were accepted: " + name, Remedy: damagedRemedy}
	}
	return nil
}

const damagedRemedy = "check the disk and the network of state.files, and restore the file there from a backup or an earlier version; it is read again until its message ends"

// ready returns why the place cannot be used, or nil.
func (h *shared) ready() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.reached {
		return &Trouble{Cause: "the place of state.files is not there", Remedy: "see the finding files_away"}
	}
	return nil
}

// writable returns why nothing is written to the place now, or nil. After a failure it waits for the
// test of Reach: else each upload would keep others waiting for as long as the first one took to fail.
func (h *shared) writable() error {
	if err := h.ready(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if at := slices.IndexFunc(h.wrong, func(f finding.Finding) bool { return f.Name == finding.FilesUnwritten }); at >= 0 {
		return &Trouble{Cause: h.wrong[at].Cause, Remedy: h.wrong[at].Remedy}
	}
	return nil
}

// note keeps what became of reaching, reading or writing the place for Findings. It reports whether
// the place is there and could not be written lately.
func (h *shared) note(what string, err error) (unwritten bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if what == "reach" {
		h.reached = err == nil
	}
	name := map[string]string{"reach": finding.FilesAway, "read": finding.FilesUnread, "write": finding.FilesUnwritten}[what]
	at := slices.IndexFunc(h.wrong, func(f finding.Finding) bool { return f.Name == name })
	t, known := errors.AsType[*Trouble](err)
	if err != nil && !known {
		t = &Trouble{Cause: err.Error(), Remedy: "look at the host's log"}
	}
	switch {
	case errors.Is(err, context.Canceled): // the caller went
	case t == nil && at >= 0:
		h.wrong = slices.Delete(h.wrong, at, at+1)
	case t != nil && at < 0:
		h.wrong = append(h.wrong, finding.Finding{Name: name, Part: "files", Severity: finding.Fault, Since: time.Now(), Cause: t.Cause, Remedy: t.Remedy})
	case t != nil:
		h.wrong[at].Cause, h.wrong[at].Remedy = t.Cause, t.Remedy
	}
	return h.reached && slices.ContainsFunc(h.wrong, func(f finding.Finding) bool { return f.Name == finding.FilesUnwritten })
}

// Findings implements finding.Source.
func (s *Store) Findings(context.Context) []finding.Finding {
	h := s.shared
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	all := slices.Clone(h.wrong)
	for name := range h.damaged {
		all = append(all, finding.Finding{Name: finding.FilesDamaged, Part: "files", Severity: finding.Fault, Remedy: damagedRemedy,
			Cause: fmt.Sprintf("%d files in the place of state.files are missing or have other bytes than were accepted, such as %s", len(h.damaged), name)})
		break
	}
	return all
}

// Examine looks whether a place can be reached, and whether it has a mark. It writes nothing.
func Examine(ctx context.Context, p Place) []finding.Finding {
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	var found strings.Builder
	err := p.Get(ctx, Marker, limited(&found))
	if err == nil {
		return []finding.Finding{finding.Well("files", "the place of state.files is there")}
	}
	f := finding.Finding{Name: finding.FilesAway, Part: "files", Severity: finding.Fault, Cause: err.Error(), Remedy: "mount the directory of state.files, or correct it"}
	if t, ok := errors.AsType[*Trouble](err); ok {
		f.Cause, f.Remedy = t.Cause, t.Remedy
	} else if errors.Is(err, fs.ErrNotExist) {
		f.Severity, f.Cause = finding.Warning, "the place of state.files has no mark: no host has used it yet, or it is not the one that they use"
	}
	return []finding.Finding{f}
}

const examineTime = 10 * time.Second
