package media_test

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/media"
)

func TestNameNeverChangesSilently(t *testing.T) {
	for name, want := range map[string]string{
		"Q4: Rep/ort?.pdf": "Q4_ Rep_ort_.pdf", ".env": "_.env", "a\u202eb.txt": "ab.txt", "report.pdf": "", "Ann\u0065\u0301e.pdf": "",
	} {
		info, err := media.Classify(name, "", []byte("text"), 4, "")
		if err != nil {
			t.Fatal(err)
		}
		if want == "" && info.Note != "" || !strings.Contains(info.Note, want) || want != "" && info.Name != want {
			t.Errorf("%q is %q, with the note %q", name, info.Name, info.Note)
		}
	}
}
