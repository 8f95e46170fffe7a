//go:build e2e

package transcribe_test

import (
	"embed"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/transcribe"
	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/internal/npmtest"
)

//go:embed testdata/openai
var openai embed.FS

// TestAServiceCannotTellOurRequestFromOpenAIsOwnClient: what services expect is what
// that client sends.
func TestAServiceCannotTellOurRequestFromOpenAIsOwnClient(t *testing.T) {
	modules := npmtest.Modules(t, openai, "testdata/openai")
	var seen [][]string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1 << 20); err != nil {
			t.Error(err)
		}
		parts := []string{r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Accept")}
		for name, values := range r.MultipartForm.Value {
			parts = append(parts, fmt.Sprint(name, values))
		}
		for name, files := range r.MultipartForm.File {
			f, err := files[0].Open()
			if err != nil {
				t.Error(err)
				return
			}
			data, _ := io.ReadAll(f)
			parts = append(parts, fmt.Sprint(name, len(files), files[0].Filename, string(data)))
		}
		slices.Sort(parts)
		seen = append(seen, parts)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"text":"understood"}`)
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "voice.ogg")
	check(t, os.WriteFile(file, []byte("the sound"), 0o600))
	out, err := exec.Command("node", "testdata/openai/ask.mjs", s.URL, file, modules).CombinedOutput()
	if err != nil || string(out) != "understood" {
		t.Fatalf("OpenAI's client: %v, %s", err, out)
	}
	tr := transcribe.New(confine.Off, temporary(t))
	t.Cleanup(tr.Close)
	_, err = tr.Transcribe(t.Context(), []transcribe.Entry{{
		URL: s.URL + "/v1/audio/transcriptions", Model: "whisper-1", Language: "en", Key: key, Timeout: time.Minute,
	}}, soundFile(t, []byte("the sound")), "audio/ogg")
	check(t, err)
	if diff := cmp.Diff(seen[0], seen[1]); diff != "" {
		t.Errorf("OpenAI's client and ours (-client +ours):\n%s", diff)
	}
}
