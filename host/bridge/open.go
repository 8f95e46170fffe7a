package bridge

import (
	"fmt"
	"os"
	"syscall"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/ipc"
)

// Opener opens a file that a request names, for reading. The caller closes it.
type Opener func(name string) (*os.File, error)

// Mounted opens what a group's container sees, by the path that it has there.
func (b *Bridge) Mounted(folder string) Opener {
	return func(name string) (*os.File, error) {
		seen := b.Mounts(folder)
		if seen == nil { // removed a moment ago: its registry knew it
			return nil, &ipc.Refusal{Code: groups.CodeGroupUnknown, Message: "this group is configured no longer"}
		}
		f, err := seen.Open(name)
		if err != nil {
			return nil, err
		}
		return f.File, nil
	}
}

// OpenOwn is the Opener of files that the operator names. Links are followed: it is the
// operator's right. A pipe does not make it wait.
func OpenOwn(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &ipc.Refusal{Code: "not_a_file", Message: fmt.Sprintf("%q is not a regular file", name), Hint: "give a file; pack a directory first"}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
