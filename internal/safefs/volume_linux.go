package safefs

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// volumeOf asks statfs(2). The type numbers are in statfs(2) and in the
// kernel's include/uapi/linux/magic.h.
func volumeOf(path string) (Volume, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return Volume{}, os.NewSyscallError("statfs", err)
	}
	v := Volume{
		Free: st.Bavail * uint64(st.Bsize), Total: st.Blocks * uint64(st.Bsize),
		Inodes: st.Files, InodesFree: st.Ffree,
	}
	switch uint32(st.Type) {
	case unix.NFS_SUPER_MAGIC:
		v.Name, v.Network = "NFS", true
	case unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC:
		v.Name, v.Network = "SMB", true
	case unix.V9FS_MAGIC:
		v.Name, v.Network = "9p", true
	case unix.CEPH_SUPER_MAGIC:
		v.Name, v.Network = "Ceph", true
	case unix.FUSE_SUPER_MAGIC:
		v.Name, v.Network = "FUSE", true
	case unix.TMPFS_MAGIC, unix.RAMFS_MAGIC:
		v.Name, v.Volatile = "memory (tmpfs)", true
	case unix.EXT4_SUPER_MAGIC:
		v.Name = "ext4"
	case unix.XFS_SUPER_MAGIC:
		v.Name = "XFS"
	case unix.BTRFS_SUPER_MAGIC:
		v.Name = "btrfs"
	case unix.OVERLAYFS_SUPER_MAGIC:
		v.Name = "overlayfs"
	default:
		v.Name = fmt.Sprintf("a file system of type %#x", uint32(st.Type))
	}
	return v, nil
}

// SyncVolume makes all that was written to the file system of path durable.
func SyncVolume(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(os.NewSyscallError("syncfs", unix.Syncfs(int(f.Fd()))), f.Close())
}
