package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/ipc"
)

// HoldRequests moves all requests of the queue directory to the errors folder, with
// why as their reason, so that none is carried before an operator retries it. No host
// may run. It returns how many there were.
func HoldRequests(dir string, why ipc.Refusal) (n int, err error) {
	q := &quarantine{base: &base{path: dir}}
	defer func() { err = errors.Join(err, q.base.close()) }()
	root, err := q.base.dir()
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	infos, err := entriesOf(root)
	for _, info := range infos {
		if !info.IsDir() || info.Name() == ipc.ErrorsDir {
			continue
		}
		for _, leaf := range []string{ipc.MessagesDir, ipc.FilesDir} {
			held, failed := q.holdIn(root, info.Name(), leaf, why)
			n, err = n+held, errors.Join(err, failed)
		}
	}
	return n, err
}

func (q *quarantine) holdIn(root *os.Root, folder, leaf string, why ipc.Refusal) (n int, err error) {
	dir, err := safefs.OpenDir(root, filepath.Join(folder, leaf))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	infos, err := entriesOf(dir)
	for _, info := range infos {
		if err != nil || !ipc.IsRequest(info.Name()) || !info.Mode().IsRegular() {
			continue
		}
		body, _, failed := readRequest(dir, info.Name())
		if failed != nil { // the host refuses it, with the same reason
			continue
		}
		if err := q.hold(folder, info, body, why); err != nil {
			return n, fmt.Errorf("hold a request of %s: %w", folder, err)
		}
		n, err = n+1, dir.Remove(info.Name())
	}
	return n, err
}

func (q *quarantine) hold(folder string, info fs.FileInfo, body []byte, why ipc.Refusal) error {
	now := time.Now().UTC()
	return q.add(Quarantined{
		Folder: folder, Request: ipc.Printable(strings.TrimSuffix(info.Name(), ipc.Suffix)), Code: why.Code, Message: why.Message, Hint: why.Hint,
		Attempts: 1, First: now, Last: now, Written: writtenAt(info).UTC(),
	}, info.Name(), body)
}
