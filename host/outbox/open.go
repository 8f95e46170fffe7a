package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Outbox keeps deliveries and sends them. Put, Copy, Room and the operator's
// methods work whether or not Run does.
type Outbox struct {
	opts   Options
	lock   *os.File
	files  *os.File // the directory of the blobs
	db     *sql.DB
	commit *committer
	reader *Reader

	turn     int64 // the last one given; belongs to whoever commits
	early    earlyReceipts
	notifyMu sync.Mutex // OnUpdate calls, one at a time
	wake     chan struct{}
	settler  settler
	counters counters

	mu       sync.Mutex
	usage    map[string]*usage
	lines    map[string]*line
	lanes    map[laneKey]*lane
	live     map[int64]*item
	waits    waitHeap
	buffered int // deliveries in the lanes' memory
}

type counters struct {
	sent, failed, uncertain, attempts atomic.Int64
}

// Open locks the directory, opens its records and brings them in line with
// the files: blobs that no record names are removed, parts whose blob is gone
// fail with lost_bytes. It returns ErrLocked while another process has the
// outbox, ErrDamaged or ErrNewer for a database that it cannot use. Nothing is
// sent before Run.
func Open(ctx context.Context, opts Options) (_ *Outbox, err error) {
	o := &Outbox{
		opts:  opts.withDefaults(),
		wake:  make(chan struct{}, 1),
		usage: map[string]*usage{},
		lines: map[string]*line{},
		lanes: map[laneKey]*lane{},
		live:  map[int64]*item{},
	}
	o.settler.wake = make(chan struct{}, 1)
	defer func() {
		if err != nil {
			err = errors.Join(err, o.Close())
		}
	}()
	if err := os.MkdirAll(filepath.Join(o.opts.Dir, filesDir), 0o700); err != nil {
		return nil, fmt.Errorf("open the outbox: %w", err)
	}
	if err := os.Chmod(o.opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the outbox: %w", err)
	}
	if o.lock, err = lockDir(o.opts.Dir); err != nil {
		return nil, err
	}
	if o.files, err = os.Open(filepath.Join(o.opts.Dir, filesDir)); err != nil {
		return nil, fmt.Errorf("open the outbox: %w", err)
	}
	db, conn, err := openWriter(ctx, o.opts.Dir)
	if err != nil {
		return nil, err
	}
	o.db, o.commit = db, newCommitter(conn, o.files)
	if o.reader, err = OpenReader(o.opts.Dir); err != nil {
		return nil, err
	}
	for _, ch := range o.opts.Channels {
		o.line(ch.Name()).ch = ch
	}
	if err := o.recover(ctx); err != nil {
		return nil, err
	}
	return o, nil
}

// Close ends the use of the directory. Run must have returned.
func (o *Outbox) Close() error {
	var errs []error
	if o.reader != nil {
		errs = append(errs, o.reader.Close())
	}
	if o.commit != nil {
		errs = append(errs, o.commit.close(), o.db.Close())
	}
	for _, f := range []*os.File{o.files, o.lock} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// lockDir takes the lock that one process can hold. It ends with the process.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the outbox: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, ErrLocked
		}
		return nil, fmt.Errorf("lock the outbox: %w", err)
	}
	return f, nil
}

// line returns what is known of a channel; the caller holds mu, or is Open.
func (o *Outbox) line(name string) *line {
	l := o.lines[name]
	if l == nil {
		l = &line{name: name, groups: map[string]*turns{}}
		o.lines[name] = l
	}
	return l
}

// Dir is the directory that the outbox owns.
func (o *Outbox) Dir() string { return o.opts.Dir }
