package driver

import (
	"strings"
	"testing"
	"unicode"
)

func FuzzEventsOfAllCLIs(f *testing.F) {
	for _, line := range []string{`{"type":"result","is_error":true,"result":"x\u0000y"}`, `{"type":"text","part":{"messageID":"m","text":"t"}}`,
		`{"type":"turn.failed","error":{"message":"{\"error\":{}}"}}`, `{"type":"result","status":"e","error":{"message":"}{"}}`, `{"type":1}`,
		"Attempt 1 failed with status 429. {\x1b}", `message="stream error" error.error="` + "\x1b"} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, c := range []cli{claude{}, codex{}, gemini{}, opencode{}} {
			var a answer
			c.event(line, &a)
			c.complaint(string(line), &a)
			if strings.ContainsFunc(a.err+a.trouble, func(r rune) bool { return r < ' ' && unicode.IsControl(r) }) {
				t.Errorf("%T: control characters in %q", c, a.err+a.trouble)
			}
		}
	})
}
