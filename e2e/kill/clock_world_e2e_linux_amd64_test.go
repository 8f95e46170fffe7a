//go:build e2e

package kill

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
)

// TestTheClockOfOneProcessCanBeSet: else the tests of set clocks would prove nothing.
func TestTheClockOfOneProcessCanBeSet(t *testing.T) {
	if os.Getenv(clockEnv) != "" {
		for range 2 {
			fmt.Println(time.Now().UnixMilli())
			_, _ = os.Stdin.Read(make([]byte, 1))
		}
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "TheClockOfOneProcess")
	cmd.Env = append(os.Environ(), clockEnv+"=1")
	in, err := cmd.StdinPipe()
	stage.Must(t, err)
	out, err := cmd.StdoutPipe()
	stage.Must(t, err)
	c, err := stage.StartWith(cmd, 24*time.Hour)
	stage.Must(t, err)
	defer c.Close()
	shows := func() time.Duration {
		var ms int64
		_, err := fmt.Fscan(out, &ms)
		stage.Must(t, err)
		return time.Until(time.UnixMilli(ms)).Round(time.Hour)
	}
	first := shows()
	stage.Must(t, c.Set(-48*time.Hour))
	_, err = in.Write([]byte{1})
	stage.Must(t, err)
	second := shows()
	stage.Must(t, in.Close())
	_, _ = io.Copy(io.Discard, out)
	stage.Must(t, cmd.Wait())
	if first != 24*time.Hour || second != -48*time.Hour {
		t.Errorf("its clock is ahead by %v, then by %v", first, second)
	}
}

const clockEnv = "LONGSHORE_TEST_CLOCK"
