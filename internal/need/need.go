// Package need ends a test that needs what this machine cannot do. Only tests
// import it.
package need

import (
	"fmt"
	"os"
	"testing"
)

// Lacking skips a test, or fails it if LONGSHORE_TEST_ALL is set. The message
// reads "this machine cannot …": what and args, as for fmt.Sprintf, name the
// ability and the reason, such as "open a page: chromium is not installed".
// Callers try the ability first; a program in the PATH proves nothing.
func Lacking(t testing.TB, what string, args ...any) {
	t.Helper()
	message := "this machine cannot " + fmt.Sprintf(what, args...)
	if os.Getenv("LONGSHORE_TEST_ALL") != "" {
		t.Fatal(message)
	}
	t.Skip(message)
}
