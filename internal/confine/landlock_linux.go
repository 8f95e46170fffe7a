package confine

import (
	"errors"
	"fmt"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The file rights that Landlock knows, by the version of its interface
// (https://docs.kernel.org/userspace-api/landlock.html). seccomp covers the
// rights that an older kernel does not know: truncation, before version 3.
const (
	filesFrom1 = 1<<13 - 1 // from LANDLOCK_ACCESS_FS_EXECUTE to LANDLOCK_ACCESS_FS_MAKE_SYM
	filesFrom2 = unix.LANDLOCK_ACCESS_FS_REFER
	filesFrom3 = unix.LANDLOCK_ACCESS_FS_TRUNCATE
	filesFrom5 = unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	reading = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
)

// libraries may be read and, for the dynamic loader, executed: the system's
// libraries and data, with fonts. They contain no secrets.
var libraries = []string{
	"/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/usr/share", "/usr/local/share",
	"/nix/store", "/gnu/store", "/etc/ld.so.cache", "/etc/ld-musl-x86_64.path", "/etc/ld-musl-aarch64.path", "/etc/fonts", "/var/cache/fontconfig",
}

// devices may be read; some libraries do not start without them.
var devices = []string{"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"}

// landlockVersion returns the kernel's version of Landlock, or 0.
func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// handled returns everything that is forbidden unless a rule allows it.
func handled(version int) (a unix.LandlockRulesetAttr) {
	a.Handled_access_fs = filesFrom1
	if version >= 2 {
		a.Handled_access_fs |= filesFrom2
	}
	if version >= 3 {
		a.Handled_access_fs |= filesFrom3
	}
	if version >= 4 {
		a.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if version >= 5 {
		a.Handled_access_fs |= filesFrom5
	}
	if version >= 6 {
		a.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	return a
}

// restrictFiles limits this thread to the files that the program needs, for
// reading only, and to its result.
func restrictFiles(s spec) error {
	version := landlockVersion()
	if version == 0 {
		return errors.New("this kernel has no Landlock, or it is turned off: Linux 5.13 with landlock among its security modules (lsm=) has it")
	}
	attr := handled(version)
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("make Landlock rules: %w", errno)
	}
	rules := int(fd)
	defer unix.Close(rules)
	if err := allowFD(rules, 0, unix.LANDLOCK_ACCESS_FS_READ_FILE); err != nil && !errors.Is(err, unix.EBADFD) {
		return fmt.Errorf("allow input: %w", err) // EBADFD: /dev/null of nobody, a pipe; Landlock leaves these alone
	}
	if s.Result > 0 {
		if err := allowFD(rules, 1, unix.LANDLOCK_ACCESS_FS_READ_FILE|unix.LANDLOCK_ACCESS_FS_WRITE_FILE); err != nil {
			return fmt.Errorf("allow result: %w", err)
		}
	}
	if err := allowPath(rules, s.Program, unix.LANDLOCK_ACCESS_FS_EXECUTE|reading); err != nil {
		return fmt.Errorf("allow program: %w", err)
	}
	for _, path := range s.Read {
		if err := allowPath(rules, path, reading); err != nil {
			return fmt.Errorf("allow %q: %w", path, err)
		}
	}
	for _, dir := range append(librariesOf(s.Program), libraries...) {
		_ = allowPath(rules, dir, unix.LANDLOCK_ACCESS_FS_EXECUTE|reading) // many systems lack some of them
	}
	for _, device := range devices {
		_ = allowPath(rules, device, reading)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules), 0, 0); errno != 0 {
		return fmt.Errorf("apply Landlock rules: %w", errno)
	}
	return nil
}

// librariesOf returns the libraries of a program outside the system's
// directories, such as /opt/ffmpeg/lib for /opt/ffmpeg/bin/ffmpeg.
func librariesOf(program string) []string {
	real, err := filepath.EvalSymlinks(program)
	if err != nil || filepath.Base(filepath.Dir(real)) != "bin" {
		return nil
	}
	return []string{filepath.Join(filepath.Dir(real), "..", "lib")}
}

func allowPath(rules int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return allowFD(rules, fd, rights)
}

// allowFD adds a rule for the open file or directory fd. Only a directory may
// get the right to be listed.
func allowFD(rules, fd int, rights uint64) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &^= unix.LANDLOCK_ACCESS_FS_READ_DIR
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
