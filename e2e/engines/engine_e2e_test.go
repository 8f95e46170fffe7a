//go:build e2e

package engines

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestDoctorAndServeTellHowTheImageIsBuilt has an engine without the image. What
// the operator is told to run puts the assistant's CLI into it. The host starts
// nevertheless, and says so before the first message does.
func TestDoctorAndServeTellHowTheImageIsBuilt(t *testing.T) {
	for agent, want := range map[string]string{
		"claude": "longshore image build --tag longshore-test/nothing:here --agent claude",
		"sample": "longshore image build --tag longshore-test/nothing:here",
	} {
		h := newBoxesOf(t, 1, "{runtime: docker, agent: "+agent+`, image: "longshore-test/nothing:here"}`)
		said := h.doctor() + " "
		if !strings.Contains(said, "ok engine it answers") || !strings.Contains(said, "to do: build it: "+strings.Replace(want, "longshore", "longshore -c "+h.file, 1)+" ") {
			t.Errorf("the doctor says:\n%s\nwant it to tell: %s", said, want)
		}
		var log bytes.Buffer
		if err := h.openWith(slog.New(slog.NewTextHandler(&log, nil))).Close(); err != nil {
			t.Error(err)
		}
		if n := strings.Count(log.String(), `level=WARN msg="assistant cannot be started yet" error="look for image longshore-test/nothing:here: `); n != 1 || !strings.Contains(log.String(), `hint="build it: `+want+`"`) {
			t.Errorf("the host warns %d times, its log is:\n%s\nwant it to tell: %s", n, log.String(), want)
		}
	}
}
