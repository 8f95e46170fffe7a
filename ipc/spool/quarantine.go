package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/ipc"
)

const (
	maxErrors     = 1000     // entries of one group in the errors folder
	maxErrorBytes = 64 << 20 // total size of their bodies
)

// Quarantined is one entry of the errors folder, as stored in its .reason.json.
type Quarantined struct {
	Name     string    `json:"-"` // of the entry, as ReadError, RetryError and DropError take it; safe for a terminal
	Folder   string    `json:"folder"`
	Request  string    `json:"request"` // id of the request; quoted if it is not valid
	Code     string    `json:"code"`
	Message  string    `json:"message"`
	Hint     string    `json:"hint,omitempty"`
	Attempts int       `json:"attempts"` // how often the request was deferred or refused
	First    time.Time `json:"first"`
	Last     time.Time `json:"last"`
	Written  time.Time `json:"written"` // modification time of the request's file
	Size     int64     `json:"size"`    // bytes kept of the request; 0: none
}

// quarantine writes the errors folder. Containers have no access to it.
type quarantine struct {
	base    *base
	mu      sync.Mutex
	entries map[string][]Quarantined // by group, oldest first; nil: not loaded yet
}

// open opens the errors folder; the caller closes it.
func (q *quarantine) open() (*os.Root, error) {
	root, err := q.base.dir()
	if err != nil {
		return nil, err
	}
	dir, err := safefs.OpenDir(root, ipc.ErrorsDir)
	if err != nil {
		return nil, fmt.Errorf("open errors folder: %w", err)
	}
	return dir, nil
}

// add records a refused request. If the same request is refused again, such as after
// a crash before it was unlinked, add only increases its count.
func (q *quarantine) add(x Quarantined, file string, body []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	dir, err := q.open()
	if q.base.restore != nil && errors.Is(err, fs.ErrNotExist) {
		if err = q.base.restore(x.Folder); err == nil {
			dir, err = q.open()
		}
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	if q.entries == nil {
		if err := q.load(dir); err != nil {
			return err
		}
	}
	x.Size = int64(len(body))
	known := q.find(dir, quarantineStem(x.Folder, file), &x)
	b, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return err
	}
	// The reason comes first: if a crash leaves it alone, the request, which is still in
	// the queue, is found by it. A body alone would be an entry of its own.
	if err := replaceFile(dir, x.Name+reasonSuffix, append(b, '\n')); err != nil {
		return err
	}
	if len(body) > 0 {
		if err := replaceFile(dir, x.Name+ipc.Suffix, body); err != nil {
			return err
		}
	}
	if !known {
		q.entries[x.Folder] = append(q.entries[x.Folder], x)
		q.trim(dir, x.Folder)
	}
	return nil
}

// find sets x.Name to the name of the same request's entry, or else to a free name.
// It reports whether the entry exists.
func (q *quarantine) find(dir *os.Root, stem string, x *Quarantined) (known bool) {
	x.Name = stem
	for i := 2; ; i++ {
		old, err := readReason(dir, x.Name)
		// Folder and request are compared too: a hyphen in a group's folder
		// makes a-b with x and a with b-x the same name.
		same := err == nil && old.Folder == x.Folder && old.Request == x.Request
		if same && old.Written.Equal(x.Written) && old.Size == x.Size && old.Code == x.Code {
			x.First, x.Attempts = old.First, old.Attempts+1
			return true
		}
		_, bodyErr := dir.Lstat(x.Name + ipc.Suffix)
		if errors.Is(err, fs.ErrNotExist) && errors.Is(bodyErr, fs.ErrNotExist) {
			return false
		}
		x.Name = fmt.Sprintf("%s-%d", stem, i)
		if i > 10 {
			x.Name = stem + "-" + strings.TrimPrefix(temporary(), temporaryPrefix)
		}
	}
}

func (q *quarantine) load(dir *os.Root) error {
	all, err := listErrors(dir)
	if err != nil {
		return err
	}
	q.entries = make(map[string][]Quarantined)
	for _, x := range all {
		q.entries[x.Folder] = append(q.entries[x.Folder], x)
	}
	return nil
}

// trim deletes the oldest entries of a group that exceed the limits, so that no
// group can fill the disk. Other groups' entries stay.
func (q *quarantine) trim(dir *os.Root, folder string) {
	mine := q.entries[folder]
	var size int64
	for _, x := range mine {
		size += x.Size
	}
	for len(mine) > maxErrors || size > maxErrorBytes {
		dropEntry(dir, mine[0].Name)
		size -= mine[0].Size
		mine = mine[1:]
	}
	q.entries[folder] = slices.Clip(mine)
}

// expire deletes the entries that are older than age; 0 keeps all.
func (q *quarantine) expire(age time.Duration) error {
	if age <= 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	dir, err := q.open()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := q.load(dir); err != nil { // an operator may have retried or deleted entries
		return err
	}
	for folder, mine := range q.entries {
		q.entries[folder] = slices.DeleteFunc(mine, func(x Quarantined) bool {
			return time.Since(x.Last) > age && dropEntry(dir, x.Name) == nil
		})
	}
	return nil
}

func dropEntry(dir *os.Root, name string) error {
	for _, end := range []string{ipc.Suffix, reasonSuffix} {
		if err := dir.Remove(name + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func readReason(dir *os.Root, name string) (Quarantined, error) {
	var x Quarantined
	b, err := dir.ReadFile(name + reasonSuffix)
	if err == nil {
		err = json.Unmarshal(b, &x)
	}
	x.Name = name
	return x, err
}

// listErrors returns the entries, oldest first. A body without a reason is an entry
// too; v1 writes such, and a crash can leave one.
func listErrors(dir *os.Root) ([]Quarantined, error) {
	infos, err := entriesOf(dir)
	if err != nil {
		return nil, err
	}
	var all []Quarantined
	for _, info := range infos {
		name, isReason := strings.CutSuffix(info.Name(), reasonSuffix)
		if !isReason {
			name, _ = strings.CutSuffix(info.Name(), ipc.Suffix)
		}
		if !ipc.IsRequest(info.Name()) || !info.Mode().IsRegular() || !ipc.ValidID(name) {
			continue
		}
		if !isReason {
			if _, err := dir.Lstat(name + reasonSuffix); err == nil {
				continue
			}
		}
		x, err := readReason(dir, name)
		if err != nil {
			x = Quarantined{Name: name, Request: name, First: info.ModTime(), Last: info.ModTime(), Size: info.Size()}
		}
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b Quarantined) int { return a.Last.Compare(b.Last) })
	return all, nil
}
