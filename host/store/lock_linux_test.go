package store_test

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/longshore-bridge/longshore/host/store"
)

// TestADatabaseThatMayNotBeWrittenWasOpened: a host started, could write nothing, and left a log that
// nobody may write.
func TestADatabaseThatMayNotBeWrittenWasOpened(t *testing.T) {
	s := specIn(t.TempDir())
	path := s.Dir + "/" + s.File
	if err := errors.Join(os.MkdirAll(s.Dir, 0o700), os.WriteFile(path, nil, 0o444)); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // the thread has lost root's right to write any file, and ends with this goroutine
		head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		if err := unix.Capset(&head, &make([]unix.CapUserData, 2)[0]); err != nil {
			t.Error(err)
			return
		}
		lock, err := store.Lock(s)
		if !errors.Is(err, store.ErrUnreadable) || !strings.Contains(err.Error(), "chmod u+rwX "+path) {
			t.Errorf("%v", err)
		}
		if lock != nil {
			lock.Close()
		}
	}()
	<-done
}

// lockEnv has this program lock a database until its input ends.
const lockEnv = "LONGSHORE_TEST_LOCKS"

func holdLock(path string) {
	db, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = db.Exec("BEGIN IMMEDIATE")
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("locked")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// TestALockOfAnotherProgramWasADamagedDatabase: the remedy was to restore a backup.
func TestALockOfAnotherProgramWasADamagedDatabase(t *testing.T) {
	s, _ := made(t)
	path := filepath.Join(s.Dir, s.File)
	other := exec.CommandContext(t.Context(), "/proc/self/exe")
	other.Env = append(os.Environ(), lockEnv+"="+path)
	in, err := other.StdinPipe()
	must(t, err)
	out, err := other.StdoutPipe()
	must(t, err, other.Start())
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("%q, %v", line, err)
	}
	want := fmt.Sprintf("process %d, which is no host, has locked the notes's database, %s", other.Process.Pid, path)
	_, err = store.Examine(t.Context(), s, true)
	for name, err := range map[string]error{"at rest": err, "running": s.Busy()} {
		if known, ok := errors.AsType[*store.Error](err); !ok || !errors.Is(err, store.ErrBusy) || known.Message != want || !strings.Contains(known.Remedy, fmt.Sprint("kill ", other.Process.Pid)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, in.Close(), other.Wait(), s.Busy())
}
