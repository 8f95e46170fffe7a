// Package transcribe turns members' voice notes into text: with a service that
// speaks OpenAI's POST /v1/audio/transcriptions, or with a program of the machine.
//
// Sound, answers and output are untrusted. A service gets the sound from the host
// itself, and its answer is small, JSON and in time, or an error. A program runs as
// package confine runs ffmpeg: without network, and with nothing to read but the
// sound and what its arguments name.
package transcribe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/media"
	"github.com/longshore-bridge/longshore/media/convert"
	"github.com/longshore-bridge/longshore/media/probe"
)

const (
	// MaxFile is the largest sound that is transcribed, in bytes; services take no
	// more.
	MaxFile = 25 * media.MiB

	maxAnswer  = 1 << 20  // bytes of a service's answer, or of a program's output
	maxText    = 32 << 10 // bytes of a transcript
	maxWAV     = 128 << 20
	programsAt = 2 // programs that run at once, over all groups
)

// Entry is one way to transcribe. It has a URL or a Command.
type Entry struct {
	URL      string // whole, such as http://127.0.0.1:8000/v1/audio/transcriptions
	Model    string
	Language string // as the service or program wants it, such as en; may be empty
	Key      string // the service's; may be empty

	// Command is a program and its arguments. {file} stands for the sound as it came,
	// {wav} for the same as 16 kHz mono WAV. The transcript is its standard output.
	Command []string

	Timeout time.Duration // of one attempt
}

// Name is what logs and checks call an entry: no secret is in it.
func (e Entry) Name() string {
	if len(e.Command) > 0 {
		return e.Command[0]
	}
	return e.URL
}

// Transcriber transcribes. Its methods may be called concurrently.
type Transcriber struct {
	mode     confine.Mode
	temp     convert.Temp
	sounds   *convert.Converter
	probe    *probe.Prober
	client   *http.Client
	programs chan struct{}
}

// New returns a Transcriber. mode says how it runs programs; temp makes their
// temporary files.
func New(mode confine.Mode, temp convert.Temp) *Transcriber {
	return &Transcriber{
		mode: mode, temp: temp, sounds: convert.New(mode, temp), probe: probe.New(mode, probe.Temp(temp)),
		client:   newClient(),
		programs: make(chan struct{}, programsAt),
	}
}

// Close closes connections that are kept for the next voice note.
func (t *Transcriber) Close() { t.client.CloseIdleConnections() }

// Transcript is what was said, as a machine understood it.
type Transcript struct {
	Text    string // untrusted; not empty
	Seconds int    // duration of the sound; 0: unknown
}

var errSilent = errors.New("no words were recognized")

// Transcribe tries the entries in order, until one has a text. The error has the
// reason of each, and may quote untrusted text; no key is in it.
func (t *Transcriber) Transcribe(ctx context.Context, entries []Entry, sound *os.File, mime string) (Transcript, error) {
	found := Transcript{Seconds: int(t.probe.Read(ctx, sound, media.Audio, mime).Seconds)}
	var errs []error
	for _, e := range entries {
		text, err := t.one(ctx, e, sound, mime)
		text = strings.TrimSpace(strings.ToValidUTF8(text, ""))
		if err == nil && text == "" {
			err = errSilent
		}
		if err == nil {
			found.Text = shorten(text)
			return found, nil
		}
		if ctx.Err() != nil {
			return found, ctx.Err()
		}
		errs = append(errs, fmt.Errorf("%s: %w", e.Name(), err))
	}
	return found, errors.Join(errs...)
}

func (t *Transcriber) one(ctx context.Context, e Entry, sound *os.File, mime string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	fi, err := sound.Stat()
	if err != nil {
		return "", fmt.Errorf("examine sound: %w", err)
	}
	if fi.Size() > MaxFile {
		return "", fmt.Errorf("the sound is larger than %s", media.Size(MaxFile))
	}
	if len(e.Command) > 0 {
		return t.run(ctx, e, sound)
	}
	return t.post(ctx, e, sound, fi.Size(), mime)
}

func shorten(text string) string {
	if len(text) <= maxText {
		return text
	}
	cut := maxText
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + " …"
}
