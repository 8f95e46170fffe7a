package dropdir

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/agentrunner/sender"
)

func FuzzManifestNamesNoOtherFile(f *testing.F) {
	for _, text := range []string{`{"file":"a.pdf","action":"voice","message":"m","contentType":"x/y"}`, `{"file":"../b"}`, `[]`, `null`, `{"action":"x"}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file := sender.File{Path: "/o/a.pdf", Name: "a.pdf"}
		if err := apply(text, &file); err != nil && !strings.HasPrefix(err.Error(), "the manifest") {
			t.Errorf("%q: %v", text, err)
		}
		if file.Path != "/o/a.pdf" || file.Name != "a.pdf" {
			t.Errorf("%q made it %+v", text, file)
		}
	})
}
