package markup_test

import (
	"slices"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/markup"
	"github.com/longshore-bridge/longshore/media"
)

// Words that end in a stop, have another dot, or something invisible beside it, were
// taken for no address, and led elsewhere.
func TestNoWordsPassForAnotherAddress(t *testing.T) {
	for _, words := range []string{
		"bank.example", "bank.example,", "(bank.example)", "go to bank.example!", "bank.example→", "bank.example⁄login", "bank.xn--p1ai",
		"bank。example", "bank．example", "bank․example", "bank.\u200bexample", "bank\u2060.example", "bank.\u034fexample", "192.168.10.20", "ada@bank.example",
	} {
		got := markup.Parts("["+words+"](https://evil.example)", media.MarkupSlack, 0, media.Characters)
		if !slices.Equal(got, []string{"<https://evil.example>"}) {
			t.Errorf("%q is shown as %q", words, got)
		}
	}
	for _, words := range []string{"the report", "version 1.25", "e.g. this", "a... b", "10.5 %"} {
		got := markup.Parts("["+words+"](https://bank.example)", media.MarkupSlack, 0, media.Characters)
		if !slices.Equal(got, []string{"<https://bank.example|" + words + ">"}) {
			t.Errorf("%q is shown as %q", words, got)
		}
	}
}
