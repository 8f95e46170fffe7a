package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// told is an earlier message in an answer to list_messages.
type told struct {
	ID     string     `json:"id"`
	From   string     `json:"from"`
	Sender string     `json:"sender_id,omitempty"`
	Own    bool       `json:"own"`
	Time   time.Time  `json:"time"`
	Text   string     `json:"text"`
	Files  []toldFile `json:"files,omitempty"`

	Forwarded bool       `json:"forwarded,omitempty"`
	Author    string     `json:"author,omitempty"` // of a forwarded message
	Quote     *ipc.Quote `json:"quote,omitempty"`
}

type toldFile struct {
	Number int    `json:"number"`
	Name   string `json:"name"`
	Kind   string `json:"kind,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
	Quoted bool   `json:"quoted,omitempty"` // it belongs to the message that this one answers
}

// maxList is how many bytes the messages of one answer and their lines may take.
const maxList = ipc.MaxData - 1<<10

// remembers reports whether a group's assistant may read earlier messages.
func (h *Host) remembers(g groups.Group) bool {
	return g.Actions.Has(groups.ActHistory) && g.Assistant != ""
}

// history answers list_messages and fetch_file, for the group's own chat alone.
func (h *Host) history(ctx context.Context, c bridge.Call) (any, error) {
	g, _ := h.Registry().ByFolder(c.From.Folder())
	switch {
	case !h.remembers(g):
		return nil, &ipc.Refusal{Code: "not_allowed", Message: "the operator does not let this group look at earlier messages", Hint: "do without it"}
	case c.Chat != g.Address():
		return nil, &ipc.Refusal{Code: "not_allowed", Message: "only this chat's own messages can be looked at", Hint: "leave the chat out"}
	case c.Request.Type == ipc.TypeFetchFile:
		return h.fetchFile(ctx, c)
	}
	return h.listMessages(ctx, c)
}

// listMessages answers list_messages with the messages of this thread that members wrote and the
// assistant may read again, and with its own.
func (h *Host) listMessages(ctx context.Context, c bridge.Call) (any, error) {
	all, err := h.pastOf(ctx, c)
	if err != nil {
		return nil, err
	}
	if c.Request.Before != "" {
		i := slices.IndexFunc(all, func(m told) bool { return m.ID == c.Request.Before })
		if i < 0 {
			return nil, &ipc.Refusal{Code: "unknown_message", Message: "no message here that you may see has that id", Hint: "leave before out, and go on from the oldest message that is listed"}
		}
		all = all[:i]
	}
	shown, words := newest(all, cmp.Or(c.Request.Limit, 20), h.Zone(c.From.Folder()))
	more := len(shown) < len(all)
	switch {
	case len(all) == 0:
		words = []string{"No earlier message is known here."}
	case more:
		words = append([]string{fmt.Sprintf("There are earlier ones: call again with before %s.", shown[0].ID)}, words...)
	}
	return map[string]any{"messages": shown, "more": more, "words": strings.Join(words, "\n")}, nil
}

// newest returns the newest messages that one answer has room for, oldest first, and a line for each;
// at least one if there is any.
func newest(all []told, limit int, zone *time.Location) (shown []told, lines []string) {
	shown, room := []told{}, maxList
	for _, m := range slices.Backward(all) {
		m = m.within(maxList, zone)
		if room -= m.size(zone); len(shown) == limit || room < 0 && len(shown) > 0 {
			break
		}
		shown, lines = append(shown, m), append(lines, m.line(zone))
	}
	slices.Reverse(shown)
	slices.Reverse(lines)
	return shown, lines
}

// size returns how many bytes a message takes in an answer, with its line.
func (m told) size(zone *time.Location) int {
	message, _ := json.Marshal(m) // neither can fail
	line, _ := json.Marshal(m.line(zone))
	return len(message) + len(line)
}

// within shortens a message that alone takes more than room bytes: a member may have filled its text
// and the names of its files with characters that JSON escapes.
func (m told) within(room int, zone *time.Location) told {
	m.From, m.Author = media.Cut(m.From, 100), media.Cut(m.Author, 100)
	if m.size(zone) > room {
		m.Quote = nil
	}
	for m.size(zone) > room {
		switch n := utf8.RuneCountInString(m.Text); {
		case n > 200:
			m.Text = media.Cut(m.Text, n/2)
		case len(m.Files) > 0:
			m.Files = m.Files[:len(m.Files)/2]
		default:
			return m
		}
	}
	return m
}

// line writes a message on one line, so that no member's text looks like another message. The
// assistant's own text keeps its lines, indented.
func (m told) line(zone *time.Location) string {
	from, text := m.From, oneLine(m.Text)
	if m.Own {
		from, text = from+" (you)", strings.ReplaceAll(media.WithoutHidden(m.Text), "\n", "\n    ")
	}
	if m.Forwarded {
		by := ""
		if m.Author != "" {
			by = fmt.Sprintf(", written by %q", m.Author)
		}
		from += " (forwarded" + by + ")"
	}
	line := fmt.Sprintf("[%s] %s, %s: %s", m.ID, m.Time.In(zone).Format("2 Jan 2006 15:04"), media.Printable(from), text)
	if q := m.Quote; q != nil {
		line += " [answers " + oneLine(q.From)
		if q.Forwarded {
			line += ", forwarded"
		}
		if q.Elsewhere {
			line += ", of another chat"
		}
		line += ": " + oneLine(cmp.Or(q.Selected, q.Text)) + "]"
	}
	for _, f := range m.Files {
		of := ""
		if f.Quoted {
			of = " of what it answers"
		}
		line += fmt.Sprintf(" [file %d%s: %s, %s]", f.Number, of, media.Printable(f.Name), media.Size(f.Bytes))
	}
	return line
}

// oneLine writes a member's text on one line.
func oneLine(text string) string { return media.Printable(strings.Join(strings.Fields(text), " ")) }

// pastOf merges both sides of a thread, oldest first.
func (h *Host) pastOf(ctx context.Context, c bridge.Call) (all []told, err error) {
	members, err := h.assistants.Past(c.From.Folder(), c.Thread)
	if err != nil {
		return nil, err
	}
	for _, p := range members {
		m := told{ID: p.ID, From: p.From, Sender: p.Sender, Time: p.Time, Text: p.Text, Forwarded: p.Forwarded, Author: p.Author, Quote: p.Quote}
		for i, f := range p.Files {
			m.Files = append(m.Files, toldFile{i + 1, f.Name, f.Kind, f.Size, f.Quoted})
		}
		all = append(all, m)
	}
	own, err := h.Outbox.Reader().Said(ctx, c.Chat, c.From.Folder(), c.Thread, time.Now().Add(time.Hour), 500)
	if err != nil {
		return nil, err
	}
	for _, s := range own {
		m := told{ID: s.ID, From: h.Config().Name, Own: true, Time: s.Time, Text: media.Cut(s.Text, 2000)}
		for i, f := range s.Files {
			m.Files = append(m.Files, toldFile{i + 1, f.Name, string(f.Kind), f.Size, false})
		}
		all = append(all, m)
	}
	slices.SortStableFunc(all, func(a, b told) int { return a.Time.Compare(b.Time) })
	return all, nil
}

// fetchFile answers fetch_file: it brings a file of a member's message into the workspace.
func (h *Host) fetchFile(ctx context.Context, c bridge.Call) (any, error) {
	number := cmp.Or(c.Request.Number, 1)
	own, err := h.Outbox.Reader().Sent(ctx, c.Chat, c.From, c.Request.Target)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(own, func(s records.SentPart) bool { return s.Folder == c.From.Folder() && s.ID == c.Request.Target }) {
		return nil, &ipc.Refusal{Code: "file_gone", Message: "you sent that message, and the host keeps no copy of its files", Hint: "look for the file in your workspace"}
	}
	path, err := h.assistants.Bring(ctx, c.From.Folder(), c.Thread, c.Request.Target, number)
	if err != nil {
		return nil, err
	}
	return map[string]string{"path": path, "words": "The file lies at " + path + "."}, nil
}
