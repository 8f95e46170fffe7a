package markup_test

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/markup"
	"github.com/longshore-bridge/longshore/media"
)

func telegram(text string) string {
	return strings.Join(markup.Parts(text, media.MarkupTelegram, 4096, media.UTF16Shown), "\n=====\n")
}

func TestCodeWithinBoldWordsIsStillCodeOnTelegram(t *testing.T) {
	for text, want := range map[string]string{
		"**run `make` now**":                 "<b>run </b><code>make</code><b> now</b>",
		"**`make`**":                         "<code>make</code>",
		"***run `make` now***":               "<i><b>run </b></i><code>make</code><i><b> now</b></i>",
		"> **run `make`**":                   "<blockquote><b>run </b><code>make</code></blockquote>",
		"[run `make`](https://make.example)": `<a href="https://make.example">run make</a>`,
	} {
		if got := telegram(text); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}

// On Telegram every @ and name is a mention, which notifies its bearer.
func TestNoNameInAnAnswerIsAMentionOnTelegram(t *testing.T) {
	for text, want := range map[string]string{
		"@anna_b, look":           "@\u2060anna_b, look",
		"(@anna) @bo":             "(@\u2060anna) @\u2060bo",
		"@**anna**":               "@\u2060<b>anna</b>",
		"**x**@anna":              "<b>x</b>@anna",
		"write to anna@x.example": "write to anna@x.example",
		"5 @ 3, @, @é":            "5 @ 3, @, @é",
		"`@anna`":                 "<code>@anna</code>",
		"```\n@anna\n```":         "<pre>@anna</pre>",
	} {
		if got := telegram(text); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}
