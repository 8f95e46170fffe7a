package groups

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// giveBack gives the owner of a directory below parent its rights on it, unless
// they are there. The directory is held by a descriptor that needs no right on
// it (O_PATH), so what was looked at is what is changed, whatever its name
// leads to by then.
func giveBack(parent *os.Root, name string) (lacked bool, err error) {
	handle, err := parent.OpenFile(name, unix.O_PATH, 0)
	if err != nil {
		return false, err
	}
	defer func() { _ = handle.Close() }()
	info, err := handle.Stat() // of a link: the link
	if err != nil {
		return false, err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || !lacksRights(info, stat.Uid) {
		return false, nil
	}
	// Such a descriptor takes no fchmod, but its name in /proc does a chmod.
	err = os.Chmod("/proc/self/fd/"+strconv.Itoa(int(handle.Fd())), info.Mode()|0o700)
	return err == nil, err
}
