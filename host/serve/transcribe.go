package serve

import (
	"context"
	"fmt"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/transcribe"
	"github.com/longshore-bridge/longshore/internal/finding"
)

// TranscriptionOf returns a configuration's ways to transcribe, in the order in which they are tried.
func TranscriptionOf(cfg *config.Config) []transcribe.Entry {
	var entries []transcribe.Entry
	for _, t := range cfg.Transcription {
		entries = append(entries, transcribe.Entry{
			URL: t.URL, Model: t.Model, Language: t.Language, Key: t.Key.Reveal(), Command: t.Command, Timeout: t.Timeout.Std(),
		})
	}
	return entries
}

// checkTranscription finds the ways to transcribe that cannot work on this machine.
func checkTranscription(ctx context.Context, cfg *config.Config) (findings []finding.Finding) {
	for i, e := range TranscriptionOf(cfg) {
		if err := transcribe.Check(ctx, e); err != nil {
			findings = append(findings, finding.Finding{
				Name: finding.Transcribe, Part: fmt.Sprint("transcription entry ", i+1), Severity: finding.Warning, Cause: fmt.Sprintf("entry %d, %s, cannot be used: %v", i+1, e.Name(), err),
				Remedy: "start the service, or install the program and what its arguments name; the next entry is tried meanwhile",
			})
		}
	}
	if findings == nil {
		return []finding.Finding{finding.Well("transcription", "every way to transcribe voice notes is there")}
	}
	return findings
}
