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

	"github.com/longshore-bridge/longshore/media"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/internal/safefs"
)

// maxAnswer is the largest file of the host that the client reads, in bytes.
const maxAnswer = 1 << 20

// Client is the container's end of the queue. It keeps no state and starts no
// goroutine that outlives a call; its methods may be called at the same time.
type Client struct{ dir string }

// NewClient returns the client of the queue directory, /workspace/ipc in a
// container. It opens nothing.
func NewClient(dir string) *Client { return &Client{dir: dir} }

func (c *Client) path(parts ...string) string {
	return filepath.Join(append([]string{c.dir}, parts...)...)
}

// Drop queues a request and returns its id. When it returns the request is
// durable; whether it is accepted says its result. Ids sort in the order of
// the calls. The error is a *Refusal where the request breaks a limit of the
// protocol, and passes otherwise: nothing was queued then.
func (c *Client) Drop(ctx context.Context, r Request) (id string, err error) {
	return c.DropAs(ctx, r, TypeFile)
}

// DropAs is Drop for a fork of NanoClaw v1 that knows the request of a single
// file by another type, such as "send_file". Decode takes that one too.
func (c *Client) DropAs(ctx context.Context, r Request, file Type) (id string, err error) {
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
	if err := safefs.WriteFile(c.path(MessagesDir, id+suffix), b, 0o644); err != nil {
		// After a rename whose sync did not succeed, the caller is told that
		// nothing was queued; then nothing must be.
		os.Remove(c.path(MessagesDir, id+suffix))
		return "", fmt.Errorf("queue request: %w", err)
	}
	return id, nil
}

// Withdraw takes a request back. False means that the host has it already;
// what became of it is in its result.
func (c *Client) Withdraw(id string) (bool, error) {
	if !ValidID(id) {
		return false, unknown(id)
	}
	err := os.Remove(c.path(MessagesDir, id+suffix))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("withdraw request: %w", err)
	}
	return true, safefs.SyncDir(c.path(MessagesDir))
}

// Status returns what is known of a request now. A request that waits is
// Queued; so is any on a host that writes no results, with CodeNoReceipts. The
// error is a *Refusal with CodeUnknown where neither side knows the id.
func (c *Client) Status(id string) (Result, error) {
	if !ValidID(id) {
		return Result{}, unknown(id)
	}
	waiting := c.waits(id) // asked first: a request leaves after its result came
	var r Result
	err := c.readJSON(&r, ResultsDir, id+suffix)
	switch {
	case err == nil:
		r.ID = id
		return r, nil
	case !errors.Is(err, fs.ErrNotExist):
		return Result{}, fmt.Errorf("read result: %w", err)
	}
	if _, err := os.Stat(c.path(ResultsDir)); errors.Is(err, fs.ErrNotExist) {
		return Result{
			ID: id, Status: Queued, Code: CodeNoReceipts,
			Message: "the request was queued; this host gives no receipts, so nobody can say here whether it was sent",
		}, nil
	}
	if waiting {
		return Result{ID: id, Status: Queued, Message: "waiting for the host"}, nil
	}
	return Result{}, unknown(id)
}

func (c *Client) waits(id string) bool {
	_, err := os.Lstat(c.path(MessagesDir, id+suffix))
	return err == nil
}

// Stage copies bytes into the queue's own directory, for files that the host
// could not open where they lie. The path is relative to the queue directory
// ("files/<uuid>/report.pdf"); the bytes are durable when it returns. Unstage
// removes them once the request that names them is settled; the host sweeps
// after a day what stayed.
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
		err = f.Chmod(0o644) // whatever the umask: the host may be another user
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return errors.Join(safefs.SyncDir(dir), safefs.SyncDir(filepath.Dir(dir)))
}

// Unstage removes what Stage copied, for a request that was not queued or was
// withdrawn.
func (c *Client) Unstage(path string) error {
	parts := strings.Split(path, "/")
	if len(parts) != 3 || parts[0] != FilesDir || !ValidID(parts[1]) {
		return fmt.Errorf("unstage: %q was not staged here", path)
	}
	return os.RemoveAll(c.path(FilesDir, parts[1]))
}

// Context reads what the host tells of the group. The error is fs.ErrNotExist
// on a host that tells nothing.
func (c *Client) Context() (Context, error) {
	var x Context
	if err := c.readJSON(&x, ContextDir, contextFile); err != nil {
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
