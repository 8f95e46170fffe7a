package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/ipc"
)

// ErrNoEntry is returned if the errors folder has no entry of the given name.
var ErrNoEntry = errors.New("no such entry in the errors folder")

// ErrNoBody is returned by RetryError if the entry cannot be queued again: its bytes
// were not kept, because the request was too large or not a plain file, or its group
// is not known.
var ErrNoBody = errors.New("the request's bytes were not kept")

// ListErrors returns the entries of the errors folder of the queue directory, oldest
// first. A missing folder has no entries. It and the functions below may be called
// while a host serves the queue.
func ListErrors(dir string) ([]Quarantined, error) {
	var all []Quarantined
	err := inErrors(dir, func(_, folder *os.Root) (err error) {
		all, err = listErrors(folder)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return all, err
}

// ReadError returns one entry and the request's bytes. The bytes are the container's
// and unsafe for a terminal. The error is ErrNoEntry if there is no such entry.
func ReadError(dir, name string) (Quarantined, []byte, error) {
	var x Quarantined
	var body []byte
	err := inErrors(dir, func(_, folder *os.Root) (err error) {
		x, body, err = readEntry(folder, name)
		return err
	})
	return x, body, err
}

// RetryError puts a request back into its group's queue and removes the entry. The
// request keeps its id if that id is free; otherwise it gets a new one. The errors
// ErrNoEntry and ErrNoBody are permanent.
func RetryError(dir, name string) (id string, err error) {
	err = inErrors(dir, func(base, folder *os.Root) error {
		x, body, err := readEntry(folder, name)
		if err != nil {
			return err
		}
		if len(body) == 0 || !ipc.ValidID(x.Folder) {
			return ErrNoBody
		}
		if id, err = putBack(base, x, body); err != nil {
			return err
		}
		return dropEntry(folder, name)
	})
	return id, err
}

// DropError deletes an entry, or returns ErrNoEntry.
func DropError(dir, name string) error {
	return inErrors(dir, func(_, folder *os.Root) error {
		if _, _, err := readEntry(folder, name); err != nil {
			return err
		}
		return dropEntry(folder, name)
	})
}

// inErrors opens the queue directory and the errors folder, calls fn, and closes
// both.
func inErrors(dir string, fn func(base, folder *os.Root) error) error {
	base, err := safefs.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open queue: %w", err)
	}
	defer base.Close()
	folder, err := safefs.OpenDir(base, ipc.ErrorsDir)
	if err != nil {
		return fmt.Errorf("open errors folder: %w", err)
	}
	defer folder.Close()
	return fn(base, folder)
}

func readEntry(dir *os.Root, name string) (Quarantined, []byte, error) {
	if !ipc.ValidID(name) {
		return Quarantined{}, nil, ErrNoEntry
	}
	x, reasonErr := readReason(dir, name)
	body, info, err := readRequest(dir, name+ipc.Suffix)
	if errors.Is(err, fs.ErrNotExist) {
		if errors.Is(reasonErr, fs.ErrNotExist) {
			return x, nil, ErrNoEntry
		}
		return x, nil, reasonErr
	}
	if err != nil {
		return x, nil, err
	}
	if reasonErr != nil {
		x = Quarantined{Name: name, Request: name, First: info.ModTime(), Last: info.ModTime(), Size: info.Size()}
	}
	return x, body, nil
}

func putBack(base *os.Root, x Quarantined, body []byte) (id string, err error) {
	group, err := safefs.OpenDir(base, x.Folder)
	if err != nil {
		return "", err
	}
	defer group.Close()
	messages, err := safefs.OpenDir(group, ipc.MessagesDir)
	if err != nil {
		return "", err
	}
	defer messages.Close()
	id = x.Request
	if _, err := messages.Lstat(id + ipc.Suffix); !ipc.ValidID(id) || !errors.Is(err, fs.ErrNotExist) {
		u, err := uuid.NewV7()
		if err != nil {
			return "", err
		}
		id = u.String()
	}
	if err := replaceFile(messages, id+ipc.Suffix, body); err != nil {
		return "", err
	}
	return id, syncRoot(messages)
}

// syncRoot makes a new file in a directory durable, before the other copy of the
// file is removed.
func syncRoot(dir *os.Root) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
