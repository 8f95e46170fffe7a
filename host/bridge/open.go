package bridge

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/ipc"
)

// Opener opens a file that a request names, for reading. Of the File, only the file itself
// and its Names count. The caller closes it.
type Opener func(name string) (*mounts.File, error)

// Mounted returns the Opener of what a group's container sees, by its path there.
func (b *Bridge) Mounted(folder string) Opener {
	return func(name string) (*mounts.File, error) {
		if seen := b.Mounts(folder); seen != nil {
			return seen.Open(name)
		}
		return nil, &ipc.Refusal{Code: groups.CodeGroupUnknown, Message: "this group is configured no longer", Hint: "ask the operator to write the group into longshore.yaml again"} // since its registry knew it
	}
}

// OpenOwn opens a file that the operator names; it is an Opener. Links are followed: it is the
// operator's right. A pipe does not make it wait.
func OpenOwn(name string) (*mounts.File, error) {
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
	return &mounts.File{File: f, Names: namesTo(name)}, nil
}

// maxLinks is how many links Linux follows.
const maxLinks = 40

// namesTo returns a path of the host and what each link on the way makes of it.
func namesTo(name string) (all []string) {
	for range maxLinks {
		all = append(all, name)
		next := ""
		for at := name; next == "" && at != "." && at != "/"; at = filepath.Dir(at) {
			if target, err := os.Readlink(at); err == nil {
				rest := strings.TrimPrefix(name, at)
				if next = target + rest; !filepath.IsAbs(target) {
					next = filepath.Join(filepath.Dir(at), target) + rest
				}
			}
		}
		if name = next; next == "" {
			break
		}
	}
	if real, err := filepath.EvalSymlinks(all[0]); err == nil {
		all = append(all, real)
	}
	return all
}
