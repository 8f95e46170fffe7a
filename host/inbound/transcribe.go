package inbound

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"syscall"
	"time"

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

// toTranscribe reports whether a file in the inbox will be transcribed, and sets its speech.
func (b *Inbox) toTranscribe(f *File) bool {
	sound := f.Kind == string(media.Voice) || f.Kind == string(media.Audio)
	if !sound || f.Quoted || f.Missing != "" || b.of.Transcriber() == nil {
		return false
	}
	f.Speech = &Speech{Missing: notTranscribedYet}
	if f.Size > maxSpeech {
		f.Speech.Missing = speechTooBig
		return false
	}
	return true
}

// transcribe transcribes one voice note. The start of the attempt is recorded first, so restarts
// do not pay for more attempts.
func (b *Inbox) transcribe(ctx context.Context, w *PendingFile) {
	f := w.File
	text, seconds, err := b.transcript(ctx, w)
	if err != nil && ctx.Err() != nil {
		return // the next host goes on
	}
	f.Speech = &Speech{Text: text, Seconds: seconds}
	if err != nil {
		f.Speech.Missing = notTranscribed
		b.f.Log.Warn("voice note not transcribed", "group", b.group.Folder, "file", f.Name, "error", err)
	}
	w.File = f
	b.of.TranscriptionEnded(w, b.store.DropPending(w))
}

func (b *Inbox) transcript(ctx context.Context, w *PendingFile) (text string, seconds int, err error) {
	transcriber := b.of.Transcriber()
	if transcriber == nil {
		return "", 0, errors.New("transcription is turned off")
	}
	if w.Tries >= transcribeTries {
		return "", 0, errTried
	}
	w.Tries++
	if err := b.store.Do("note attempt", b.store.Pending(w)); err != nil {
		return "", 0, err
	}
	sound, err := OpenFile(b.workspace(), path.Base(w.File.Path), maxSpeech)
	if err != nil {
		return "", 0, err
	}
	defer sound.Close()
	ctx, cancel := context.WithTimeout(ctx, transcribeTime)
	defer cancel()
	return transcriber.Transcribe(ctx, sound, w.File.MIME)
}

// OpenFile opens a member's file in a workspace's inbox. The workspace belongs to the agent, so
// OpenFile follows no link and does not wait for a pipe.
func OpenFile(workspace, name string, most int64) (*os.File, error) {
	inbox, err := openInbox(workspace, false)
	if err != nil {
		return nil, err
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
