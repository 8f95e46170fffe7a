package fstest

import (
	"os"
	"syscall"
)

// WriteProgram writes a program that the test is about to run. No process is forked
// meanwhile: it would keep the file open for writing until it executes something else, and
// running the program would fail with "text file busy" (golang.org/issue/22315).
func WriteProgram(path, text string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, []byte(text), 0o755)
}
