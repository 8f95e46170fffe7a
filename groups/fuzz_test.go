package groups_test

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
)

func FuzzParseJID(f *testing.F) {
	for _, s := range []string{"web:a", "1@g.us", "slack:C1", "tg:-1", "", "web:\x00", "web:a\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		jid, err := groups.ParseJID(s)
		if (err == nil) != (jid != "") || err == nil && string(jid) != s {
			t.Fatalf("ParseJID(%q) = %q, %v", s, jid, err)
		}
		if err == nil && (len(s) > 256 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })) {
			t.Fatalf("ParseJID takes %q", s)
		}
	})
}
