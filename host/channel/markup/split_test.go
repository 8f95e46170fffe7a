package markup_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/channel/markup"
	"github.com/longshore-bridge/longshore/media"
)

func TestMessagesEndBetweenWords(t *testing.T) {
	for name, test := range map[string]struct {
		text  string
		form  media.Markup
		limit int
		unit  media.Unit
		want  []string
	}{
		"bold goes on":         {"**one two three**", media.MarkupWhatsApp, 10, media.Characters, []string{"*one two*", "*three*"}},
		"code goes on":         {"```\nfirst\nsecond\n```", media.MarkupSlack, 16, media.Characters, []string{"```\nfirst\n```", "```\nsecond\n```"}},
		"code keeps its edges": {"```\na\n  b\n  c\n```", media.MarkupWhatsApp, 10, media.Characters, []string{"```a```", "```  b```", "```  c```"}},
		"a quote goes on":      {"> one two three four", media.MarkupSlack, 12, media.Characters, []string{"> one two", "> three four"}},
		"links stay whole":     {"see here and [these words](https://a.example)", media.MarkupSlack, 90, media.Bytes, []string{"see here and <https://a.example|these words>"}},
		"a link moves on":      {"see here for it [these words](https://a.example)", media.MarkupSlack, 76, media.Bytes, []string{"see here for it <https://a.example|these words>"}},
		"addresses stay whole": {"a b c https://example.org/x y", media.MarkupWhatsApp, 23, media.Characters, []string{"a b c", "https://example.org/x y"}},
		"escapes count":        {"a & b & c & d", media.MarkupSlack, 14, media.Bytes, []string{"a &amp; b", "&amp; c &amp;", "d"}},
		"a long word is cut":   {strings.Repeat("x", 25), media.MarkupPlain, 10, media.Characters, []string{"xxxxxxxxxx", "xxxxxxxxxx", "xxxxx"}},
		"a family stays one":   {strings.Repeat("👩‍👩‍👧", 3), media.MarkupPlain, 12, media.Characters, []string{"👩‍👩‍👧👩‍👩‍👧", "👩‍👩‍👧"}},
		"an early space":       {"a " + strings.Repeat("y", 14), media.MarkupPlain, 15, media.Characters, []string{"a", strings.Repeat("y", 14)}},
		"units":                {"🚢🚢 🚢🚢", media.MarkupWhatsApp, 6, media.UTF16, []string{"🚢🚢", "🚢🚢"}},
	} {
		if diff := cmp.Diff(test.want, markup.Parts(test.text, test.form, test.limit, test.unit)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestATextWithoutMarkupStaysAsItIs(t *testing.T) {
	for _, text := range []string{
		"Good morning.\nIt is 10:30, -5 °C, and 3 < 4 > 2.\n\nsnake_case, a * b * c, 2*3*4, $HOME/*.log; \"quoted\" (twice) [once] {never}",
		"  a line with an indent\n      and another one\nلغة ‏العربية‏ עברית 日本語。**",
		strings.Repeat("A sentence of some words. ", 400),
		"user@example.org | pipe | C:\\dir\\file #1 100% ~5 ^2 = + / ? ! ' ` ; :",
	} {
		for _, limit := range []int{0, 50, 4096} {
			want := markup.Parts(text, media.MarkupWritten, limit, media.Characters)
			for _, form := range []media.Markup{media.MarkupWhatsApp, media.MarkupPlain} {
				if diff := cmp.Diff(want, markup.Parts(text, form, limit, media.Characters)); diff != "" {
					t.Errorf("%s, %d: %s", form, limit, diff)
				}
			}
		}
	}
}

// TestHostileTextTakesLittleTime has texts on which parsers of Markdown take minutes.
func TestHostileTextTakesLittleTime(t *testing.T) {
	const size = 60 << 10
	for _, s := range []string{
		"[", "![", "[](", "[a](", "*", "*a", "*a ", "_*a", "*a_ ", "*a**b ", "~a ~~b", "`a``b", "<", "<http:", "> ", ">", "- ", "1. ", "- a\n  ", "a|\n-|\n", "|", "a\n", "\\", "&#", "https://a.b/*_ ", "**a\\* ", "```\n",
	} {
		text := strings.Repeat(s, size/len(s))
		start := time.Now()
		for _, text := range []string{text, text + "\n" + strings.Repeat("-|", 2000) + "\n" + strings.Repeat("a\n", 2000)} {
			if parts := markup.Parts(text, media.MarkupSlack, 4096, media.Characters); len(parts) == 0 && s != "```\n" {
				t.Errorf("%q: nothing", s)
			}
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%q took %v", s, took)
		}
	}
}
