package finding

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// MoreFiles is the remedy for a process that may open no more files.
const MoreFiles = "raise LimitNOFILE of the service (ulimit -n), and restart the host"

// system has what an operator does about an error of the operating system, by its number. PATH is the file or
// directory, quoted for a shell. access(2) and open(2) say what each means.
var system = map[syscall.Errno]string{
	syscall.EACCES:   "chmod u+rwX PATH, as its owner or as root",
	syscall.EPERM:    "chattr -i -a PATH, as root: lsattr -d PATH shows whether it is immutable (i) or append-only (a)",
	syscall.EROFS:    "mount its file system for writing: PATH",
	syscall.ENOSPC:   MakeRoom,
	syscall.EDQUOT:   "raise the disk quota of the host's user, or delete files of that user",
	syscall.EFBIG:    "raise LimitFSIZE of the service (ulimit -f), and restart the host",
	syscall.EMFILE:   MoreFiles,
	syscall.ENFILE:   "raise fs.file-max by sysctl, or end programs that have many files open",
	syscall.ENOMEM:   "give the machine more memory, or end programs that use it",
	syscall.EIO:      "look for errors of the disk in the kernel's log (dmesg), and replace the disk; if files were damaged, restore a backup",
	syscall.ESTALE:   "mount its file system again: PATH",
	syscall.ENOTCONN: "end the program that has its file system mounted (FUSE), and mount that again: PATH",
	syscall.ELOOP:    "find out who put a link there, and put the directory or file back: PATH",
}

// Remedy is what to do about an error of the system; empty if the error has none, or one that says nothing by itself,
// such as a missing file. path is used if the error has no path.
func Remedy(err error, path string) string {
	number, ok := errors.AsType[syscall.Errno](err)
	if !ok && errors.Is(err, fs.ErrPermission) {
		number = syscall.EACCES
	}
	if failed, has := errors.AsType[*fs.PathError](err); has {
		path = failed.Path
	}
	_, above := os.Lstat(path)
	if errors.Is(above, fs.ErrNotExist) { // it was to be made
		path = filepath.Dir(path)
	}
	for ; errors.Is(above, fs.ErrPermission) && path != filepath.Dir(path); _, above = os.Lstat(path) { // a directory above it is closed
		path = filepath.Dir(path)
	}
	return strings.ReplaceAll(system[number], "PATH", ShellWord(path))
}
