package outbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/blob"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/media"
)

// Acceptance has three steps, which the caller makes: Room asks whether there is room,
// Copy or CopyFile keeps the bytes, Put records the delivery. Check makes all three.

// Load is a number of messages and the bytes of their files.
type Load struct {
	Parts        int
	Bytes        int64
	Questions    int   // Room ignores it
	Links        int64 // bytes of files behind links, of which RoomForLink takes account
	Waiting      int   // messages that wait for an approval, of which RoomToWait takes account
	WaitingBytes int64 // of their files
}

// Room returns nil if a group may add more, or else an error that passes, usually a
// *FullError. ahead is what the caller has accepted from the group and not yet passed to
// Put. A single request that is larger than the whole quota has room if the group has
// nothing else waiting. Room checks the disk for the group's first request, and for every
// request with bytes; what the whole disk cannot hold is a *refusal.Error, which is final.
func (o *Outbox) Room(folder string, ahead, more Load) error {
	most, first := o.limits(), ahead == Load{}
	o.mu.Lock()
	u := o.usage[folder]
	o.mu.Unlock()
	ahead.Parts += u.Parts
	ahead.Bytes += u.Bytes
	full := &FullError{Code: "over_quota", Hint: "it is taken by itself once earlier ones are sent; do not call again"}
	switch {
	case ahead.Parts > 0 && ahead.Parts+more.Parts > most.QuotaPending:
		full.Message = fmt.Sprintf("%d messages of this group are still waiting to be sent, at most %d may", ahead.Parts, most.QuotaPending)
	case ahead.Bytes > 0 && ahead.Bytes+more.Bytes > most.QuotaBytes:
		full.Message = fmt.Sprintf("%s of this group's files are still waiting to be sent, at most %s may",
			media.Size(ahead.Bytes), media.Size(most.QuotaBytes))
	case first || more.Bytes > 0:
		return o.accepting(more.Bytes)
	default:
		return nil
	}
	return full
}

// accepting returns the reason why nothing can be accepted now, or nil. bytes is the size
// of the request. Acceptance and Check both call it, so that they agree.
func (o *Outbox) accepting(bytes int64) error {
	if err := o.state.Replaced(); err != nil {
		return err
	}
	keep := o.limits().FreeDisk
	if keep <= 0 {
		return nil
	}
	free, total, err := o.state.Blobs.Space()
	switch {
	case err != nil:
		return fmt.Errorf("ask for free space: %w", err)
	case keep < total && bytes > total-keep:
		return &refusal.Error{Code: "file_too_large", Hint: "send a smaller file",
			Message: fmt.Sprintf("the file has %s, and the host's disk can hold %s", media.Size(bytes), media.Size(total-keep))}
	case free-bytes < keep:
		full := diskFull(fmt.Errorf("%s of the disk are free, and limits.free_disk is %s", media.Size(free), media.Size(keep)))
		if bytes > 0 {
			full.Message += ": it has no room for " + media.Size(bytes)
		}
		return full
	}
	return nil
}

// Blob is a file's bytes in the outbox. They stay once Put has recorded a delivery that
// names them.
type Blob = blob.Blob

// Copy stores exactly size bytes of r. The error is ErrChanged if r has fewer or more. The
// caller discards the Blob if it does not pass it to Put.
func (o *Outbox) Copy(ctx context.Context, r io.Reader, size int64) (Blob, error) {
	b, err := o.state.Blobs.Stage(ctx, r, size, nil)
	switch {
	case errors.Is(err, blob.ErrTooLarge):
		return Blob{}, ErrChanged
	case err != nil:
		return Blob{}, orDiskFull(err)
	case b.Size < size:
		o.Discard(b)
		return Blob{}, ErrChanged
	}
	return b, nil
}

// CopyFile stores a file as it is now, see [blob.Store.Snapshot]. The caller discards the
// Blob if it does not pass it to Put.
func (o *Outbox) CopyFile(ctx context.Context, f *os.File, size int64) (Blob, error) {
	b, err := o.state.Blobs.Snapshot(ctx, f, size)
	return b, orDiskFull(err)
}

// Kept calls read with the bytes of a blob, of which it needs the name, hash and size; or the bytes,
// if it is a small one that was not passed to Put.
func (o *Outbox) Kept(ctx context.Context, b Blob, read func(io.ReaderAt) error) error {
	if b.Bytes != nil {
		return read(bytes.NewReader(b.Bytes))
	}
	f, err := o.state.Blobs.Open(ctx, b.Name, b.SHA256, b.Size)
	if err != nil {
		return fmt.Errorf("read a kept file: %w", err)
	}
	return readAt(f, read)
}

// readAt calls read with a kept file, and closes it.
func readAt(f io.ReadSeekCloser, read func(io.ReaderAt) error) error {
	defer func() { _ = f.Close() }() // which was only read
	at, ok := f.(io.ReaderAt)
	if !ok {
		return fmt.Errorf("read a kept file: %T", f)
	}
	return read(at)
}

// Discard deletes a blob that was not passed to Put.
func (o *Outbox) Discard(b Blob) { o.discard(b.Name) }

func (o *Outbox) discard(names ...string) {
	if err := o.state.Blobs.Discard(names...); err != nil {
		o.opts.Log.Warn("remove a file that was not recorded", "error", err)
	}
}

// removeBlobs deletes files that no record needs. The next start moves files aside that
// cannot be deleted now.
func (o *Outbox) removeBlobs(names ...string) {
	if err := o.state.Blobs.Remove(names...); err != nil {
		o.opts.Log.Warn("remove a file that was sent", "error", err)
	}
}

// Put makes deliveries durable, in their order, or returns an error and records none of
// them. It silently skips a delivery whose Key is known. The blobs belong to the outbox
// from the call on, whatever Put returns: to try again, copy again. Put waits for the
// disk; concurrent calls share one commit. ctx ends the wait for the commit, not the
// commit.
func (o *Outbox) Put(ctx context.Context, ds []records.Delivery) error {
	p := &putting{o: o, items: make([]*item, len(ds))}
	var invalid error
	for i := range ds {
		it, err := newItem(&ds[i])
		p.items[i], invalid = it, errors.Join(invalid, err)
		p.blobs = append(p.blobs, it.Blobs()...)
	}
	if err := errors.Join(invalid, ctx.Err()); err != nil {
		o.discard(p.blobs...)
		return fmt.Errorf("put: %w", err)
	}
	if o.sendAtOnce(ctx, p) {
		return nil
	}
	if err := o.state.Blobs.Publish(ctx, p.blobs...); err != nil {
		o.discard(p.blobs...)
		return fmt.Errorf("put: %w", orDiskFull(err))
	}
	if err := o.state.DoBeside(ctx, p.record, p.recorded); err != nil {
		if !errors.Is(err, store.ErrDoubtful) {
			o.discard(p.blobs...)
		}
		return fmt.Errorf("put: %w", orDiskFull(err))
	}
	o.discard(p.unused...)
	o.poke()
	return nil
}

// putting is one Put.
type putting struct {
	o        *Outbox
	items    []*item
	blobs    []string
	unused   []string // blobs that no record names
	replaced []int64  // deliveries whose request has the id of a new one
}

func (p *putting) record(t *state.Tx) (err error) {
	t.KeepFiles = t.KeepFiles || slices.ContainsFunc(p.blobs, blob.IsName)
	if p.unused, err = p.o.insertAll(t, p.items); err != nil {
		return err
	}
	p.replaced = nil
	if i := slices.IndexFunc(p.items, func(it *item) bool { return it.ID != 0 && it.Request != "" }); i >= 0 {
		p.replaced, err = records.Replace(t, p.items[i].ID)
	}
	return err
}

// recorded updates memory after the record. It runs in the commit.
func (p *putting) recorded() {
	o := p.o
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, it := range p.items {
		it.Small = nil
		if it.Approval != nil || slices.ContainsFunc(it.Parts, func(p records.Part) bool { return p.Question != nil }) {
			wake.Up(o.asking)
		}
		switch {
		case it.ID == 0:
			continue
		case it.Approval != nil:
			o.use(it.Folder, it.Waiting())
			o.changed(it)
			continue
		case it.Open():
			o.accept(it)
		default:
			o.live[it.ID] = it // for NextChanges
		}
		// The result of an earlier request may stand in its place.
		if len(p.replaced) > 0 || it.Parts[0].State.Sent() {
			o.changed(it)
		}
	}
	for _, id := range p.replaced {
		if it := o.live[id]; it != nil {
			it.replaced = true
		}
	}
}

// insertAll records the new items. It returns the blobs of the other items that no record
// names.
func (o *Outbox) insertAll(t *state.Tx, items []*item) (unused []string, err error) {
	now := time.Now()
	last, err := records.TakeTurns(t, len(items))
	if err != nil {
		return nil, err
	}
	for i, it := range items {
		it.Turn = last - int64(len(items)-1-i)
		it.Held = o.heldTotal(it.Channel, now)
		if err := records.Insert(t, &it.Record, now); err != nil {
			return nil, err
		}
		if it.ID != 0 {
			continue
		}
		some, err := records.Unnamed(t, it.Blobs())
		if err != nil {
			return nil, err
		}
		unused = append(unused, some...)
	}
	return unused, nil
}

// newItem checks a delivery and fills in its defaults. It returns an item, which has the
// blobs, even with an error.
func newItem(d *records.Delivery) (*item, error) {
	it := &item{Record: records.Record{Delivery: d.Clone()}}
	if it.Created.IsZero() {
		it.Created = time.Now()
	}
	if it.Asked.IsZero() {
		it.Asked = it.Created
	}
	switch {
	case !blob.IsName(d.Key): // a key has the same form
		return it, fmt.Errorf("key %q is not 32 lower-case hex digits", d.Key)
	case len(d.Parts) == 0:
		return it, fmt.Errorf("delivery %s has no parts", d.Key)
	case d.Channel == "" || d.Chat == "":
		return it, fmt.Errorf("delivery %s names no chat", d.Key)
	}
	for i := range it.Parts {
		p := &it.Parts[i]
		p.State, p.Doubt = records.Queued, time.Time{}
		p.MessageID = records.MessageID(d.Key, i)
		if p.Question != nil {
			p.Question = it.ask(p.Question)
		}
		if !p.Plain() && len(p.Files) > 0 {
			return it, fmt.Errorf("delivery %s has files and is no plain message", d.Key)
		}
		if err := it.checkLink(p); err != nil {
			return it, err
		}
		p.Files = slices.Clone(p.Files)
		for j := range p.Files {
			f := &p.Files[j]
			if blob.IsName(f.Blob) == (f.Bytes != nil) || !blob.IsBlob(f.Blob) {
				return it, fmt.Errorf("delivery %s has a file without a blob", d.Key)
			}
			if f.Bytes != nil {
				it.Small = append(it.Small, *f)
				f.Bytes = nil
			}
		}
	}
	if it.Approval != nil {
		return it, it.await()
	}
	return it, nil
}

// Check does what acceptance does, with a large file and a dummy record, and returns the
// problem it meets: nil, a *FullError, or an error with words for the operator. It waits
// until ctx is done at most, even if the disk hangs; the check then continues, and later
// callers wait for the same check.
func (o *Outbox) Check(ctx context.Context) error {
	select {
	case o.checking <- struct{}{}:
	case <-ctx.Done():
		return o.slow()
	}
	done := make(chan error, 1)
	go func() {
		defer func() { <-o.checking }()
		done <- o.check(context.WithoutCancel(ctx))
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return o.slow()
	}
}

var errSlow = errors.New("the outbox's disk does not answer in time")

// busyTime is how long another process may have a lock before that is told.
const busyTime = time.Second / 2

// slow says what keeps a check from its end.
func (o *Outbox) slow() error { return cmp.Or(o.state.Spec.Busy(), errSlow) }

func (o *Outbox) check(ctx context.Context) error {
	if err := o.accepting(blob.Small + 1); err != nil {
		return err
	}
	if o.state.Spec.Busy() != nil && wake.Sleep(ctx, busyTime) {
		if err := o.state.Spec.Busy(); err != nil { // a commit would wait for long
			return err
		}
	}
	if _, err := o.reader.Known(ctx, []string{""}); err != nil {
		return err
	}
	b, err := o.Copy(ctx, bytes.NewReader(make([]byte, blob.Small+1)), blob.Small+1)
	if err != nil {
		return err
	}
	defer o.Discard(b)
	return o.state.Spec.Explain("write to", orDiskFull(o.state.Do(ctx, func(t *state.Tx) error {
		t.KeepFiles = true
		return t.Exec(store.Probe, time.Now().UnixNano())
	}, nil)))
}
