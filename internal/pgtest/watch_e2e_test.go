//go:build e2e

package pgtest_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strconv"
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
	_ = child.Process.Kill()
	_ = child.Wait()
	if len(words) != 3 {
		t.Fatal("the child started no server")
	}
	for over := time.Now().Add(time.Minute); ; {
		if _, err := os.Stat(words[1]); errors.Is(err, fs.ErrNotExist) {
			break
		}
		if time.Now().After(over) {
			t.Fatal("the server's directory is still there")
		}
	}
	port, _ := strconv.Atoi(words[2])
	if c, err := net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}); err == nil {
		c.Close()
		t.Error("the server still answers")
	}
}
