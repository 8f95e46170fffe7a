package transcribe_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/internal/confine"
)

func TestMain(m *testing.M) {
	confine.Child() // programs run as a process of this binary
	goleak.VerifyTestMain(m)
}

// soundFile is a member's file.
func soundFile(t *testing.T, data []byte) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	check(t, err)
	t.Cleanup(func() { _ = f.Close() })
	_, err = f.Write(data)
	check(t, err)
	return f
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// temporary makes the temporary files of a Transcriber.
func temporary(t *testing.T) func(int64) (*os.File, func(), error) {
	return func(int64) (*os.File, func(), error) {
		f, err := os.CreateTemp(t.TempDir(), "")
		return f, func() {}, err
	}
}
