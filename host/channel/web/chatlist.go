package web

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/httpd"
)

const (
	maxReads  = 500 // chats for which a page reports its last message
	maxUnread = 100 // counting stops here, so that a long absence costs no more
)

// entry is a chat in the list of chats.
type entry struct {
	Chat    string   `json:"chat"` // the name in the address
	JID     string   `json:"jid"`
	Name    string   `json:"name"`
	URL     string   `json:"url"`
	Trigger string   `json:"trigger,omitempty"` // the word that calls the assistant; absent: every message does
	Last    *preview `json:"last,omitempty"`
	Unread  *int     `json:"unread,omitempty"` // after the message that the request names
}

// preview is a chat's newest message, shortened.
type preview struct {
	ID        string    `json:"id"`
	From      string    `json:"from"`
	Assistant bool      `json:"assistant"`
	Author    string    `json:"author,omitempty"`
	Text      string    `json:"text"` // without its Markdown; the file's name if there is no text
	Time      time.Time `json:"time"`
}

// listChats lists the chats. Each ?read=CHAT:ID asks for the number of messages in CHAT
// after the message ID; 100 means 100 or more.
func (w *Web) listChats(rw http.ResponseWriter, r *http.Request) error {
	reads, err := readMarks(r.URL.Query()["read"])
	if err != nil {
		return err
	}
	list := []entry{}
	for _, room := range w.now().order {
		e := entry{Chat: room.name, JID: string(room.JID), Name: cleanName(room.Name, room.name), URL: "/c/" + room.name, Trigger: room.Trigger}
		if err := w.summarize(r.Context(), &e, reads[room.name]); err != nil {
			return err
		}
		list = append(list, e)
	}
	httpd.Answer(rw, http.StatusOK, map[string]any{"chats": list})
	return nil
}

// readMarks returns the last message of each chat that a page has shown.
func readMarks(values []string) (map[string]string, error) {
	if len(values) > maxReads {
		return nil, httpd.Refuse(http.StatusBadRequest, "bad_read", "read is given too often", "give it once for each chat")
	}
	marks := map[string]string{}
	for _, v := range values {
		chat, id, _ := strings.Cut(v, ":")
		if _, known := history.ChatOf(groups.JID(history.Scheme + chat)); !known || !messageID.MatchString(id) {
			return nil, httpd.Refuse(http.StatusBadRequest, "bad_read", "read is not CHAT:ID", "use a chat and an id that the API gave; 0 stands for the beginning")
		}
		marks[chat] = id
	}
	return marks, nil
}

// summarize adds the newest message and the number of unread ones; it counts nothing after
// "".
func (w *Web) summarize(ctx context.Context, e *entry, read string) error {
	ms, err := w.store.Before(ctx, e.Chat, 1<<63-1, 1)
	if err != nil {
		return err
	}
	for _, m := range ms {
		e.Last = &preview{ID: m.ID, From: m.From, Assistant: m.Assistant, Author: m.Author, Text: m.AsQuote().Text, Time: m.Time}
	}
	if read == "" {
		return nil
	}
	var seq int64
	if read != "0" {
		if seq, _, err = w.store.SeqOf(ctx, e.Chat, read); err != nil || seq == 0 {
			return err
		}
	}
	n, err := w.store.Unread(ctx, e.Chat, seq, maxUnread)
	unread := int(n)
	e.Unread = &unread
	return err
}
