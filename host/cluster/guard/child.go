package guard

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// Variable is of the environment of a guarded process: the name of this run of the guard.
const Variable = "LONGSHORE_GUARD"

// The descriptors of a guarded process, beside the standard three.
const (
	beatsFD  = 3
	parentFD = 4
)

// Child is the guarded process's end of its guard.
type Child struct {
	Instance string // of the guard
	beats    io.Writer
	parent   io.Reader
}

// ChildOf returns the end of this process's guard, nil if it has none.
func ChildOf(getenv func(string) string) *Child {
	instance := getenv(Variable)
	if instance == "" {
		return nil
	}
	_ = os.Unsetenv(Variable) // an assistant is no guarded host
	for _, fd := range []int{beatsFD, parentFD} {
		syscall.CloseOnExec(fd)
	}
	return &Child{instance, os.NewFile(beatsFD, "guard's beats"), os.NewFile(parentFD, "guard's life")}
}

// Until lets the guard kill this process at a time of Now, unless Until is called again before; 0 lets
// it live. The error is of a guard that is dead. A nil Child has no guard.
func (c *Child) Until(deadline time.Duration) error {
	if c == nil {
		return nil
	}
	if _, err := c.beats.Write(binary.BigEndian.AppendUint64(nil, uint64(deadline))); err != nil {
		return fmt.Errorf("tell the guard: %w", err)
	}
	return nil
}

// Orphaned returns when the guard is dead. That of a nil Child returns never.
func (c *Child) Orphaned() {
	if c == nil {
		select {}
	}
	_, _ = c.parent.Read(make([]byte, 1))
}
