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
)

// need skips unless the programs are there.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil && os.Getenv("LONGSHORE_TEST_ALL") != "" {
			t.Fatal(err)
		} else if err != nil {
			t.Skip(err)
		}
	}
}

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
			t.Fatalf("%v: %v %s", c, err, out)
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
	need(t, "pocketsphinx_continuous", "espeak-ng", "ffmpeg")
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
	need(t, "cat")
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
	need(t, "ffmpeg", "cat")
	tr := transcribe.New(confine.Confined, temporary(t))
	t.Cleanup(tr.Close)
	for name, data := range map[string]string{"text": "no sound at all", "a torn file": "OggS\x00\x02\x00\x00", "a playlist": "#EXTM3U\n/etc/passwd\n"} {
		_, err := tr.Transcribe(t.Context(), []transcribe.Entry{{Command: []string{"cat", transcribe.WAVWord}, Timeout: time.Minute}}, soundFile(t, []byte(data)), "audio/ogg")
		if err == nil {
			t.Errorf("%s was transcribed", name)
		}
	}
}
