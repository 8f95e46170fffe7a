package ipc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/media"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// maxAnswer is the size, in bytes, up to which the client reads a file of the host.
// Anything longer is cut off and then fails to parse.
const maxAnswer = 1 << 20

// Client is the container's end of the queue. It has no state, and no goroutine that
// it starts outlives the call. Its methods may be called concurrently.
type Client struct{ dir string }

// NewClient returns a client for a queue directory, which is /workspace/ipc in a
// container. It opens nothing.
func NewClient(dir string) *Client { return &Client{dir: dir} }

func (c *Client) path(parts ...string) string {
	return filepath.Join(append([]string{c.dir}, parts...)...)
}

// Enqueue writes a request to the queue and returns its id. After the return the
// request is durable; the request's result says whether the host accepted it. Ids
// sort in the order of the calls. If the request breaks a limit of the protocol, the
// error is a *Refusal and permanent. Every other error is temporary. After an error
// nothing is in the queue.
func (c *Client) Enqueue(ctx context.Context, r Request) (id string, err error) {
	return c.EnqueueAs(ctx, r, TypeFile)
}

// EnqueueAs is Enqueue for a fork of NanoClaw v1 that uses another type for a
// request with one file, such as "send_file". Decode accepts that type too.
func (c *Client) EnqueueAs(ctx context.Context, r Request, file Type) (id string, err error) {
	b, err := encode(r, file)
	if err != nil {
		return "", err
	}
	u, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("make request id: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	id = u.String()
	path := c.path(MessagesDir, id+Suffix)
	if err := safefs.PutFile(path, b, 0o644); err != nil {
		return "", fmt.Errorf("queue request: %w", err)
	}
	// What the sync does not find, the host has recorded. If the sync failed, the file goes: an
	// error promises that nothing is queued.
	if err := settle(path); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(os.Remove(path), fs.ErrNotExist) {
		return "", fmt.Errorf("queue request: %w", err)
	}
	return id, nil
}

// settle makes a request durable that is in the queue. The error is fs.ErrNotExist if the host
// has it: a host unlinks what it has recorded or refused. Most hosts do so within milliseconds, and
// the file then needs no sync of its own.
func settle(path string) error {
	for pause := time.Millisecond; pause < 8*time.Millisecond; pause *= 2 {
		time.Sleep(pause)
		if _, err := os.Lstat(path); err != nil {
			return err
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close(), safefs.SyncDir(filepath.Dir(path)))
}

// withdrawTimeout is how long Withdraw looks for a result of a request that it has
// unlinked. The host writes one right after it has recorded a request.
const withdrawTimeout = time.Second

// Withdraw removes a request from the queue and reports whether the host will never
// send it. False means that the host has already taken the request; the request's
// result then says what happened to it. The host may record a request in the instant
// in which it is unlinked here: so Withdraw waits a second for a result that says so.
func (c *Client) Withdraw(id string) (bool, error) {
	if !ValidID(id) {
		return false, unknown(id)
	}
	err := os.Remove(c.path(MessagesDir, id+Suffix))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("withdraw request: %w", err)
	}
	if err := safefs.SyncDir(c.path(MessagesDir)); err != nil {
		return false, fmt.Errorf("withdraw request: %w", err)
	}
	taken := func(r Result) bool { return r.Status.Final() || r.Channel != "" }
	ctx, cancel := context.WithTimeout(context.Background(), withdrawTimeout)
	defer cancel()
	r, err := c.Wait(ctx, id, func(r Result) {
		if taken(r) {
			cancel()
		}
	})
	return !taken(r), err
}

// Status returns the current result of a request. A request that still waits is
// Queued. On a host that writes no results, every request is Queued with
// CodeNoReceipts. If neither the queue nor the results hold the id, the error is a
// *Refusal with CodeUnknown; for a moment after the host has accepted a request this
// is so too, which Wait knows and Status does not.
func (c *Client) Status(id string) (Result, error) {
	if !ValidID(id) {
		return Result{}, unknown(id)
	}
	waiting := c.waits(id) // checked before the result: a refusal is written before its request is unlinked
	var r Result
	err := c.readJSON(&r, ResultsDir, id+Suffix)
	switch {
	case err == nil && (r.Status.Final() || r.Channel != ""):
		r.ID = id
		return r, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return Result{}, fmt.Errorf("read result: %w", err)
	}
	if batched, _, err := c.Batches(""); err == nil && batched[id].ID != "" {
		return batched[id], nil
	}
	if err == nil { // what it waits for
		r.ID = id
		return r, nil
	}
	if _, err := os.Stat(c.path(ResultsDir)); errors.Is(err, fs.ErrNotExist) {
		return Result{
			ID: id, Status: Queued, Code: CodeNoReceipts,
			Message: "the request was queued; this host gives no receipts, so whether it was sent is unknown",
		}, nil
	}
	if waiting {
		return Result{ID: id, Status: Queued, Message: "waiting for the host"}, nil
	}
	return Result{}, unknown(id)
}

func (c *Client) waits(id string) bool {
	_, err := os.Lstat(c.path(MessagesDir, id+Suffix))
	return err == nil
}

// Stage copies bytes into the queue directory, for a file that the host cannot open
// at its own path. The returned path is relative to the queue directory
// ("files/<uuid>/report.pdf"). The copy is durable after the return. The caller
// removes the copy with Unstage; the host deletes copies that are older than a day
// when no request waits.
func (c *Client) Stage(name string, r io.Reader) (path string, err error) {
	u, err := uuid.NewV7()
	if err != nil {
		return "", fmt.Errorf("make staging name: %w", err)
	}
	path = filepath.Join(FilesDir, u.String(), media.SafeName(name))
	dir := c.path(FilesDir, u.String())
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", fmt.Errorf("stage file: %w", err)
	}
	if err = c.stage(dir, c.path(path), r); err != nil {
		os.RemoveAll(dir)
		return "", fmt.Errorf("stage file: %w", err)
	}
	return path, nil
}

func (c *Client) stage(dir, path string, r io.Reader) error {
	// The host may be another user and has to clean up here.
	if err := os.Chmod(dir, 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if err == nil {
		err = f.Chmod(0o644) // despite the umask: the host may run as another user
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return errors.Join(safefs.SyncDir(dir), safefs.SyncDir(filepath.Dir(dir)))
}

// Unstage removes a copy that Stage made.
func (c *Client) Unstage(path string) error {
	parts := strings.Split(path, "/")
	if len(parts) != 3 || parts[0] != FilesDir || !ValidID(parts[1]) {
		return fmt.Errorf("unstage: %q was not staged here", path)
	}
	return os.RemoveAll(c.path(FilesDir, parts[1]))
}

// Context reads the host's description of the group. If the host writes none, the
// error is fs.ErrNotExist.
func (c *Client) Context() (Context, error) {
	var x Context
	if err := c.readJSON(&x, ContextDir, ContextFile); err != nil {
		return Context{}, fmt.Errorf("read context: %w", err)
	}
	return x, nil
}

func (c *Client) readJSON(to any, parts ...string) error {
	f, err := os.Open(c.path(parts...))
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxAnswer))
	if err != nil {
		return err
	}
	return json.Unmarshal(b, to)
}

func unknown(id string) *Refusal {
	return refuse(CodeUnknown, "request "+quote(id)+" is not known", "use the id that the sending tool returned; results are kept for a week")
}
