package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/config"
)

func TestWaysToTranscribeAreReadWithTheirKeys(t *testing.T) {
	cfg, err := config.Parse("longshore.yaml", []byte(`transcription:
  - {url: "http://127.0.0.1:8000/v1/audio/transcriptions", model: whisper-1, language: de, key: "${KEY}"}
  - {command: [whisper-cli, -m, /srv/model.bin, "{wav}"], timeout: 3m}
`), func(string) string { return "secret" }, platforms())
	if err != nil {
		t.Fatal(err)
	}
	first, second := cfg.Transcription[0], cfg.Transcription[1]
	if first.Key.Reveal() != "secret" || first.Language != "de" || first.Timeout.Std() != time.Minute || second.Timeout.Std() != 3*time.Minute || len(cfg.Warnings) > 0 {
		t.Errorf("%+v, warnings %v", cfg.Transcription, cfg.Warnings)
	}
}

func TestWhatCannotTranscribeIsRefused(t *testing.T) {
	for yaml, want := range map[string]string{
		"transcription: [{model: x}]":                                      "a url or a command",
		`transcription: [{url: "http://h/x", command: [x, "{file}"]}]`:     "a url or a command",
		"transcription: [{command: [whisper-cli, voice.ogg]}]":             "no argument stands for the sound",
		`transcription: [{command: [x, "{file}"]}]` + "\nmedia_tools: off": "media_tools is off",
		`transcription: [{url: "https://user:pass@h/v1"}]`:                 "more than host and path",
		`transcription: [{url: "https://h/v1?key=abc"}]`:                   "more than host and path",
		`transcription: [{url: "https://h/v1", key: sk-abc}]`:              "secret",
		`transcription: [{url: "https://h/v1", timeout: 1h}]`:              "at most 10m",
		"groups: [{folder: f, chat: \"web:f\", transcription: sometimes}]": "unknown here",
	} {
		_, err := config.Parse("longshore.yaml", []byte(yaml), func(string) string { return "" }, platforms())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "sk-abc") {
			t.Errorf("%s: %v", yaml, err)
		}
	}
}
