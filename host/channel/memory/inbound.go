package memory

import (
	"bytes"
	"context"
	"io"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/media"
)

var _ channel.Fetcher = (*Channel)(nil)

// Say lets a member write, or do something else. It waits for Run, fills an empty
// ID, From and Time, and returns what the inbox said. What the inbox did not keep
// stays with the platform, which brings it to the next channel that runs.
func (m *Channel) Say(ctx context.Context, msg channel.Inbound) error {
	in, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer m.saying.Done()
	return m.p.bring(ctx, in, m.p.filled(msg))
}

// bring gives the inbox a message, and keeps it if the inbox does not.
func (p *platform) bring(ctx context.Context, in channel.Inbox, msg channel.Inbound) error {
	err := in.Receive(ctx, msg)
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.unread = append(p.unread, msg)
	}
	return err
}

// bringUnread gives the inbox what it did not keep before.
func (p *platform) bringUnread(ctx context.Context, in channel.Inbox) {
	p.mu.Lock()
	unread := p.unread
	p.unread = nil
	p.mu.Unlock()
	for _, msg := range unread {
		_ = p.bring(ctx, in, msg) // it is unread again
	}
}

// memberFile is a file that a member sent.
type memberFile struct {
	chat groups.JID
	data []byte
}

// Attach puts a member's file on the platform.
func (m *Channel) Attach(name, mimeType string, data []byte) channel.Attachment {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	ref := "file " + m.p.newID()
	m.p.files[ref] = memberFile{data: data}
	return channel.Attachment{
		Info: media.Info{Name: media.SafeName(name), MIME: mimeType, Kind: media.KindByName(name), Size: int64(len(data))}, Ref: ref,
	}
}

// Expire makes the platform forget the files of members.
func (m *Channel) Expire() {
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	clear(m.p.files)
}

// Fetch implements channel.Fetcher.
func (m *Channel) Fetch(ctx context.Context, f channel.FileRef) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !m.connected() {
		return nil, &channel.Error{Class: channel.Held, Code: "not_connected", Message: "the channel is not connected"}
	}
	m.p.mu.Lock()
	defer m.p.mu.Unlock()
	file, there := m.p.files[f.Ref]
	if !there || file.chat != f.Chat {
		return nil, channel.Unfetchable("the platform no longer has the file")
	}
	return closer{bytes.NewReader(file.data)}, nil
}

// Report lets a member's device report of a message. It waits for Run.
func (m *Channel) Report(ctx context.Context, chat groups.JID, id string, state channel.State) error {
	in, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer m.saying.Done()
	in.Report(ctx, chat, id, state)
	return nil
}
