package near_test

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/internal/near"
)

func TestWhatSomebodyMeant(t *testing.T) {
	known := []string{"name", "state", "level", "whatsapp", "web"}
	for written, want := range map[string]string{
		"nmae": "name", "Name": "name", "stat": "state", "levle": "level", "whatsap": "whatsapp", "webb": "web",
		"mounts": "", "x": "", "": "", "name": "", strings.Repeat("name", 1000): "",
	} {
		if got := near.Of(written, known); got != want {
			t.Errorf("%.20q means %q, want %q", written, got, want)
		}
	}
	if got := near.Hint("nmae", known, "see the manual"); got != `did you mean "name"? see the manual` {
		t.Error(got)
	}
}
