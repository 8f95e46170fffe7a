package safefs

import (
	"io/fs"
	"os"
	"syscall"
)

// Mine reports whether this process's user owns the file that fi describes.
func Mine(fi fs.FileInfo) bool {
	uid, ok := UID(fi)
	return ok && uid == os.Geteuid()
}

// UID returns the owner of the file that fi describes.
func UID(fi fs.FileInfo) (uid int, ok bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}
