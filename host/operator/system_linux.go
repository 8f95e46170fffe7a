package operator

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// fileSystem asks statfs(2). The numbers are those of statfs(2) and of the
// kernel's include/uapi/linux/magic.h.
func fileSystem(path string) (volume, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return volume{}, os.NewSyscallError("statfs", err)
	}
	v := volume{
		free: st.Bavail * uint64(st.Bsize), total: st.Blocks * uint64(st.Bsize),
		inodes: st.Files, inodesFree: st.Ffree,
	}
	switch uint32(st.Type) {
	case unix.NFS_SUPER_MAGIC:
		v.name, v.network = "NFS", true
	case unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC:
		v.name, v.network = "SMB", true
	case unix.V9FS_MAGIC:
		v.name, v.network = "9p", true
	case unix.CEPH_SUPER_MAGIC:
		v.name, v.network = "Ceph", true
	case unix.FUSE_SUPER_MAGIC:
		v.name, v.network = "FUSE", true
	case unix.TMPFS_MAGIC, unix.RAMFS_MAGIC:
		v.name, v.volatile = "memory (tmpfs)", true
	case unix.EXT4_SUPER_MAGIC:
		v.name = "ext4"
	case unix.XFS_SUPER_MAGIC:
		v.name = "XFS"
	case unix.BTRFS_SUPER_MAGIC:
		v.name = "btrfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		v.name = "overlayfs"
	default:
		v.name = fmt.Sprintf("a file system of type %#x", uint32(st.Type))
	}
	return v, nil
}

// clockSynchronized asks adjtimex(2), which changes nothing when no mode is
// given. The second result is false where the kernel does not tell.
func clockSynchronized() (synced, known bool) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return false, false
	}
	return state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0, true
}

// lockHolder finds who holds a flock(2) on a file, in the kernel's table of
// locks, proc_locks(5). It is 0 where nobody does or nobody visible does.
func lockHolder(proc, path string) int {
	fi, err := os.Stat(path)
	if err != nil {
		return 0
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	table, err := os.ReadFile(proc + "/locks")
	if err != nil {
		return 0
	}
	// The device in the table is the file system's own, which stat hides on
	// btrfs and overlayfs: the inode alone is compared.
	inode := ":" + strconv.FormatUint(st.Ino, 10)
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) >= 6 && f[3] == "WRITE" && strings.HasSuffix(f[5], inode) {
			pid, _ := strconv.Atoi(f[4])
			return pid
		}
	}
	return 0
}
