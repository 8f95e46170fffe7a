package command

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/host/channel/web"
)

func TestSetupEndsWithTheAssistantsFileOnThePage(t *testing.T) {
	listen, err := pageAddress()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-c", filepath.Join(dir, "longshore.yaml"), "setup", "--group", "The Family", "--listen", listen, "--no-service")
	cmd.Env = append(os.Environ(), serveEnv+"=1")
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "until ctrl-c") {
			break
		}
	}
	m := member{base: "http://" + listen, chat: "the-family"}
	var page struct{ Messages []web.Message }
	if err := m.call(t.Context(), http.MethodGet, m.messages(), nil, &page); err != nil {
		t.Fatalf("%v\n%s\n%s", err, said.String(), log.String())
	}
	files := 0
	for _, msg := range page.Messages {
		if msg.File == nil {
			continue
		}
		files++
		compareWithWorkspace(t, m, msg.File, filepath.Join(dir, "state"))
	}
	if files < 2 || !strings.Contains(said.String(), "page: http://"+listen+"/") {
		t.Errorf("%d files; setup said\n%s", files, said.String())
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, log.String())
	}
}

func compareWithWorkspace(t *testing.T, m member, f *web.File, state string) {
	t.Helper()
	resp, err := m.do(t.Context(), http.MethodGet, m.base+f.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	same := false
	_ = filepath.WalkDir(state, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Name() == f.Name {
			wrote, err := os.ReadFile(path)
			same = same || err == nil && bytes.Equal(got, wrote)
		}
		return nil
	})
	if !same || len(got) == 0 {
		t.Errorf("%s on the page has %d bytes that no file of the assistant has", f.Name, len(got))
	}
}
