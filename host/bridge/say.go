package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// SendFor accepts a request of the operator in the name of a group. It passes the same
// checks as the group's own, but needs no approval. open opens the files that it names.
func (b *Bridge) SendFor(ctx context.Context, folder string, r ipc.Request, open Opener) (records.Delivery, error) {
	dst, err := b.authorize(folder, r)
	if err == nil {
		err = b.State.LostFiles()
	}
	if err != nil {
		return records.Delivery{}, err
	}
	d := ownDelivery(folder, dst, uuid.NewString())
	d.Thread = dst.thread(r)
	if d.Parts, err = b.parts(ctx, origin{folder: folder, open: open, found: new(spool.Found)}, r, dst, outbox.Load{}); err != nil {
		return records.Delivery{}, err
	}
	return d, b.put(ctx, judged{d})
}

// Say sends the assistant's answer to a thread of the group's chat; an empty thread is the
// chat itself. A second call with the same key does nothing.
func (b *Bridge) Say(ctx context.Context, folder, thread, text, key string) error {
	return b.say(ctx, folder, thread, text, key, false)
}

// Tell sends a message of the host likewise, which no assistant may read or change.
func (b *Bridge) Tell(ctx context.Context, folder, thread, text, key string) error {
	return b.say(ctx, folder, thread, text, key, true)
}

func (b *Bridge) say(ctx context.Context, folder, thread, text, key string, host bool) error {
	dst, err := b.authorize(folder, ipc.Request{})
	if err != nil {
		return err
	}
	d := ownDelivery(folder, dst, key)
	d.Thread = thread
	if d.Parts = texts(text, dst.limits); len(d.Parts) == 0 {
		return nil
	}
	for i := range d.Parts {
		d.Parts[i].Host = host
	}
	return b.judgeAndPut(ctx, dst, d)
}

// React puts an emoji on a message of the group's own chat, or removes it if emoji is empty,
// and returns once that is durable. A second call with the same key does nothing, and
// neither does a call for a channel without reactions.
func (b *Bridge) React(ctx context.Context, folder, thread, target, emoji, key string) error {
	dst, err := b.authorize(folder, ipc.Request{})
	if err != nil || !outbox.Can(dst.channel, records.VerbReact) {
		return err
	}
	d := ownDelivery(folder, dst, key)
	d.Thread, d.Parts = thread, []records.Part{{Act: &records.Act{Verb: records.VerbReact, Target: target, Emoji: emoji}}}
	return b.judgeAndPut(ctx, dst, d)
}

// Room returns why no further message of the group may be accepted now, which passes; nil:
// it may.
func (b *Bridge) Room(folder string) error {
	if err := b.State.LostFiles(); err != nil {
		return err
	}
	return b.Outbox.Room(folder, outbox.Load{}, outbox.Load{Parts: 1})
}

// SentSince reports whether anything from a group was accepted at or after the time. The
// host's own words in other threads do not count, and neither does what Say took under the
// keys in but. If the outbox cannot be read, the answer is yes: the caller would otherwise
// send something twice.
func (b *Bridge) SentSince(folder, thread string, since time.Time, but ...string) bool {
	keys := make([]string, len(but))
	for i, id := range but {
		keys[i] = hostKey(folder, id)
	}
	found, err := b.Outbox.Reader().AcceptedSince(context.Background(), folder, thread, since, keys...)
	if err != nil {
		b.Log.Error("look for deliveries", "group", folder, "error", err)
	}
	return found || err != nil
}

// AskedSince reports whether a request of the group was accepted at or after the time. If the
// outbox cannot be read, the answer is yes, as SentSince's.
func (b *Bridge) AskedSince(folder string, since time.Time) bool {
	found, err := b.Outbox.Reader().RequestedSince(context.Background(), folder, since)
	if err != nil {
		b.Log.Error("look for deliveries", "group", folder, "error", err)
	}
	return found || err != nil
}

// ownDelivery returns a delivery without a request, whose key is derived from id.
func ownDelivery(folder string, dst destination, id string) records.Delivery {
	return records.Delivery{
		Key: hostKey(folder, id), Folder: folder,
		Channel: dst.channel.Name(), Chat: dst.chat, Created: time.Now(),
	}
}

func hostKey(folder, id string) string {
	sum := sha256.Sum256([]byte(folder + "\x00host\x00" + id))
	return hex.EncodeToString(sum[:])[:32]
}

// judgeAndPut records the host's own delivery, which the policy judges too.
func (b *Bridge) judgeAndPut(ctx context.Context, dst destination, d records.Delivery) error {
	j, err := b.judge(ctx, dst, d, outbox.Load{})
	if err != nil {
		return err
	}
	return b.put(ctx, j)
}

// put records deliveries, all or none.
func (b *Bridge) put(ctx context.Context, all ...judged) error {
	ds := make([]records.Delivery, len(all))
	for i := range all {
		ds[i] = all[i].Delivery
	}
	if err := b.Outbox.Put(ctx, ds); err != nil {
		return fmt.Errorf("record delivery: %w", err)
	}
	return nil
}
