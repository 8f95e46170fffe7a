package ipc

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// readRequest reads one request's bytes. It follows no link, opens nothing but
// a plain file and never blocks: a FIFO called a.json must not stop the host, nor
// may a link make it read another's file. The error is a *Refusal where the
// entry itself is at fault, fs.ErrNotExist where it is gone; info is nil only
// then or when nothing could be learned.
func readRequest(dir *os.Root, name string) (body []byte, info fs.FileInfo, err error) {
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if refusal := checkEntry(before); refusal != nil {
		return nil, before, refusal
	}
	// O_NOFOLLOW says what is meant; os.Root would still follow a link that
	// stays inside, so the comparison below is what counts. O_NONBLOCK is for
	// a FIFO that took the place since.
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil, before, refuse(CodeUnreadable, "the host may not read the request", "create it with mode 0644")
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
		return nil, nil, fs.ErrNotExist // another one; it makes its own event
	}
	if refusal := checkEntry(info); refusal != nil {
		return nil, info, refusal
	}
	body = make([]byte, info.Size()+1)
	n, err := io.ReadFull(f, body)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return body[:n], info, nil
	case err != nil:
		return nil, info, err
	}
	// It grew since; whatever writes there has not understood the rule.
	return body, info, refuse(CodeMalformed, "the request was still being written", "write it under a dotted name and rename it when it is whole")
}

func checkEntry(info fs.FileInfo) *Refusal {
	if !info.Mode().IsRegular() {
		return refuse(CodeNotFile, "the request is "+kindOf(info.Mode())+", not a plain file", "write a plain file and rename it into place")
	}
	if info.Size() > MaxRequest {
		return tooLarge(info.Size())
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
		return refuse(CodeHardLinked, "the request has a second name", "rename it into place instead of linking it")
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

// remove takes an entry out of the way, unless another has its name by now:
// the container may have put a new request there, which nobody has read yet.
// replaced says so. A directory that is not empty keeps its content under a dotted name:
// how much there is to delete is not for the container to decide.
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
