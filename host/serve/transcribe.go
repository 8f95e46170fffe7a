package serve

import (
	"context"
	"fmt"
	"os"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/assistant"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/doctor"
	"github.com/longshore-bridge/longshore/host/transcribe"
	"github.com/longshore-bridge/longshore/internal/confine"
)

// transcriber is how the voice notes of each group's members become text, by the
// configuration in force.
func (h *Host) transcriber() func(groups.Group) assistant.Transcribe {
	t := transcribe.New(confine.Mode(h.Config().MediaTools), h.disk.file)
	return func(g groups.Group) assistant.Transcribe {
		entries := TranscriptionOf(h.Config())
		if len(entries) == 0 || g.Speech == groups.SpeechOff {
			return nil
		}
		return func(ctx context.Context, sound *os.File, mime string) (string, int, error) {
			found, err := t.Transcribe(ctx, entries, sound, mime)
			return found.Text, found.Seconds, err
		}
	}
}

// TranscriptionOf is what a configuration says of transcription.
func TranscriptionOf(cfg *config.Config) []transcribe.Entry {
	var entries []transcribe.Entry
	for _, t := range cfg.Transcription {
		entries = append(entries, transcribe.Entry{
			URL: t.URL, Model: t.Model, Language: t.Language, Key: t.Key.Reveal(), Command: t.Command, Timeout: t.Timeout.Std(),
		})
	}
	return entries
}

// checkTranscription says which ways to transcribe cannot work on this machine.
func checkTranscription(ctx context.Context, cfg *config.Config) (findings []doctor.Finding) {
	for i, e := range TranscriptionOf(cfg) {
		if err := transcribe.Check(ctx, e); err != nil {
			findings = append(findings, doctor.Finding{
				Check: "transcription", Severity: doctor.Warning, Message: fmt.Sprintf("entry %d, %s, cannot be used: %v", i+1, e.Name(), err),
				Remedy: "start the service, or install the program and what its arguments name; the next entry is tried meanwhile",
			})
		}
	}
	if findings == nil {
		return []doctor.Finding{{Check: "transcription", Severity: doctor.Fine, Message: "every way to transcribe voice notes is there"}}
	}
	return findings
}

// file makes an unnamed temporary file on the disk of the state directory. The caller
// closes it and then calls release.
func (s *scratch) file(bytes int64) (f *os.File, release func(), err error) {
	release, err = s.Reserve(bytes)
	if err != nil {
		return nil, nil, err
	}
	if f, err = os.CreateTemp(s.dir, ".temporary-*"); err == nil { // 0600
		err = os.Remove(f.Name())
	}
	if err != nil {
		release()
		return nil, nil, fmt.Errorf("make temporary file: %w", err)
	}
	return f, release, nil
}
