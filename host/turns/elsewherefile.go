package turns

import (
	"fmt"
	"os"
	"path"

	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// FetchFile opens a file of a message that waits; number counts from 1. The caller closes
// it. The error is ErrNoMessage, a refusal if the message has no such file or it is missing,
// or ErrNotElsewhere; others pass.
func (m *Manager) FetchFile(folder, thread, id string, number int) (*os.File, ipc.MessageFile, error) {
	c, err := m.enterElsewhere(folder)
	if err != nil {
		return nil, ipc.MessageFile{}, err
	}
	defer m.exit(c)
	r := m.waiting(c, thread, id)
	if r == nil || !c.store.made(thread, id) {
		return nil, ipc.MessageFile{}, ErrNoMessage
	}
	m.mu.Lock()
	files := r.Files // which are replaced, and never change
	m.mu.Unlock()
	if number < 1 || number > len(files) {
		return nil, ipc.MessageFile{}, &refusal.Error{Code: "no_such_file", Message: fmt.Sprintf("the message has %s, and you asked for number %d", media.Count(len(files), "file"), number), Hint: "the message's list of files has the numbers"}
	}
	f := m.messageFile(c, files[number-1], number)
	if f.Missing != "" {
		return nil, f, &refusal.Error{Code: "file_gone", Message: "the file cannot be had: " + f.Missing, Hint: "ask the member to send it again"}
	}
	opened, err := inbound.OpenFile(m.o.Layout.Workspace(folder), path.Base(files[number-1].Path), m.o.MaxFile)
	return opened, f, err
}

// messageFile describes a file. Its size is that of the bytes that would be sent.
func (m *Manager) messageFile(c *chat, f inbound.File, number int) ipc.MessageFile {
	out := ipc.MessageFile{Number: number, Name: f.Name, Kind: f.Kind, MIME: f.MIME, Quoted: f.Quoted, Missing: f.Missing}
	if f.Speech != nil {
		out.Transcript = inbound.Visible(inbound.Cut(f.Speech.Text, maxText))
	}
	if f.Missing != "" {
		return out
	}
	opened, err := inbound.OpenFile(m.o.Layout.Workspace(c.group.Folder), path.Base(f.Path), m.o.MaxFile)
	if err != nil {
		out.Missing = inbound.NotKept
		return out
	}
	defer opened.Close()
	if info, err := opened.Stat(); err == nil {
		out.Size = info.Size()
	}
	return out
}
