package turns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"syscall"
	"time"

	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/media"
)

// Transcriber turns members' voice notes into text.
type Transcriber interface {
	// Transcribe returns a machine's transcript of a sound, and the sound's duration in
	// seconds (0: unknown). It returns soon after ctx is done.
	Transcribe(ctx context.Context, sound *os.File, mime string) (text string, seconds int, err error)
}

const (
	transcribeTries = 2                // attempts at a sound, over all hosts
	maxSpeech       = 25 * media.MiB   // largest sound that is transcribed
	transcribeTime  = 10 * time.Minute // for one attempt
)

// What a prompt says about a voice note without a transcript.
const (
	notTranscribedYet = "it is still being transcribed; a notice will tell what was said"
	notTranscribed    = "it could not be transcribed; the operator's log says why"
	speechTooBig      = "it is larger than 25 MiB"
)

// speech is the transcript of a member's voice note, or the reason why there is none.
type speech struct {
	Text    string `json:"text,omitempty"`
	Seconds int    `json:"seconds,omitempty"`
	Missing string `json:"missing,omitempty"`
}

// toTranscribe reports whether a file in the inbox will be transcribed, and sets its speech.
func (m *Manager) toTranscribe(c *chat, f *file) bool {
	sound := f.Kind == string(media.Voice) || f.Kind == string(media.Audio)
	if !sound || f.Quoted || f.Missing != "" || m.o.Plans.Transcriber(c.configured()) == nil {
		return false
	}
	f.Speech = &speech{Missing: notTranscribedYet}
	if f.Size > maxSpeech {
		f.Speech.Missing = speechTooBig
		return false
	}
	return true
}

// transcribeLater passes a fetched file to the lane that transcribes. The caller has made that
// durable.
func (m *Manager) transcribeLater(c *chat, w *pendingFile) {
	m.mu.Lock()
	c.speech.files = append(c.speech.files, w)
	m.mu.Unlock()
	m.kick(c)
}

// transcribe transcribes one voice note. The start of the attempt is recorded first, so restarts
// do not pay for more attempts.
func (m *Manager) transcribe(ctx context.Context, c *chat, w *pendingFile) {
	f := w.File
	text, seconds, err := m.transcript(ctx, c, w)
	if err != nil && ctx.Err() != nil {
		return // the next host goes on
	}
	f.Speech = &speech{Text: text, Seconds: seconds}
	if err != nil {
		f.Speech.Missing = notTranscribed
		m.o.Log.Warn("voice note not transcribed", "group", c.group.Folder, "file", f.Name, "error", err)
	}
	m.transcribed(c, w, f)
}

func (m *Manager) transcript(ctx context.Context, c *chat, w *pendingFile) (text string, seconds int, err error) {
	transcriber := m.o.Plans.Transcriber(c.configured())
	if transcriber == nil {
		return "", 0, errors.New("transcription is turned off")
	}
	if w.Tries >= transcribeTries {
		return "", 0, errTried
	}
	w.Tries++
	if err := c.store.do("note attempt", c.store.pending(w)); err != nil {
		return "", 0, err
	}
	sound, err := openInbox(m.o.Layout.Workspace(c.group.Folder), path.Base(w.File.Path), maxSpeech)
	if err != nil {
		return "", 0, err
	}
	defer sound.Close()
	ctx, cancel := context.WithTimeout(ctx, transcribeTime)
	defer cancel()
	return transcriber.Transcribe(ctx, sound, w.File.MIME)
}

// openInbox opens a member's file in the inbox. The workspace belongs to the agent, so
// openInbox follows no link and does not wait for a pipe.
func openInbox(workspace, name string, most int64) (*os.File, error) {
	home, err := openDir(workspace)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	defer home.Close()
	inbox, err := safefs.OpenDir(home, inboxDir)
	if err != nil {
		return nil, fmt.Errorf("open inbox: %w", err)
	}
	defer inbox.Close()
	f, err := inbox.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open member's file: %w", err)
	}
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() || fi.Size() > most {
		return nil, errors.Join(fmt.Errorf("open member's file: it is no file of at most %s any more", media.Size(most)), err, f.Close())
	}
	return f, nil
}

// transcribed ends a want after its transcription, or if there will be none. A message that is
// not handed over yet contains the result, and calls the assistant if the trigger was
// spoken. Otherwise the assistant gets a notice.
func (m *Manager) transcribed(c *chat, w *pendingFile, f file) {
	c.updating.Lock()
	defer c.updating.Unlock()
	trigger := c.configured().Trigger
	m.mu.Lock()
	r := m.find(c, w)
	quiet := !w.Call && (w.of == nil || !w.of.calls())
	var changed record
	if r != nil {
		delete(r.waits, w.Index)
		r.Files = slices.Clone(r.Files)
		r.Files[w.Index] = f
		if r.Kind == contextKind && f.Speech.Text != "" && calls(trigger, f.Speech.Text) {
			r.Kind = callKind
		}
		changed = *r
	}
	m.mu.Unlock()
	var notice *record
	if r == nil || changed.read() {
		notice = &record{Key: key("speech", w.Message, fmt.Sprint(w.Index)), Kind: noticeKind, Thread: w.Thread, Quiet: quiet, Text: wordsOf(w, f), Time: time.Now()}
	}
	if err := m.recordFile(c, r, &changed, notice, c.store.dropPending(w)); err != nil {
		m.o.Log.Error("transcript not noted", "group", c.group.Folder, "file", f.Name, "error", err)
	}
	m.recheck(c)
}

// wordsOf is the text of a notice about a voice note whose message was handed over before.
func wordsOf(w *pendingFile, f file) string {
	of := fmt.Sprintf("the voice note %q of message %s from %q", f.Name, w.ID, w.From)
	if f.Speech.Missing != "" {
		return of + " has no transcript: " + f.Speech.Missing
	}
	return fmt.Sprintf("%s, transcribed by a machine, says: %q", of, f.Speech.Text)
}
