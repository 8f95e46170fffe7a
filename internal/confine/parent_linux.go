package confine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// maxCopy is the size of the largest input that a host running as root copies,
// in bytes.
const maxCopy = 256 << 20

// self is this program, even after its file was replaced by a newer one, and
// even if the confined user cannot enter the file's directory.
const self = "/proc/self/exe"

// groupOfItsOwn makes the process a group leader that dies with the host's
// process.
func groupOfItsOwn() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// spec describes the program that the hidden process becomes.
type spec struct {
	Program string
	Args    []string
	Limits  Limits
	Result  int64    // bytes that the program may write to its standard output, a file; 0: it is no file
	Read    []string // Command.Readable
	Threads bool     // the limit of threads can be set: no other process has the same user
}

// confined runs the program with every layer: first with namespaces and, if the
// system allows none, without.
func (r Runner) confined(ctx context.Context, c Command, build func(*exec.Cmd) *exec.Cmd) error {
	uid, err := userFor(os.Geteuid())
	if err != nil {
		return err
	}
	input, err := r.readable(c.Input)
	if err != nil {
		return err
	}
	if input != nil && input != c.Input {
		defer input.Close()
	}
	result := int64(0)
	if c.Result != nil {
		result = int64(c.Output)
		if err := c.Result.Chmod(0o666); err != nil { // for the program's user, who opens it again
			return fmt.Errorf("open result: %w", err)
		}
	}
	for _, namespaces := range [...]bool{true, false} {
		if namespaces && r.noNamespaces {
			continue
		}
		s := spec{Program: c.Program, Args: c.Args, Limits: c.Limits, Result: result, Read: c.Readable, Threads: namespaces || os.Geteuid() == 0}
		text, err := json.Marshal(s)
		if err != nil {
			return fmt.Errorf("describe program: %w", err)
		}
		cmd := build(exec.CommandContext(ctx, self, Arg, string(text)))
		cmd.Args[0] = os.Args[0]
		cmd.SysProcAttr = attributes(uid, namespaces)
		if err := rewind(cmd, input); err != nil {
			return err
		}
		err = cmd.Start()
		if err == nil {
			return cmd.Wait()
		}
		if !namespaces || ctx.Err() != nil {
			return fmt.Errorf("start confined: %w", err)
		}
	}
	return nil // not reached
}

// attributes returns the attributes of the hidden process. Root creates the
// namespaces itself. Another user needs a user namespace for that, in which the
// user's id stays the same.
func attributes(uid int, namespaces bool) *syscall.SysProcAttr {
	a := groupOfItsOwn()
	if namespaces {
		a.Cloneflags = syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC
	}
	if os.Geteuid() == 0 {
		a.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)} // and no supplementary groups
	} else if namespaces {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	}
	return a
}

// unusedUsers are tried in this order. No system assigns the first: systemd
// lists 1879048192 to 2147483647 as unused, and also 65520 to 65533
// (https://systemd.io/UIDS-GIDS/). The second is for containers with only 65536
// users.
var unusedUsers = [...]int{2_000_000_000, 65_530}

// userFor returns the user that programs run as if the host runs as euid.
func userFor(euid int) (int, error) {
	if euid != 0 {
		return euid, nil
	}
	users, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return 0, fmt.Errorf("find an unused user: %w", err)
	}
	groups, err := os.ReadFile("/proc/self/gid_map")
	if err != nil {
		return 0, fmt.Errorf("find an unused group: %w", err)
	}
	for _, id := range unusedUsers {
		text := strconv.Itoa(id)
		_, isUser := user.LookupId(text)
		_, isGroup := user.LookupGroupId(text)
		if isUser != nil && isGroup != nil && mapped(string(users), id) && mapped(string(groups), id) {
			return id, nil
		}
	}
	return 0, errors.New("there is no unused user that programs could run as")
}

// readable returns input in a form that the program's user can open: a copy if
// this process is root, else input itself.
func (r Runner) readable(input *os.File) (*os.File, error) {
	if input == nil || os.Geteuid() != 0 {
		return input, nil
	}
	fi, err := input.Stat()
	if err != nil {
		return nil, fmt.Errorf("examine input: %w", err)
	}
	if !fi.Mode().IsRegular() || fi.Size() > maxCopy {
		return nil, fmt.Errorf("copy input: it is not a plain file of at most %d bytes", maxCopy)
	}
	tmp, err := r.temp(fi.Size())
	if err != nil {
		return nil, fmt.Errorf("copy input: %w", err)
	}
	defer tmp.Close() // the writable descriptor of the copy
	if _, err := input.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("copy input: %w", err)
	}
	if _, err := io.CopyN(tmp, input, fi.Size()); err != nil {
		return nil, fmt.Errorf("copy input: %w", err)
	}
	if err := tmp.Chmod(0o444); err != nil {
		return nil, fmt.Errorf("copy input: %w", err)
	}
	return os.Open("/proc/self/fd/" + strconv.Itoa(int(tmp.Fd())))
}

func (r Runner) temp(size int64) (*os.File, error) {
	if r.Temp != nil {
		return r.Temp(size)
	}
	f, err := os.CreateTemp("", "confined-*") // 0600
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}
