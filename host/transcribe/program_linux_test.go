package transcribe_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/transcribe"
	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/internal/need"
)

// needConfined skips the test unless a program starts confined.
func needConfined(t *testing.T, program string, args ...string) {
	t.Helper()
	c := confine.Command{Program: program, Args: args, Time: time.Minute}
	if _, err := (confine.Runner{Mode: confine.Confined}).Run(t.Context(), c); err != nil {
		need.Lacking(t, "run %s confined: %v", program, err)
	}
}

// shared is a directory that the user of confined programs can enter.
func shared(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for up := dir; up != os.TempDir() && up != "/"; up = filepath.Dir(up) {
		_ = os.Chmod(up, 0o755)
	}
	return dir
}

func TestAProgramReadsTheSoundAndWhatItsArgumentsNameAndNothingElse(t *testing.T) {
	needConfined(t, "cat")
	dir := shared(t)
	model, secret := filepath.Join(dir, "model"), filepath.Join(dir, "secret")
	check(t, os.WriteFile(model, []byte("model"), 0o644))
	check(t, os.WriteFile(secret, []byte("secret"), 0o644))
	tr := transcribe.New(confine.Confined, temporary(t))
	t.Cleanup(tr.Close)
	say := func(args ...string) (string, error) {
		found, err := tr.Transcribe(t.Context(), []transcribe.Entry{{Command: append([]string{"cat"}, args...), Timeout: time.Minute}},
			soundFile(t, []byte("sound ")), "audio/ogg")
		return found.Text, err
	}
	if text, err := say(transcribe.FileWord, model); err != nil || text != "sound model" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := say(transcribe.FileWord, "-u", "--", "../../../../../../.."+secret); err == nil && strings.Contains(text, "secret") {
		t.Errorf("it read %q", text)
	}
}

func TestWhatIsNoSoundIsNoTranscript(t *testing.T) {
	needConfined(t, "cat")
	needConfined(t, "ffmpeg", "-version")
	tr := transcribe.New(confine.Confined, temporary(t))
	t.Cleanup(tr.Close)
	for name, data := range map[string]string{"text": "no sound at all", "a torn file": "OggS\x00\x02\x00\x00", "a playlist": "#EXTM3U\n/etc/passwd\n"} {
		_, err := tr.Transcribe(t.Context(), []transcribe.Entry{{Command: []string{"cat", transcribe.WAVWord}, Timeout: time.Minute}}, soundFile(t, []byte(data)), "audio/ogg")
		if err == nil {
			t.Errorf("%s was transcribed", name)
		}
	}
}
