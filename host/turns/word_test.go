package turns

import (
	"testing"

	"github.com/longshore-bridge/longshore/host/channel"
)

func TestAWordIsOneOnlyIfItIsExactlyThat(t *testing.T) {
	for text, want := range map[string]word{
		"/stop": stopWord, " /STOP ": stopWord, "/Stop now": stopWord, "/new": newWord, "/status\n": statusWord, "/help": helpWord,
		"@Andy /stop": stopWord, "@andy: /stop": stopWord, "@Andy, /new": newWord, "\u2068@Andy\u2069 /stop": stopWord, "\u200e/stop": stopWord,
		"stop": "", "please /stop": "", "/stopp": "", "//stop": "", "/ stop": "", "/stop!": "", "@Andy stop": "", "@Andyman /stop": "", "@Bob /stop": "",
		"> /stop": "", "`/stop`": "", "/st\u200bop": "", "/\u017ftop": "", "/ѕtop": "", "／stop": "", "/sto\u0440": "", "/hel\uff50": "", "/ne\u0461": "",
		"": "", "/": "", "@Andy": "", "/approve ABCD": "", "x\n/stop": "",
	} {
		if got, _ := wordOf(&channel.Inbound{Text: text}, "@Andy"); got != want {
			t.Errorf("%q is the word %q, want %q", text, got, want)
		}
	}
	for name, in := range map[string]channel.Inbound{
		"a caption":        {Text: "/stop", Files: []channel.Attachment{{}}},
		"an edit":          {Kind: channel.KindEdit, Text: "/stop", Target: "1"},
		"a location":       {Kind: channel.KindLocation, Text: "/stop"},
		"a forward":        {Text: "/stop", Forwarded: true},
		"a quote":          {Text: "look", Quote: &channel.Quote{Text: "/stop"}},
		"a forward's word": {Command: "stop", Forwarded: true},
	} {
		if got, _ := wordOf(&in, ""); got != "" {
			t.Errorf("%s is the word %q", name, got)
		}
	}
	if got, _ := wordOf(&channel.Inbound{Text: "@longshore /stop", Direct: true}, ""); got != stopWord {
		t.Errorf("a mention and a word: %q", got)
	}
	if got, _ := wordOf(&channel.Inbound{Command: "dance"}, ""); got != helpWord {
		t.Errorf("a command that is none: %q", got)
	}
	if _, more := wordOf(&channel.Inbound{Text: "/new a poem"}, ""); !more {
		t.Error("what stands behind a word is not noticed")
	}
}

func FuzzWordOf(f *testing.F) {
	f.Add("/stop", "@Andy", true)
	f.Add("@Andy \u2068/new x", "@Andy", false)
	f.Fuzz(func(t *testing.T, text, trigger string, direct bool) {
		in := channel.Inbound{Text: text, Direct: direct}
		if w, _ := wordOf(&in, trigger); w != "" && wordNamed(string(w)) != w {
			t.Errorf("%q is the word %q", text, w)
		}
	})
}
