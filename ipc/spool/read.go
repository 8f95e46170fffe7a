package spool

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/longshore-bridge/longshore/ipc"
)

func refuse(code, message, hint string) *ipc.Refusal {
	return &ipc.Refusal{Code: code, Message: message, Hint: hint}
}

// readRequest reads the bytes of one request. It follows no link, opens only a plain
// file, and never blocks, so that a FIFO named a.json cannot stop the host and a
// link cannot make it read another file. If the entry itself is at fault, the error
// is a *Refusal; if the entry is gone, fs.ErrNotExist. info is nil only if the entry
// is gone or could not be examined.
func readRequest(dir *os.Root, name string) (body []byte, info fs.FileInfo, err error) {
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if refusal := checkEntry(before); refusal != nil {
		return nil, before, refusal
	}
	// O_NOFOLLOW states the intent, but os.Root would still follow a link that stays
	// inside. The comparison below is the actual check. O_NONBLOCK protects against
	// a FIFO that has replaced the file since Lstat.
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil, before, refuse(ipc.CodeUnreadable, "the host may not read the request", "create it with mode 0644")
	}
	if err != nil {
		return nil, before, err
	}
	defer f.Close()
	info, err = f.Stat()
	if err != nil {
		return nil, before, err
	}
	if !os.SameFile(before, info) {
		return nil, nil, fs.ErrNotExist // another file has the name now; it causes an event of its own
	}
	if refusal := checkEntry(info); refusal != nil {
		return nil, info, refusal
	}
	body = make([]byte, info.Size()+1)
	n, err := io.ReadAtLeast(f, body, int(info.Size())) // which needs no second read to see the end
	switch {
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, info, err
	case n < len(body):
		return body[:n], info, nil
	}
	// The file has grown since Stat: its writer does not follow the rule in the
	// hint.
	return body, info, refuse(ipc.CodeMalformed, "the request was still being written while the host read it", "write it under a dotted name and rename it when it is whole")
}

func checkEntry(info fs.FileInfo) *ipc.Refusal {
	if !info.Mode().IsRegular() {
		return refuse(ipc.CodeNotFile, "the request is "+kindOf(info.Mode())+", not a plain file", "write a plain file and rename it into place")
	}
	if info.Size() > ipc.MaxRequest {
		return ipc.TooLarge(info.Size())
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
		return refuse(ipc.CodeHardLinked, "the request has a second name", "rename it into place instead of linking it")
	}
	return nil
}

func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	default:
		return "a device"
	}
}

// remove removes an entry, unless another file has its name by now: the container
// may have put a new request there, which nobody has read yet. replaced reports
// that. A directory that is not empty is only renamed to a dotted name, as deleting
// its content could take as long as the container wants.
func remove(dir *os.Root, name string, info fs.FileInfo) (replaced bool, err error) {
	now, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !os.SameFile(now, info) || !now.IsDir() && !now.ModTime().Equal(info.ModTime()) {
		return true, nil
	}
	err = dir.Remove(name)
	if err != nil && now.IsDir() {
		err = dir.Rename(name, temporary())
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return false, err
}
