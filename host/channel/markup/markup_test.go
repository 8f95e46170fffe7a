package markup_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel/markup"
	"github.com/longshore-bridge/longshore/media"
)

var update = flag.Bool("update", false, "write what comes out as the golden files")

// TestEveryPlatformShowsItsForm compares each testdata/*.md with its golden files,
// .whatsapp, .slack, .discord, .telegram, .plain and .json.
func TestEveryPlatformShowsItsForm(t *testing.T) {
	files, err := filepath.Glob("testdata/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal("no texts", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tree, err := json.MarshalIndent(markup.Parse(string(text)), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, file, "json", string(tree))
		for _, form := range []media.Markup{media.MarkupWhatsApp, media.MarkupSlack, media.MarkupDiscord, media.MarkupTelegram, media.MarkupPlain} {
			golden(t, file, string(form), strings.Join(markup.Parts(string(text), form, 0, media.Characters), "\n=====\n"))
		}
	}
}

func golden(t *testing.T, file, form, got string) {
	t.Helper()
	name := strings.TrimSuffix(file, "md") + form
	if *update {
		if err := os.WriteFile(name, []byte(got+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got+"\n"); diff != "" {
		t.Errorf("%s: %s", name, diff)
	}
}
