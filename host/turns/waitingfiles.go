package turns

import (
	"fmt"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/inbound"
	"github.com/longshore-bridge/longshore/internal/wake"
)

// waitingFiles implements inbound.Group: the messages of a chat that wait for their files.
type waitingFiles struct {
	m *Manager
	c *chat
}

// Limit implements inbound.Group.
func (f waitingFiles) Limit() int64 { return f.m.o.Plans.Limits().Inbox }

// Transcriber implements inbound.Group.
func (f waitingFiles) Transcriber() inbound.Transcriber {
	return f.m.o.Plans.Transcriber(f.c.configured())
}

// Idle implements inbound.Group.
func (f waitingFiles) Idle() {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.m.forgetLeft(f.c)
}

// FetchFailed implements inbound.Group.
func (f waitingFiles) FetchFailed(w *inbound.PendingFile) {
	f.m.mu.Lock()
	if r := f.m.find(f.c, w); r != nil {
		delete(r.waits, w.Index)
	}
	f.m.mu.Unlock()
	f.m.recheck(f.c)
}

// FetchEnded implements inbound.Group.
func (f waitingFiles) FetchEnded(w *inbound.PendingFile, more bool, also ...inbound.Change) {
	notice := newRecord(inbound.Message{Key: inbound.Key("file", w.Message, fmt.Sprint(w.Index)), Text: fetchNews(w, f.c.fetches())})
	if f.c.fetches() {
		notice.Files = []inbound.File{w.File} // which it fetches by the notice
	}
	f.file(w, more, notice, also)
}

// TranscriptionEnded implements inbound.Group.
func (f waitingFiles) TranscriptionEnded(w *inbound.PendingFile, also ...inbound.Change) {
	f.file(w, false, newRecord(inbound.Message{Key: inbound.Key("speech", w.Message, fmt.Sprint(w.Index)), Text: speechNews(w)}), also)
}

// file makes durable what became of a file. A message that is not handed over yet contains it, and
// calls the assistant if the trigger was spoken. Otherwise the assistant gets the notice. The notice
// reaches a running assistant at once if the message had called it, and starts none. more says that
// the message waits on.
func (f waitingFiles) file(w *inbound.PendingFile, more bool, notice *record, also []inbound.Change) {
	m, c := f.m, f.c
	c.updating.Lock()
	defer c.updating.Unlock()
	trigger := c.configured().Trigger
	m.mu.Lock()
	r := m.find(c, w)
	notice.Kind, notice.Thread, notice.Time = inbound.KindNotice, w.Thread, time.Now()
	notice.Quiet = !w.Call && (w.Of == nil || !w.Of.Calls()) // its burst may have called the assistant
	read := false
	if r != nil {
		if !more {
			delete(r.waits, w.Index)
		}
		r.Files = slices.Clone(r.Files)
		r.Files[w.Index] = w.File
		if s := w.File.Speech; r.Kind == inbound.KindContext && s != nil && s.Text != "" && calls(trigger, s.Text) {
			r.Kind = inbound.KindCall
		}
		changed := r.Message
		also, read = append(also, c.store.Updating(&changed)), r.read()
	}
	m.mu.Unlock()
	var err error
	if r == nil || read {
		err = m.keep(c, notice, also...)
	} else {
		err = m.finish(c, nil, also...)
	}
	if err != nil {
		m.o.Log.Error("member's file not noted", "group", c.group.Folder, "file", w.File.Name, "error", err)
	}
	m.recheck(c)
}

// expect has the files of a message that is kept fetched. The message waits for the first attempts
// at them.
func (m *Manager) expect(c *chat, wants []*inbound.PendingFile) {
	if len(wants) == 0 {
		return
	}
	time.AfterFunc(filePatience, func() { m.recheck(c) })
	c.inbox.Add(wants)
}

// recheck checks which of a group's messages may be handed over.
func (m *Manager) recheck(c *chat) {
	m.mu.Lock()
	for _, t := range m.all {
		if t.chat == c && t.phase == running {
			wake.Up(t.nudge)
		}
	}
	m.mu.Unlock()
	wake.Up(m.wake)
}

// find returns the record of a file, if it is not handed over yet.
func (m *Manager) find(c *chat, w *inbound.PendingFile) *record {
	if t := m.in(c, w.Thread); t != nil {
		for _, r := range t.kept {
			if r.Key == w.Message {
				return r
			}
		}
	}
	return nil
}

// fetchNews is the text of a notice about a file whose message was handed over before.
func fetchNews(w *inbound.PendingFile, elsewhere bool) string {
	of := fmt.Sprintf("the file %q of message %s from %q", w.File.Name, w.ID, w.From)
	if w.File.Quoted {
		of = fmt.Sprintf("the file %q that message %s from %q answers", w.File.Name, w.ID, w.From)
	}
	switch {
	case w.File.Missing != "":
		return of + " cannot be had: " + w.File.Missing
	case elsewhere:
		return of + " can be fetched now, as the file of this notice"
	}
	return of + " now lies in the inbox: " + w.File.Path
}

// speechNews is the text of a notice about a voice note whose message was handed over before.
func speechNews(w *inbound.PendingFile) string {
	of, s := fmt.Sprintf("the voice note %q of message %s from %q", w.File.Name, w.ID, w.From), w.File.Speech
	if s.Missing != "" {
		return of + " has no transcript: " + s.Missing
	}
	return fmt.Sprintf("%s, transcribed by a machine, says: %q", of, s.Text)
}
