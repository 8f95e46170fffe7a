//go:build e2e && linux

package transcribe_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/transcribe"
	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/internal/need"
)

// spoken is a voice note: Ogg Opus, as phones make it.
func spoken(t *testing.T, text string) *os.File {
	t.Helper()
	dir := t.TempDir()
	wav, ogg := filepath.Join(dir, "a.wav"), filepath.Join(dir, "a.ogg")
	for _, c := range [][]string{
		{"espeak-ng", "-v", "en-us", "-s", "145", "-g", "6", "-w", wav, text},
		{"ffmpeg", "-v", "error", "-i", wav, "-ar", "16000", "-ac", "1", "-c:a", "libopus", ogg},
	} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			need.Lacking(t, "speak: %v: %v %s", c, err, out)
		}
	}
	f, err := os.Open(ogg)
	check(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

const grammar = `#JSGF V1.0;
grammar order;
public <order> = [please] send me the (report | letter | picture | receipt) (today | tomorrow | tonight) (morning | evening | afternoon);
`

func TestASpokenSentenceIsUnderstoodByAProgramOfTheMachine(t *testing.T) {
	if out, err := exec.Command("pocketsphinx_continuous").CombinedOutput(); len(out) == 0 { // it prints its usage
		need.Lacking(t, "understand speech: %v", err)
	}
	rules := filepath.Join(shared(t), "order.gram")
	check(t, os.WriteFile(rules, []byte(grammar), 0o644))
	tr := transcribe.New(confine.Confined, temporary(t))
	t.Cleanup(tr.Close)
	found, err := tr.Transcribe(t.Context(), []transcribe.Entry{{
		Command: []string{"pocketsphinx_continuous", "-jsgf", rules, "-infile", transcribe.WAVWord}, Timeout: time.Minute,
	}}, spoken(t, "please send me the report tomorrow morning"), "audio/ogg")
	check(t, err)
	if !strings.Contains(found.Text, "report tomorrow morning") || found.Seconds < 2 || found.Seconds > 5 {
		t.Errorf("understood %+v", found)
	}
}
