package turns

import "testing"

func TestTrigger(t *testing.T) {
	tests := []struct {
		trigger, text string
		want          bool
	}{
		{"", "anything", true},
		{"", "", true},
		{"@Andy", "@Andy hello", true},
		{"@Andy", "hello @andy", true},
		{"@Andy", "hello @ANDY, are you there?", true},
		{"@Andy", "(@Andy)", true},
		{"@Andy", "\u2068@Andy\u2069 hi", true}, // as WhatsApp isolates a mention
		{"@Andy", "line\n@Andy\nline", true},
		{"@Andy", "Andy hello", false},
		{"@Andy", "@Andyman hello", false},
		{"@Andy", "@Andy2", false},
		{"@Andy", "@Andy_", false},
		{"@Andy", "mail@andy.org", false},
		{"@Andy", "@And", false},
		{"@Andy", "", false},
		{"@Andy", "@Andyman or @Andy", true},
		{"Jürgen", "hallo JÜRGEN!", true},
		{"Jürgen", "Jürgens", false},
		{"@Ана", "эй @АНА", true},
		{"hey bot", "Hey Bot do it", true},
		{"@é", "@e\u0301", false}, // composed otherwise
		{"@e", "@e\u0301", false}, // the mark belongs to the letter
		{"@Andy", "\xff@Andy\xff", true},
	}
	for _, test := range tests {
		if got := calls(test.trigger, test.text); got != test.want {
			t.Errorf("%q in %q: %v", test.trigger, test.text, got)
		}
	}
}
