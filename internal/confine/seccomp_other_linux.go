//go:build linux && !amd64 && !arm64

package confine

import (
	"errors"
	"runtime"
)

func restrictCalls() error {
	return errors.New("system calls are filtered on amd64 and arm64 only, and this is " + runtime.GOARCH)
}
