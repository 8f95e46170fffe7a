// Package bridge turns a request into a delivery: authorize, open, check,
// copy, record.
//
// One request goes in, one verdict comes out. Each step takes a weaker type
// and makes a stronger one: a claimed chat becomes a groups.JID, a container's
// path becomes an open groups.File, that file becomes media.Info and an
// outbox.Blob. All refusals are made here or before; after the outbox has the
// record, only the channel can still fail.
//
// The package keeps no state and starts no goroutine. It does not read the
// queue's directories, and it does not send.
package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
)

// Options is what a Bridge works with. Registry, Mounts, Channels and Outbox
// are needed; the rest may be zero.
type Options struct {
	Registry *groups.Registry
	Mounts   map[string]*groups.MountMap // by folder
	Channels []channel.Channel
	Outbox   *outbox.Outbox

	// Pending says whether a request still lies in its queue. It is asked
	// last, right before the record: what the container has withdrawn by
	// then is forgotten. Nil means that nothing can be withdrawn.
	Pending func(folder, name string) bool

	Log   *slog.Logger                       // nil discards
	Trace func(folder, request, step string) // may be nil
}

// Bridge accepts requests. Its methods may be called from several goroutines.
type Bridge struct{ Options }

// New returns a bridge. It owns nothing of what it is given.
func New(o Options) *Bridge {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Trace == nil {
		o.Trace = func(string, string, string) {}
	}
	if o.Pending == nil {
		o.Pending = func(string, string) bool { return true }
	}
	return &Bridge{o}
}

// Handle is the spool's handler: it accepts the drops of one group, in order,
// and records all that it accepts in one commit. A verdict of Later leaves the
// request where it is; then all that follow it are left too, so that nothing
// overtakes.
func (b *Bridge) Handle(ctx context.Context, folder string, drops []ipc.Drop) []ipc.Verdict {
	verdicts := make([]ipc.Verdict, len(drops))
	keys := make([]string, len(drops))
	for i, d := range drops {
		keys[i] = Key(folder, d)
	}
	known, err := b.Outbox.Reader().Known(ctx, keys)
	if err != nil {
		if ctx.Err() == nil { // else the host is ending, and the next one takes them
			b.Log.Error("requests not accepted, will be tried again", "group", folder, "error", err)
		}
		leave(verdicts, ipc.Verdict{Later: true})
		return verdicts
	}
	var batch batch
	for i, d := range drops {
		if known[keys[i]] {
			continue // recorded before a crash; what is left is to unlink it
		}
		delivery, err := b.accept(ctx, folder, keys[i], d, batch.load)
		if err == nil {
			batch.add(i, delivery)
			continue
		}
		verdicts[i] = b.verdict(folder, d.ID, err)
		if verdicts[i].Later {
			leave(verdicts[i:], verdicts[i])
			break
		}
	}
	b.record(ctx, drops, &batch, verdicts)
	return verdicts
}

// batch is what Handle has accepted and not yet recorded.
type batch struct {
	index      []int // of each delivery among the drops
	deliveries []outbox.Delivery
	load       outbox.Load
}

func (b *batch) add(i int, d outbox.Delivery) {
	b.index = append(b.index, i)
	b.deliveries = append(b.deliveries, d)
	b.load.Parts += len(d.Parts)
	for _, p := range d.Parts {
		if p.File != nil {
			b.load.Bytes += p.File.Size
		}
	}
}

// record makes the batch durable, all of it or nothing.
func (b *Bridge) record(ctx context.Context, drops []ipc.Drop, batch *batch, verdicts []ipc.Verdict) {
	var standing []outbox.Delivery
	for k, d := range batch.deliveries {
		if b.Pending(d.Folder, drops[batch.index[k]].Name) {
			standing = append(standing, d)
			continue
		}
		b.discard(d)
		b.Log.Debug("request withdrawn", "group", d.Folder, "request", d.Request)
	}
	if len(standing) == 0 {
		return
	}
	if err := b.Outbox.Put(ctx, standing); err != nil { // the blobs are the outbox's to remove
		b.Log.Error("record deliveries", "group", standing[0].Folder, "count", len(standing), "error", err)
		leave(verdicts[batch.index[0]:], ipc.Verdict{Later: true})
		return
	}
	for _, d := range standing {
		b.Trace(d.Folder, d.Request, "recorded")
	}
}

// leave gives every accepted or unseen drop the verdict v; refusals stay.
func leave(verdicts []ipc.Verdict, v ipc.Verdict) {
	for i := range verdicts {
		if verdicts[i].Refusal == nil {
			verdicts[i] = v
		}
	}
}

// accept makes a delivery of one drop. An error is a refusal, which has the
// method Refusal, or passes.
func (b *Bridge) accept(ctx context.Context, folder, key string, d ipc.Drop, ahead outbox.Load) (outbox.Delivery, error) {
	dst, err := b.authorize(folder, d.Request)
	if err != nil {
		return outbox.Delivery{}, err
	}
	b.Trace(folder, d.ID, "authorized")
	delivery := outbox.Delivery{
		Key: key, Folder: folder, Request: d.ID,
		Channel: dst.channel.Name(), Chat: dst.chat, Created: time.Now(),
	}
	delivery.Parts, err = b.parts(ctx, origin{folder, d.ID, b.Mounted(folder)}, d.Request, dst, ahead)
	return delivery, err
}

// Key names a request for good: the same file seen again after a crash has
// the same key, a new request under an old name has another.
func Key(folder string, d ipc.Drop) string {
	h := sha256.New()
	for _, s := range []string{folder, d.Name, strconv.FormatInt(d.ModTime.UnixNano(), 10)} {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	h.Write(d.Body)
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// refuser is an error that crosses the mount: its words were chosen for the
// agent. Errors without it stay with the operator.
type refuser interface {
	error
	Refusal() (code, message, hint string)
}

// verdict turns an error of accept into the protocol's reply.
func (b *Bridge) verdict(folder, request string, err error) ipc.Verdict {
	var full *outbox.FullError
	if errors.As(err, &full) {
		b.Log.Warn("request waits", "group", folder, "request", request, "error", err)
		return ipc.Verdict{Later: true, Code: full.Code, Note: full.Message}
	}
	if r := AsRefusal(err); r != nil {
		// The spool tells the operator; the cause may say more than the refusal.
		b.Log.Debug("request refused", "group", folder, "request", request, "code", r.Code, "error", err)
		return ipc.Verdict{Refusal: r}
	}
	b.Log.Error("request not accepted, will be tried again", "group", folder, "request", request, "error", err)
	return ipc.Verdict{Later: true}
}

// AsRefusal returns the refusal that err is, or nil where it is none.
func AsRefusal(err error) *ipc.Refusal {
	var own *ipc.Refusal
	if errors.As(err, &own) {
		return own
	}
	var r refuser
	if !errors.As(err, &r) {
		return nil
	}
	code, message, hint := r.Refusal()
	return &ipc.Refusal{Code: code, Message: message, Hint: hint}
}

func (b *Bridge) discard(d outbox.Delivery) {
	for _, p := range d.Parts {
		if p.File != nil {
			b.Outbox.Discard(outbox.Blob{Name: p.File.Blob})
		}
	}
}
