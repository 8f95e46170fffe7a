package memory

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// Send implements channel.Channel, as the script says.
func (m *Channel) Send(ctx context.Context, msg channel.Message) (channel.Receipt, error) {
	n, fault := m.p.begin(msg, m.opts.Script)
	r, err := m.send(ctx, msg, fault)
	m.p.finish(n, err)
	return r, err
}

func (m *Channel) send(ctx context.Context, msg channel.Message, f Fault) (channel.Receipt, error) {
	if err := m.refuse(ctx, msg); err != nil {
		return channel.Receipt{}, err
	}
	if err := f.wait(ctx); err != nil {
		return channel.Receipt{}, err
	}
	if f.Offline {
		m.Disconnect()
		return channel.Receipt{}, notConnected()
	}
	if !f.Shown && (f.Hang || f.Err != nil) {
		return channel.Receipt{}, f.end(ctx)
	}
	id, err := m.ticket(ctx, msg)
	if err != nil {
		return channel.Receipt{}, err
	}
	seen := Seen{Text: msg.Text, ReplyTo: msg.ReplyTo, Thread: msg.Thread, Poll: msg.Poll}
	files, err := download(ctx, msg, f.Break)
	if err != nil {
		return channel.Receipt{}, err
	}
	if len(files) > 0 {
		seen.File, seen.More = &files[0], files[1:]
	}
	r := m.p.take(id, msg.Chat, seen, m.opts)
	if f.Hang || f.Err != nil {
		return channel.Receipt{}, f.end(ctx)
	}
	return r, nil
}

// ticket is what the platform knows a message again by.
func (m *Channel) ticket(ctx context.Context, msg channel.Message) (string, error) {
	switch {
	case !m.opts.Steps:
		return msg.ID, nil
	case msg.State != nil:
		return string(msg.State), nil
	}
	id := m.p.ticket()
	return id, msg.Save(ctx, []byte(id))
}

// refuse is what the platform says before it takes anything.
func (m *Channel) refuse(ctx context.Context, msg channel.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !m.connected() {
		return notConnected()
	}
	if !m.Owns(msg.Chat) || m.opts.Chats != nil && !slices.Contains(m.opts.Chats, msg.Chat) {
		return &channel.Error{
			Class: channel.Permanent, Code: "unknown_chat", Message: "there is no such chat",
			Hint: "use the chat of a registered group",
		}
	}
	return channel.Check(m.Name(), msg, m.opts.Limits)
}

// wait is what happens before anything is shown.
func (f Fault) wait(ctx context.Context) error {
	if f.Delay > 0 && !wake.Sleep(ctx, f.Delay) {
		return ctx.Err()
	}
	if f.Wait != nil {
		select {
		case <-f.Wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// end is how Send ends when it does not go well.
func (f Fault) end(ctx context.Context) error {
	if !f.Hang {
		return f.Err
	}
	<-ctx.Done()
	if f.Shown {
		return &channel.Error{Class: channel.Ambiguous, Code: "no_answer", Message: "the platform did not answer", Err: ctx.Err()}
	}
	return ctx.Err()
}

// download reads the files as a member's device would, and breaks off after
// limit bytes where limit is not 0.
func download(ctx context.Context, m channel.Message, limit int64) (files []SeenFile, err error) {
	total := int64(0)
	for i := range m.Files {
		f := &m.Files[i]
		hash := sha256.New()
		n, err := fetch(ctx, f, hash, func(n int64) error {
			total += n
			m.Progress(total)
			if limit > 0 && total >= limit {
				return &channel.Error{Code: "upload_broke", Message: "the connection broke in the middle of the file"}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		files = append(files, SeenFile{Name: f.Name, MIME: f.MIME, Size: n, SHA256: hex.EncodeToString(hash.Sum(nil))})
	}
	return files, nil
}

// fetch copies a file in small steps, and asks after each whether to go on.
func fetch(ctx context.Context, f *channel.File, to io.Writer, step func(n int64) error) (size int64, err error) {
	r, err := f.Open()
	if err != nil {
		return 0, fmt.Errorf("open file: %w", err)
	}
	defer r.Close()
	for {
		if err := ctx.Err(); err != nil {
			return size, err
		}
		n, err := io.CopyN(to, r, 64<<10)
		size += n
		if n > 0 {
			if err := step(n); err != nil {
				return size, err
			}
		}
		if err == io.EOF {
			return size, nil
		}
		if err != nil {
			return size, fmt.Errorf("read file: %w", err)
		}
	}
}

func notConnected() error {
	return &channel.Error{Class: channel.Passing, Code: "not_connected", Message: "the channel is not connected"}
}
