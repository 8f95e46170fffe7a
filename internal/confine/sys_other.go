//go:build !linux

package confine

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
)

// Child does nothing: confinement needs Linux.
func Child() {}

func (r Runner) confined(context.Context, Command, func(*exec.Cmd) *exec.Cmd) error {
	return errors.New("programs cannot be confined on " + runtime.GOOS)
}

// Probe returns an error: this system cannot confine programs.
func Probe(ctx context.Context) (Report, error) {
	return Report{}, Runner{}.confined(ctx, Command{}, nil)
}
