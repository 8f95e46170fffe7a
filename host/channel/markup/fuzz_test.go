package markup_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/host/channel/markup"
	"github.com/longshore-bridge/longshore/media"
)

// slackLink is all that may stand between < and > on Slack.
var slackLink = regexp.MustCompile(`^<(?:https?://|mailto:)[^<>|\s]+(?:\|[^<>\n]+)?>`)

// FuzzParts renders anything for every platform. No message may be longer than the
// limit, hold a control character or a direction override, or mention anybody.
func FuzzParts(f *testing.F) {
	files, err := filepath.Glob("testdata/*.md")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), uint16(100), uint8(0))
		f.Add(string(text), uint16(17), uint8(1))
	}
	f.Add("*a [b\nc](http://d) `e`* <!here> ~~f~~ https://x.example/"+strings.Repeat("y", 90), uint16(40), uint8(2))
	f.Fuzz(func(t *testing.T, text string, limit uint16, unit uint8) {
		u := media.Unit(unit % 4)
		for _, form := range []media.Markup{media.MarkupWhatsApp, media.MarkupSlack, media.MarkupDiscord, media.MarkupTelegram, media.MarkupPlain} {
			for _, part := range markup.Parts(text, form, int(limit), u) {
				if limit > 0 && u.Len(part) > int(limit) {
					t.Errorf("%s: %d %s, not %d: %q", form, u.Len(part), u, limit, part)
				}
				harmless(t, form, part)
			}
		}
		if _, err := json.Marshal(markup.Parse(text)); err != nil {
			t.Error(err)
		}
		safeTree(t, markup.Parse(text))
	})
}

func harmless(t *testing.T, form media.Markup, part string) {
	t.Helper()
	if part == "" || !utf8.ValidString(part) {
		t.Errorf("%s: no text: %q", form, part)
	}
	if i := strings.IndexFunc(part, forbidden); i >= 0 {
		t.Errorf("%s: a character that does something: %q", form, part[i:])
	}
	if form == media.MarkupTelegram {
		harmlessMarks(t, part)
	}
	if form != media.MarkupSlack {
		return
	}
	for rest := part; ; {
		i := strings.IndexByte(rest, '<')
		if i < 0 {
			return
		}
		link := slackLink.FindString(rest[i:])
		if link == "" {
			t.Fatalf("Slack would act on %q in %q", rest[i:], part)
		}
		rest = rest[i+len(link):]
	}
}

// harmlessMarks: the formats lie within the text and within each other, and are those
// that Telegram takes there.
func harmlessMarks(t *testing.T, part string) {
	t.Helper()
	shown, marks := media.Shown(part)
	for i, m := range marks {
		if m.From < 0 || m.From >= m.To || m.To > media.UTF16.Len(shown) || (m.Kind == "a") != (m.URL != "") {
			t.Errorf("%+v of %q", m, part)
		}
		for _, in := range marks[i+1:] {
			if in.From < m.To && (in.To > m.To || m.Kind == "code" || m.Kind == "pre" || in.Kind == "code" && m.Kind != "blockquote") {
				t.Errorf("%+v in %+v of %q", in, m, part)
			}
		}
	}
}

func forbidden(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069
}

func safeTree(t *testing.T, nodes []markup.Node) {
	t.Helper()
	for _, n := range nodes {
		if strings.ContainsFunc(n.Text+n.Label, forbidden) || n.URL != "" && !regexp.MustCompile(`(?i)^(?:https?://|mailto:)[^\s<>"]+$`).MatchString(n.URL) {
			t.Errorf("in the tree: %+v", n)
		}
		safeTree(t, n.Kids)
	}
}
