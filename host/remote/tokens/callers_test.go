package tokens

import (
	"context"
	"testing"
)

// A call ends with its token, and is forgotten when it ends.
func TestACallEndsWithItsToken(t *testing.T) {
	var tokens Tokens
	ended, done := tokens.Begin(t.Context(), "lsh_one_secret")
	other, doneOther := tokens.Begin(t.Context(), "lsh_two_secret")
	tokens.callers.end("one")
	if !Revoked(ended) || context.Cause(other) != nil {
		t.Errorf("the call: %v, another token's: %v", context.Cause(ended), context.Cause(other))
	}
	done()
	doneOther()
	if len(tokens.callers.of) > 0 {
		t.Error("left:", tokens.callers.of)
	}
}
