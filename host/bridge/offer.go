package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
)

// Offer accepts a request that did not come through the queue: an operator's,
// in the name of the group. It passes the same checks as the group's own.
func (b *Bridge) Offer(ctx context.Context, folder string, r ipc.Request) (outbox.Delivery, error) {
	dst, err := b.authorize(folder, r)
	if err != nil {
		return outbox.Delivery{}, err
	}
	d := hostDelivery(folder, dst, uuid.NewString())
	if d.Parts, err = b.parts(ctx, folder, "", r, dst, outbox.Load{}); err != nil {
		return outbox.Delivery{}, err
	}
	return d, b.put(ctx, d)
}

// OfferFile sends one of the operator's own files, which no mount needs to
// hold, to the group's chat.
func (b *Bridge) OfferFile(ctx context.Context, folder, name string, ref ipc.FileRef) (outbox.Delivery, error) {
	dst, err := b.authorize(folder, ipc.Request{})
	if err != nil {
		return outbox.Delivery{}, err
	}
	f, err := OpenOwn(name)
	if err != nil {
		return outbox.Delivery{}, err
	}
	defer f.Close()
	d := hostDelivery(folder, dst, uuid.NewString())
	file, err := b.take(ctx, folder, "", f, ref, dst, func(size int64) error {
		return b.Outbox.Room(folder, outbox.Load{}, outbox.Load{Parts: 1, Bytes: size})
	})
	if err != nil {
		return outbox.Delivery{}, err
	}
	d.Parts = withCaption(file, ref.Caption, dst.limits)
	return d, b.put(ctx, d)
}

// Say sends the host's own words, or the assistant's answer, to the group's
// chat. The same key said twice appears once.
func (b *Bridge) Say(ctx context.Context, folder, text, key string) error {
	dst, err := b.authorize(folder, ipc.Request{})
	if err != nil {
		return err
	}
	d := hostDelivery(folder, dst, key)
	if d.Parts = texts(text, dst.limits.Text); len(d.Parts) == 0 {
		return nil
	}
	return b.put(ctx, d)
}

// hostDelivery is a delivery without a request, whose key is derived from id.
func hostDelivery(folder string, dst destination, id string) outbox.Delivery {
	sum := sha256.Sum256([]byte(folder + "\x00host\x00" + id))
	return outbox.Delivery{
		Key: hex.EncodeToString(sum[:])[:32], Folder: folder,
		Channel: dst.channel.Name(), Chat: dst.chat, Created: time.Now(),
	}
}

func (b *Bridge) put(ctx context.Context, d outbox.Delivery) error {
	if err := b.Outbox.Put(ctx, []outbox.Delivery{d}); err != nil {
		return fmt.Errorf("record delivery: %w", err)
	}
	return nil
}

// OpenOwn opens a file that the operator named. Links are followed: it is the
// operator's right. A pipe does not make it wait.
func OpenOwn(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &ipc.Refusal{Code: "not_a_file", Message: fmt.Sprintf("%q is not a regular file", name), Hint: "give a file; pack a directory first"}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
