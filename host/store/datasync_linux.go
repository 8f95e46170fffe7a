package store

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// vfsName is the name under which SQLite's files are opened here: its own way, but that a commit
// makes the log durable by fdatasync, as the builds of distributions do. The driver is built without
// HAVE_FDATASYNC (https://www.sqlite.org/compile.html), and fsync also waits for the log's new time,
// which lies in the file system's journal behind all that assistants write.
const vfsName = "longshore"

// logMethods are the methods of an open log, and SQLite's own sync.
type logMethods struct {
	sqlite3.Tsqlite3_io_methods
	sync uintptr
}

// What SQLite keeps for the process: it takes a name once, and holds addresses.
var (
	registerVFS = sync.OnceValue(register)
	methods     logMethods
	copyMethods sync.Once
)

type (
	openFunc = func(t *libc.TLS, vfs, path, file uintptr, flags int32, out uintptr) int32
	syncFunc = func(t *libc.TLS, file uintptr, flags int32) int32
)

// at returns what lies at an address of SQLite's.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// function returns the function that SQLite holds under an address.
func function[T any](address uintptr) T { return *(*T)(unsafe.Pointer(&address)) }

// address returns what SQLite holds of a function, which must be no closure.
func address[T any](fn T) uintptr { return *(*uintptr)(unsafe.Pointer(&fn)) }

func register() error {
	t := libc.NewTLS()
	defer t.Close()
	name, err := libc.CString(vfsName)
	if err != nil {
		return err
	}
	own := libc.Xmalloc(t, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_vfs{}))) // for good: SQLite keeps it
	if own == 0 {
		return errors.New("open the database: out of memory")
	}
	v := at[sqlite3.Tsqlite3_vfs](own)
	*v = *at[sqlite3.Tsqlite3_vfs](sqlite3.Xsqlite3_vfs_find(t, 0))
	v.FzName, v.FxOpen = name, address[openFunc](openFile)
	if rc := sqlite3.Xsqlite3_vfs_register(t, own, 0); rc != sqlite3.SQLITE_OK {
		return fmt.Errorf("open the database: SQLite does not take its files: code %d", rc)
	}
	return nil
}

// openFile opens a file as SQLite does, and gives a log its own sync.
func openFile(t *libc.TLS, _, path, file uintptr, flags int32, out uintptr) int32 {
	base := sqlite3.Xsqlite3_vfs_find(t, 0)
	rc := function[openFunc](at[sqlite3.Tsqlite3_vfs](base).FxOpen)(t, base, path, file, flags, out)
	if rc != sqlite3.SQLITE_OK || flags&sqlite3.SQLITE_OPEN_WAL == 0 {
		return rc
	}
	f := at[sqlite3.TunixFile](file)
	copyMethods.Do(func() {
		methods.Tsqlite3_io_methods = *at[sqlite3.Tsqlite3_io_methods](f.FpMethod)
		methods.sync = methods.FxSync
		methods.FxSync = address[syncFunc](syncLog)
	})
	f.FpMethod = uintptr(unsafe.Pointer(&methods))
	return rc
}

// syncLog makes a log durable with the size of its file. The first sync of a new log is SQLite's
// own, which makes its name durable too.
func syncLog(t *libc.TLS, file uintptr, flags int32) int32 {
	f := at[sqlite3.TunixFile](file)
	if f.FctrlFlags&sqlite3.UNIXFILE_DIRSYNC != 0 {
		return function[syncFunc](methods.sync)(t, file, flags)
	}
	for {
		switch err := unix.Fdatasync(int(f.Fh)); err {
		case nil:
			return sqlite3.SQLITE_OK
		case unix.EINTR:
		default:
			f.FlastErrno = int32(err.(unix.Errno))
			return sqlite3.SQLITE_IOERR_FSYNC
		}
	}
}
