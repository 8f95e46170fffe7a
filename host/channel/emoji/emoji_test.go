package emoji_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/emoji"
)

// TestTwoEmojiPassedAsOne walks the table: each emoji alone is one, and two are none.
func TestTwoEmojiPassedAsOne(t *testing.T) {
	n := 0
	for char := range emoji.All() {
		n++
		bare := strings.ReplaceAll(char, "\ufe0f", "")
		for _, one := range []string{char, bare} {
			if !emoji.IsOne(one) {
				t.Errorf("%q alone is refused", one)
			}
		}
		for _, two := range []string{char + char, bare + bare, char + "\u200d" + char, char + "👍", char + " ", char + "\u200d", "\u200d" + char, "\ufe0f" + char} {
			if emoji.IsOne(two) {
				t.Errorf("%q is taken", two)
			}
		}
	}
	if n < 1900 {
		t.Errorf("the table has %d emoji", n)
	}
}

func TestWhatShowsNothingWasAReaction(t *testing.T) {
	for _, s := range []string{"", "\ufe0f", "\ufe0f\ufe0f", "\u200d", "\u200d\ufe0f", "\u200b", "\u20e3", "\U000e0067\U000e007f", "\u2800", " ", "\n", "👍\n", "\xff"} {
		if emoji.IsOne(s) {
			t.Errorf("%q is taken", s)
		}
	}
}

func TestOneEmojiIsOneInEachForm(t *testing.T) {
	for s, want := range map[string]bool{
		"👍🏽": true, "👩🏽‍🚀": true, "👩🏻‍🤝‍👩🏿": true, "🫱🏻‍🫲🏿": true, "🧑🏻‍❤️‍💋‍🧑🏼": true, "✌🏻": true, "✌️🏻": true, "🕵🏻‍♂️": true,
		"4️⃣": true, "4⃣": true, "#️⃣": true, "ℹ️": true, "🏴󠁧󠁢󠁳󠁣󠁴󠁿": true, "🏴‍☠️": true, "🇩🇪": true, "🫪": true,
		"👍👍": false, "🇩🇪🇫🇷": false, "🇩": false, "🇩🇪🇫": false, "👍🏽🏽": false, "🏽🏽": false, "🇩🇪🏽": false, "4️🏽⃣": false, "4": false, "🏿": false, "44⃣": false,
		"❤️️": false, "👍‍👍": false, "👍x": false, "x": false, "ok": false, "é": false, "🏴󠁧󠁢": false, "🏴󠁷󠁨󠁡󠁴󠁿": false, "👨‍👩‍👧‍👦‍👧": false,
	} {
		if emoji.IsOne(s) != want {
			t.Errorf("%q: %v", s, !want)
		}
	}
}

func TestTheNearestThatAPlatformHas(t *testing.T) {
	few := func(s string) bool { return slices.Contains([]string{"👍", "😁", "❤️", "🐳", "🎃"}, s) }
	for s, want := range map[string]string{"👍🏽": "👍", "😀": "😁", "👩🏽‍🚀": "👍", "🐋": "🐳", "❤️‍🔥": "❤️", "🎂": "🐳"} {
		if got := emoji.Nearest(s, few); got != want {
			t.Errorf("%s: %q, want %s", s, got, want)
		}
	}
	if got := emoji.Nearest("🫪", func(string) bool { return true }); got == "" || got == "🫪" {
		t.Errorf("%q", got)
	}
	if got := emoji.Nearest("😀", func(string) bool { return false }); got != "" {
		t.Errorf("%q", got)
	}
}

func FuzzIsOne(f *testing.F) {
	for _, s := range []string{"👍", "👍👍", "👩🏽‍🚀", "🇩🇪🇫🇷", "4️⃣", "\ufe0f\u200d", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "✌️🏻", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !emoji.IsOne(s) {
			return
		}
		for _, more := range []string{s + s, s + "\u200d", "a" + s, s + " "} {
			if emoji.IsOne(more) {
				t.Errorf("%q and %q", s, more)
			}
		}
		if near := emoji.Nearest(s, emoji.IsOne); !emoji.IsOne(near) {
			t.Errorf("next to %q is %q", s, near)
		}
	})
}
