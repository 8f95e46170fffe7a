package web

import (
	"cmp"
	"fmt"
	"maps"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/media"
)

// Terms are the settings that a running page can change: everything except its address and
// token.
type Terms struct {
	Chats         []channel.NamedChat
	AssistantName string        // "Assistant" if empty
	MaxUpload     int64         // bytes of one file of a member; the limit for documents if 0
	Quota         int64         // bytes of the files of one chat, from either side; 10 GiB if 0
	Roll          bool          // delete the oldest messages with their files at the quota; else new files are refused
	Keep          time.Duration // the age at which messages are deleted with their files; 0: never
	Messages      int           // how many messages a chat keeps, give or take lengthEvery; 0: all
	KeepFree      int64         // bytes of disk that files leave free; 0: none
}

// terms are the Terms in force. They are immutable: Apply replaces them.
type terms struct {
	Terms
	order []*room          // the chats, in the order of the configuration
	chats map[string]*room // by name
	known map[string]*room // the chats, and removed chats to which accepted messages are still sent
}

// now returns the terms in force.
func (w *Web) now() *terms { return w.inForce.Load() }

// termsOf reads the channel's part of a configuration.
func termsOf(s channel.Setup) Terms {
	set := s.Settings.(*Settings)
	return Terms{
		Chats:         s.Chats,
		AssistantName: s.Assistant, MaxUpload: int64(set.Upload), KeepFree: s.FreeDisk,
		Keep: set.Keep.Std(), Messages: set.Messages, Quota: int64(set.History), Roll: set.History > 0,
	}
}

// Apply implements channel.Applier. It ends the pages of removed chats.
func (w *Web) Apply(s channel.Setup) {
	before := w.now()
	if err := w.take(termsOf(s)); err != nil { // the configuration was checked
		w.log.Error("chat page not changed", "error", err)
		return
	}
	for name := range before.chats {
		if w.now().chats[name] == nil {
			w.hub.poke(name)
		}
	}
}

// take puts t in force.
func (w *Web) take(t Terms) error {
	t.AssistantName = cmp.Or(t.AssistantName, "Assistant")
	t.MaxUpload = cmp.Or(t.MaxUpload, w.limits.Kinds[media.Document].Bytes)
	t.Quota = cmp.Or(t.Quota, 10<<30)
	next := &terms{Terms: t, chats: map[string]*room{}, known: map[string]*room{}}
	if before := w.now(); before != nil {
		maps.Copy(next.known, before.known)
	}
	for _, c := range t.Chats {
		if err := next.add(c); err != nil {
			return err
		}
	}
	w.inForce.Store(next)
	return nil
}

func (t *terms) add(c channel.NamedChat) error {
	name, ok := history.ChatOf(c.JID)
	if !ok {
		return fmt.Errorf("chat %q: use web: and then 1 to 64 of a-z, 0-9, - and _, such as web:family", c.JID)
	}
	if t.chats[name] != nil {
		return fmt.Errorf("chat %q is given twice: give each group a chat of its own", c.JID)
	}
	c.Name = cmp.Or(c.Name, name)
	r := &room{NamedChat: c, name: name}
	t.chats[name], t.known[name] = r, r
	t.order = append(t.order, r)
	return nil
}
