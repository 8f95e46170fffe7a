package safefs

import (
	"io/fs"
	"os"
	"syscall"
)

// Mine says whether this process's user owns what fi describes.
func Mine(fi fs.FileInfo) bool {
	uid, ok := UID(fi)
	return ok && uid == os.Geteuid()
}

// UID is the user who owns what fi describes.
func UID(fi fs.FileInfo) (uid int, ok bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}
