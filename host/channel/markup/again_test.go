package markup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel/markup"
	"github.com/longshore-bridge/longshore/media"
)

// A long text became several messages in the platform's form. An assistant that read one
// and sent it again lost its formats: *bold* of WhatsApp is italic Markdown.
func TestEachMessageOfALongTextIsTheSameWhenItIsWrittenAgain(t *testing.T) {
	files, err := filepath.Glob("testdata/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal("no texts", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "nested.md") { // blocks within quotes and lists are laid out behind these
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []media.Markup{media.MarkupWhatsApp, media.MarkupSlack, media.MarkupDiscord, media.MarkupTelegram, media.MarkupPlain, media.MarkupWritten} {
			for _, limit := range []int{120, 400, 0} {
				for _, m := range markup.Messages(string(text), form, limit, media.Characters) {
					if form == media.MarkupTelegram && strings.Contains(m.Text, "`") { // ticks within code become others, as on most platforms
						continue
					}
					var twice []string
					for _, again := range markup.Messages(m.Written, form, limit, media.Characters) {
						twice = append(twice, again.Text)
					}
					if diff := cmp.Diff([]string{m.Text}, twice); diff != "" {
						t.Errorf("%s, %s, %d: %q: %s", file, form, limit, m.Written, diff)
					}
				}
			}
		}
	}
}
