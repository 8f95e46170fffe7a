package sender

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/ipc"
)

// Client carries requests to the host and results back: through the queue of a shared
// directory, by HTTP (package remoteclient), or inside the host. Its methods may be called
// concurrently. An error that the caller can act on is or wraps a *remoteclient.Problem.
type Client interface {
	// Enqueue gives the host a request, durably, and returns its id. file is the type
	// of a request with one file for a host without receipts. A call with a key that an
	// earlier one had is the same request; a queue has no keys.
	Enqueue(ctx context.Context, r ipc.Request, file ipc.Type, key string) (id string, err error)
	// Wait returns at a final result, or the last one when ctx ends. It calls changed,
	// which may be nil, with each.
	Wait(ctx context.Context, id string, changed func(ipc.Result)) (ipc.Result, error)
	// Status returns the current result.
	Status(id string) (ipc.Result, error)
	// Withdraw reports whether the host will never send the request.
	Withdraw(id string) (bool, error)
	// Stage gives the host the bytes of a file and returns their path for a request.
	Stage(ctx context.Context, name string, r io.ReadSeeker) (path string, err error)
	// Unstage removes what Stage made and no request needs any more.
	Unstage(path string) error
	// Context returns the host's description of the group.
	Context() (ipc.Context, error)
}

// Files says which files the assistant has.
type Files int

const (
	FilesShared Files = iota // those of this process; the host sees some of them, too
	FilesOwn                 // those of this process; the host sees none
	FilesHosts               // those of a container elsewhere: only the host may open them
)

// queue is the Client of a shared directory, and what else can be read there.
type queue struct {
	*ipc.Client
	dir string
}

func (q queue) Enqueue(ctx context.Context, r ipc.Request, file ipc.Type, _ string) (string, error) {
	return q.EnqueueAs(ctx, r, file)
}

// Stage also creates the directory of the copies, for hosts of the older protocol.
func (q queue) Stage(_ context.Context, name string, r io.ReadSeeker) (string, error) {
	if err := os.Mkdir(filepath.Join(q.dir, ipc.FilesDir), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	rel, err := q.Client.Stage(name, r)
	return containerIPC + "/" + rel, err
}

func (q queue) Unstage(path string) error {
	return q.Client.Unstage(strings.TrimPrefix(path, containerIPC+"/"))
}

// receipts reports whether the host writes results. Hosts of the older protocol do
// not.
func (q queue) receipts() bool {
	_, err := os.Stat(filepath.Join(q.dir, ipc.ResultsDir))
	return err == nil
}

// waits reports whether a request is still in the queue.
func (q queue) waits(id string) bool {
	_, err := os.Lstat(filepath.Join(q.dir, ipc.MessagesDir, id+".json"))
	return err == nil
}

// pending returns the number of requests in the queue and the age of the oldest.
func (q queue) pending() (n int, oldest time.Duration, err error) {
	entries, err := os.ReadDir(filepath.Join(q.dir, ipc.MessagesDir))
	if err != nil {
		return 0, 0, err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		n++
		if stat, err := e.Info(); err == nil {
			oldest = max(oldest, time.Since(stat.ModTime()))
		}
	}
	return n, oldest, nil
}

// sweep removes old staged copies, because a host without receipts does not remove
// them.
func (q queue) sweep() {
	entries, err := os.ReadDir(filepath.Join(q.dir, ipc.FilesDir))
	if err != nil {
		return // there are none
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !e.IsDir() || !ipc.ValidID(e.Name()) || time.Since(info.ModTime()) < keepStaged {
			continue
		}
		_ = q.Client.Unstage(strings.Join([]string{ipc.FilesDir, e.Name(), "*"}, "/"))
	}
}

// New returns the sender for a group's queue, or for a host elsewhere if the configuration has
// its address. It opens nothing, so that a later call can report what is missing.
func New(config Config) *Sender {
	if config.Remote != nil {
		return Over(config, config.Remote, FilesOwn)
	}
	q := queue{ipc.NewClient(config.IPC), config.IPC}
	s := Over(config, q, FilesShared)
	s.queue = &q
	return s
}

// Over returns a sender that reaches the host by client. files says whether paths are
// those of this process.
func Over(config Config, client Client, files Files) *Sender {
	return &Sender{config: config, client: client, files: files, staged: map[string][]string{}}
}
