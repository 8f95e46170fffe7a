package media

import "testing"

func TestCutKeepsTheBeginningAndSaysSo(t *testing.T) {
	for _, tt := range []struct {
		s    string
		n    int
		want string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "ab…"},
		{"äöüß", 3, "äö…"},
		{"abcd", 1, "…"},
		{"\xff\xfe\xfd\xfc", 2, "\xff…"},
	} {
		if got := Cut(tt.s, tt.n); got != tt.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
}
