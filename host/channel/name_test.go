package channel_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/longshore-bridge/longshore/host/channel"
)

func TestANameShowsAllThatIsInIt(t *testing.T) {
	for name, want := range map[string]string{
		"Anna":                       "Anna",
		"  Anna\r\n\tMaria\u00a0B. ": "Anna Maria B.",
		"אננה":                       "אננה",
		"آنا":                        "آنا",
		"葛\U000e0100城":               "葛\U000e0100城",
		"👩\u200d👧 Anna ❤\ufe0f":      "👩\u200d👧 Anna ❤\ufe0f",
		"\u202ennA\u202c":            "nnA",
		"A\u2066nn\u2069a":           "Anna",
		"Anna\u200d":                 "Anna",
		"An\u200bn\u00ada\ufeff":     "Anna",
		"Anna\U000e0042\U000e007f":   "Anna",
		"A\ufe0f\ufe01\U000e0100nna": "Anna",
		"A\U000e0159n\U000e0155n\U000e0153a\U000e0110": "Anna",
		"Anna \ufe0f 1\ufe0f\u20e3":                    "Anna 1\ufe0f\u20e3",
		strings.Repeat("x", 61) + "1\ufe0f\u20e3yz":    strings.Repeat("x", 61) + "1…",
		"A\x00\x1b[2Jnna\xff\ufffd":                    "A[2Jnna",
		"\u3164":                                       "",
		"\u200d\u202e \U000e0041":                      "",
		"\u0301":                                       "",
		"":                                             "",
		strings.Repeat("x", 64):                        strings.Repeat("x", 64),
		strings.Repeat("x", 65):                        strings.Repeat("x", 63) + "…",
		strings.Repeat("x ", 60) + "":                  strings.TrimSpace(strings.Repeat("x ", 32)) + "…",
	} {
		if got := channel.CleanName(name); got != want {
			t.Errorf("%q became %q, want %q", name, got, want)
		}
	}
}

func FuzzCleanName(f *testing.F) {
	for _, s := range []string{"Ann", "a\u202eb", "\x00\x1b[31m", "\xff\xfe", "👨‍👩‍👧", "\U0001f3f4\U000e0067\U000e007f", "a\ufe0f\ufe0f", "❤\u200b\ufe0f", strings.Repeat("1\ufe0f\u20e3", 30), "-\u200d\u200d😀", "0\u200d\xf0", "0\u200d\u2800", strings.Repeat("é ", 99)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name := channel.CleanName(s)
		if !utf8.ValidString(name) || utf8.RuneCountInString(name) > 64 || channel.CleanName(name) != name {
			t.Fatalf("%q became %q", s, name)
		}
		for _, r := range name {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d' || r != ' ' && unicode.IsSpace(r) {
				t.Errorf("%q became %q with %U", s, name, r)
			}
		}
	})
}

// A long id from outside went into an index, which PostgreSQL refuses.
func TestALongIDWentIntoAnIndex(t *testing.T) {
	long := strings.Repeat("\u00fc", 3000)
	a, b := channel.Key(long+"a"), channel.Key(long+"b")
	if a == b || len(a) > 256 || a[:100] != long[:100] || !utf8.ValidString(a) || channel.Key(a) != a || channel.Key("short") != "short" {
		t.Errorf("%q and %q", a, b)
	}
}
