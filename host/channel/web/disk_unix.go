//go:build linux || darwin

package web

import "golang.org/x/sys/unix"

// freeDisk is how many bytes the file system of dir has left.
func freeDisk(dir string) (int64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}
