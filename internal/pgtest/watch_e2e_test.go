//go:build e2e

package pgtest_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/internal/pgtest"
)

const asChild = "LONGSHORE_PGTEST_CHILD"

// A test process that was killed left its server behind, which held files that later tests wanted.
func TestAServerOutlivedItsTestsProcess(t *testing.T) {
	if os.Getenv(asChild) != "" {
		s := pgtest.Start(t)
		fmt.Println("started", s.Dir, s.Port)
		select {}
	}
	pgtest.Start(t) // skips where there is none
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), asChild+"=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var words []string
	for lines := bufio.NewScanner(out); len(words) != 3 && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "started ") {
			words = strings.Fields(lines.Text())
		}
	}
	if len(words) != 3 {
		t.Fatal("the child started no server")
	}
	c, err := net.Dial("tcp", "127.0.0.1:"+words[2])
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = child.Process.Kill()
	_ = child.Wait()
	_ = c.SetReadDeadline(time.Now().Add(45 * time.Second)) // the server itself waits for a password for a minute
	if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the server still runs")
	}
}
