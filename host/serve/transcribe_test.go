package serve_test

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/serve"
	"github.com/longshore-bridge/longshore/internal/finding"
)

func TestTheDoctorNamesWaysToTranscribeThatAreNotThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String() + "/v1/audio/transcriptions"
	cfg := &config.Config{Transcription: []config.Transcription{
		{URL: address, Timeout: config.Duration(time.Minute)},
		{Command: []string{"no-such-recognizer", "{wav}"}},
		{Command: []string{"cat", "-m", filepath.Join(t.TempDir(), "no-model"), "{wav}"}},
	}}
	checks := serve.Checks(cfg)
	found := checks["transcription"](t.Context(), false)
	if len(found) != 2 || found[0].Severity != finding.Warning || !strings.Contains(found[0].Cause, "no-such-recognizer") || !strings.Contains(found[1].Cause, "no-model") {
		t.Errorf("%+v", found)
	}
	cfg.Transcription = cfg.Transcription[:1]
	if found := serve.Checks(cfg)["transcription"](t.Context(), false); len(found) != 1 || found[0].Severity != finding.Fine {
		t.Errorf("%+v", found)
	}
	_ = l.Close()
	if found := serve.Checks(cfg)["transcription"](t.Context(), false); len(found) != 1 || found[0].Severity != finding.Warning {
		t.Errorf("%+v", found)
	}
}
