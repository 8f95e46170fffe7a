package bridge_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/bridge"
)

// TestAPictureThatTurnsIntoAPageIsNotSentAsAPicture changes a file between the
// look at it and the copy. It keeps its length, and lies still while it is
// copied, so that nothing but what was copied tells.
func TestAPictureThatTurnsIntoAPageIsNotSentAsAPicture(t *testing.T) {
	page := "<!doctype html><script>alert(1)</script>" + strings.Repeat(" ", 100)
	png := "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + strings.Repeat("\x00", 200)
	png = png[:len(page)]
	for _, c := range []struct {
		name string
		turn []string // what the file holds after each look; the last one stays
		mime string   // what the chat gets; empty: refused
	}{
		{"for good", []string{page}, "text/html"},
		{"at every look", []string{page, png, page, png}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			path := s.write("family", "chart.png", png)
			local := filepath.Join(s.layout.Workspace("family"), "chart.png")
			looks := 0
			o := s.opts
			o.Trace = func(_, _, step string) {
				if step == "checked" {
					check(t, os.WriteFile(local, []byte(c.turn[min(looks, len(c.turn)-1)]), 0o644))
					looks++
				}
			}
			s.Bridge = bridge.New(o)
			v := s.handle("family", file(path))[0]
			if c.mime == "" {
				if v.Refusal == nil || v.Refusal.Code != "file_changing" {
					t.Fatalf("fate %+v", v)
				}
				if left, err := filepath.Glob(filepath.Join(s.layout.Own(), "blobs", "[0-9a-f]*")); err != nil || len(left) != 0 {
					t.Errorf("copies are left: %v, %v", left, err)
				}
				return
			}
			if v.Refusal != nil {
				t.Fatalf("refused: %+v", v.Refusal)
			}
			got := s.shown("mem:family", 1)[0]
			if got.File.MIME != c.mime || got.File.SHA256 != sum(page) {
				t.Errorf("the family sees %+v", got.File)
			}
		})
	}
}
