//go:build e2e

package kill

import (
	"fmt"

	"github.com/longshore-bridge/longshore/e2e/stage"
)

func failureString(f stage.Failure) string {
	return fmt.Sprintf("%s of %s, %s", f.Kind, f.Path, f.Errno)
}

func momentString(m stage.Moment) string {
	when := "before"
	if m.After {
		when = "after"
	}
	return fmt.Sprintf("%s %s of %s, time %d", when, m.Kind, m.Path, m.Nth)
}
