package pdf

import (
	"context"
	"time"
)

// MakeWithin is Make with another time than Timeout.
func MakeWithin(ctx context.Context, d Document, dir string, limit time.Duration) (string, error) {
	return makeWithin(ctx, d, dir, limit)
}

// HasBrowser reports whether a browser is installed.
func HasBrowser() bool { return installed(browsers()...) != "" }
