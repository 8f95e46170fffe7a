package assistant

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// historyFile lists the earlier messages that a group's assistant may read again.
const historyFile = "past"

const (
	maxHistory  = 1000    // messages that are remembered; the file is cut to that when it is full
	fullHistory = 4 << 20 // bytes of the file
	pastText    = 2000    // characters of one message
	pastQuote   = 800     // bytes of what it answers
	pastAge     = 30 * 24 * time.Hour
	bringTime   = 20 * time.Second // for one file that is fetched again
	bringing    = 2                // of them at once, over all groups: whoever asks holds up its group's queue
)

// Past is a member's message that the assistant may read again.
type Past struct {
	ID     string    `json:"id"`
	Thread string    `json:"thread,omitempty"`
	From   string    `json:"from"`
	Sender string    `json:"sender,omitempty"`
	Text   string    `json:"text"`
	Time   time.Time `json:"time"`
	Chat   string    `json:"chat,omitempty"`
	Files  []file    `json:"files,omitempty"`

	Forwarded bool       `json:"forwarded,omitempty"`
	Quote     *ipc.Quote `json:"quote,omitempty"`
	Author    string     `json:"author,omitempty"` // of what is forwarded
	Change    string     `json:"change,omitempty"` // edit: Text stands in place of the message's, if Sender wrote that; deletion: it is gone
}

// history is one group's list. It has a line for each message, the newest last; if a message
// has several lines, the last one counts.
type history struct {
	path string
	mu   sync.Mutex
}

// remember adds messages to the list.
func (m *Manager) remember(c *chat, records []*record) {
	var lines []byte
	for _, r := range records {
		if r.ID == "" || r.Kind != callKind && r.Kind != contextKind {
			continue
		}
		one := Past{ID: r.ID, Thread: r.Thread, From: r.From, Sender: r.Sender, Text: media.Cut(r.Text, pastText), Time: r.Time, Chat: r.Chat, Files: r.Files, Forwarded: r.Forwarded, Author: r.Author}
		one.Quote = quoteOf(r, pastQuote)
		line, err := json.Marshal(one)
		if err == nil {
			lines = append(append(lines, '\n'), line...) // the line before may be torn
		}
	}
	m.rememberLines(c, lines)
}

// rememberChange records in the list what a member did to a message. sender is the
// member's id in the list.
func (m *Manager) rememberChange(c *chat, in channel.Inbound, sender string) {
	if in.Kind != channel.KindEdit && in.Kind != channel.KindDeletion {
		return
	}
	line, err := json.Marshal(Past{ID: in.Target, Sender: sender, Text: media.Cut(in.Text, pastText), Time: time.Now(), Change: string(in.Kind)})
	if err == nil {
		m.rememberLines(c, append([]byte{'\n'}, line...))
	}
}

func (m *Manager) rememberLines(c *chat, lines []byte) {
	if len(lines) == 0 {
		return
	}
	if err := c.history.add(lines); err != nil {
		m.o.Log.Warn("messages cannot be looked at again", "group", c.group.Folder, "error", err)
	}
}

func (p *history) add(lines []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, err := os.OpenFile(p.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(lines)
	info, statErr := f.Stat()
	if err = errors.Join(err, statErr, f.Close()); err != nil || info.Size() < fullHistory {
		return err
	}
	all, err := p.read()
	if err != nil {
		return err
	}
	var text []byte
	for _, one := range all {
		line, err := json.Marshal(one)
		if err != nil {
			return err
		}
		text = append(append(text, '\n'), line...)
	}
	return safefs.WriteFile(p.path, text[max(0, len(text)-fullHistory/2):], 0o600) // what is cut in two is no line
}

// read returns the messages, oldest first; the caller holds mu.
func (p *history) read() ([]Past, error) {
	b, err := os.ReadFile(p.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all, messages []Past
	seen, changes := map[string]bool{}, map[string]Past{}
	for line := range bytes.SplitSeq(b, []byte{'\n'}) {
		var one Past
		if json.Unmarshal(line, &one) != nil {
			continue
		}
		if one.Change == "" {
			messages = append(messages, one)
		} else if changes[one.ID].Change != string(channel.KindDeletion) {
			changes[one.ID] = one // which may stand before its message: a turn is given that later
		}
	}
	for _, one := range slices.Backward(messages) {
		if one.ID == "" || seen[one.ID] || time.Since(one.Time) > pastAge || len(all) >= maxHistory {
			continue
		}
		seen[one.ID] = true
		switch change := changes[one.ID]; channel.Kind(change.Change) {
		case channel.KindDeletion:
			continue
		case channel.KindEdit:
			if change.Sender == one.Sender {
				one.Text = change.Text
			}
		}
		all = append(all, one)
	}
	slices.Reverse(all) // in the order in which they came, which those of one second keep
	slices.SortStableFunc(all, func(a, b Past) int { return a.Time.Compare(b.Time) })
	return all, err
}

// Past returns the messages of a thread that the group's assistant may read again, oldest
// first: those that a turn was given or, if the group has history: all, every message that
// was heard. Errors pass.
func (m *Manager) Past(folder, thread string) ([]Past, error) {
	c, err := m.enter(folder)
	if err != nil {
		return nil, err
	}
	defer m.exit(c)
	c.history.mu.Lock()
	defer c.history.mu.Unlock()
	all, err := c.history.read()
	return slices.DeleteFunc(all, func(p Past) bool { return p.Thread != thread || elsewhere(p.Chat, c.group) }), err
}

// Knows reports whether a thread's assistant was given a member's message with this id of
// the platform, or may read it. Errors pass.
func (m *Manager) Knows(folder, thread, message string) (bool, error) {
	all, err := m.Past(folder, thread)
	return slices.ContainsFunc(all, func(p Past) bool { return p.ID == message }), err
}

// Bring makes sure that a file of an earlier message is in the inbox, and returns its path
// in the container. number counts from 1. Errors are refusals, or pass.
func (m *Manager) Bring(ctx context.Context, folder, thread, id string, number int) (string, error) {
	all, err := m.Past(folder, thread)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(all, func(p Past) bool { return p.ID == id })
	if i < 0 {
		return "", &refusal.Error{Code: "unknown_message", Message: "you have been given no message with that id here", Hint: "list_messages has the ids"}
	}
	if number < 1 || number > len(all[i].Files) {
		return "", &refusal.Error{Code: "no_such_file", Message: fmt.Sprintf("the message has %s, and you asked for number %d", media.Count(len(all[i].Files), "file"), number), Hint: "list_messages numbers the files from 1"}
	}
	c, err := m.enter(folder)
	if err != nil {
		return "", err
	}
	defer m.exit(c)
	f := all[i].Files[number-1]
	name := c.fetchedFiles.name(f.Ref)
	if name == "" && f.Path != "" {
		name = filepath.Base(f.Path)
	}
	if name != "" && liesInInbox(m.o.Layout.Workspace(folder), name) {
		return inboxFile(name), nil
	}
	return m.bringAgain(ctx, c, f)
}

// bringAgain fetches a file that is no longer in the inbox.
func (m *Manager) bringAgain(ctx context.Context, c *chat, f file) (string, error) {
	if f.Ref == "" {
		return "", &refusal.Error{Code: "file_gone", Message: "the file is no longer kept", Hint: "ask the member to send it again"}
	}
	select {
	case m.bringing <- struct{}{}:
		defer func() { <-m.bringing }()
	default:
		return "", &refusal.Error{Code: "fetch_busy", Message: "other files are being fetched", Hint: "call again in a minute"}
	}
	ctx, cancel := context.WithTimeout(ctx, bringTime)
	defer cancel()
	from, err := m.o.Platforms.Fetch(ctx, c.group.Channel, channel.FileRef{Chat: c.group.Chat, Ref: f.Ref})
	stored := ""
	if err == nil {
		defer from.Close()
		stored, _, err = m.store(c, f.Name, from)
	}
	if err != nil {
		m.o.Log.Info("member's earlier file not fetched", "group", c.group.Folder, "file", f.Name, "error", err)
		return "", &refusal.Error{Code: "file_gone", Message: "the file cannot be had: " + reason(errors.Join(errFetch, err)), Hint: "ask the member to send it again"}
	}
	c.fetchedFiles.note(f.Ref, stored, m.o.Log)
	return inboxFile(stored), nil
}

// remembersAll reports whether a group's assistant may read messages that it was not
// given.
func remembersAll(g groups.Group) bool { return g.History == groups.HistoryAll }
