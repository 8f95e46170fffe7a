//go:build e2e

package whatsapp

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/internal/need"
)

// TestWhatAMemberSaysIsInThePrompt: a spoken sentence goes the whole way, through a
// recognizer that nobody here wrote.
func TestWhatAMemberSaysIsInThePrompt(t *testing.T) {
	for _, program := range []string{"pocketsphinx_continuous", "espeak-ng", "ffmpeg"} {
		if _, err := exec.LookPath(program); err != nil {
			need.Lacking(t, "speak and listen: %v; install pocketsphinx, pocketsphinx-en-us, espeak-ng and ffmpeg", err)
		}
	}
	dir := t.TempDir()
	for up := dir; up != os.TempDir() && up != "/"; up = filepath.Dir(up) {
		_ = os.Chmod(up, 0o755) // the recognizer's user enters it
	}
	wav, ogg, rules := filepath.Join(dir, "a.wav"), filepath.Join(dir, "a.ogg"), filepath.Join(dir, "order.gram")
	grammar := "#JSGF V1.0;\ngrammar order;\npublic <order> = [please] send me the (report | letter | picture) (today | tomorrow | tonight) (morning | evening | afternoon);\n"
	if err := os.WriteFile(rules, []byte(grammar), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][]string{
		{"espeak-ng", "-v", "en-us", "-s", "145", "-g", "6", "-w", wav, "please send me the report tomorrow morning"},
		{"ffmpeg", "-v", "error", "-i", wav, "-ar", "16000", "-ac", "1", "-c:a", "libopus", ogg},
	} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v %s", c, err, out)
		}
	}
	sound, err := os.ReadFile(ogg)
	if err != nil {
		t.Fatal(err)
	}
	g, _ := guestOf(t, fmt.Sprintf(`limits: {free_disk: 0}
assistants: {echo: {agent: command, command: [cat]}}
transcription: [{command: [pocketsphinx_continuous, -jsgf, %q, -infile, "{wav}"]}]
channels: {web: {listen: "127.0.0.1:0"}}
groups: [{folder: family, chat: "web:family", assistant: echo, trigger: tomorrow, gather: {after: 0s}}]
`, rules))
	id := g.Posts("", "", map[string]string{"note.ogg": string(sound)})
	all := g.Sees(id, func(all []history.Message) bool { return len(all) > 0 })
	if text := all[0].Text; !strings.Contains(text, "report tomorrow morning") || !strings.Contains(text, `transcript="machine"`) || !strings.Contains(text, "note.ogg") {
		t.Errorf("the prompt was %s", text)
	}
}
