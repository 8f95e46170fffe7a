package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/command/terminal"
)

// withManager is a manager whose program writes down how it was called.
func withManager(t *testing.T) (m manager, calls func() string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "calls")
	script := "#!/bin/sh\necho \"$@\" >>" + log + "\ncase \"$*\" in *show*) printf 'ActiveState=active\\nMainPID=7\\nUnitFileState=enabled\\nFragmentPath=/x\\n';; esac\n"
	program := filepath.Join(dir, "systemctl")
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return manager{file: filepath.Join(dir, "units", "longshore.service"), running: dir, program: program}, func() string { return stage.Read(t, log) }
}

func TestAServiceIsInstalledShownAndRemoved(t *testing.T) {
	m, calls := withManager(t)
	var out bytes.Buffer
	e := &env{Terminal: terminal.Terminal{Stdout: &out, Stderr: &out}, getenv: func(string) string { return "" }}
	if err := e.installService(t.Context(), m, []byte("# Written by: longshore service install\n")); err != nil {
		t.Fatal(err)
	}
	if err := e.serviceStatus(t.Context(), m); err != nil || !strings.Contains(out.String(), "active") {
		t.Errorf("%v, said %s", err, out.String())
	}
	if err := e.uninstallService(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(m.file); !os.IsNotExist(err) {
		t.Errorf("the service's file is left: %v", err)
	}
	want := "--user daemon-reload\n--user enable longshore.service\n--user restart longshore.service\n--user show"
	if got := calls(); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "--user disable --now longshore.service\n--user daemon-reload\n") {
		t.Errorf("systemctl was called with\n%s", got)
	}
}

func TestAServiceOfSomebodyElseIsLeftAsItIs(t *testing.T) {
	m, _ := withManager(t)
	if err := os.MkdirAll(filepath.Dir(m.file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(m.file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := &env{Terminal: terminal.Terminal{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}}
	for _, err := range []error{e.installService(t.Context(), m, []byte("theirs")), e.uninstallService(t.Context(), m)} {
		if code, _ := exitOf(err); err == nil || code != terminal.ExitRefused {
			t.Errorf("not refused: %v", err)
		}
	}
	if got := stage.Read(t, m.file); got != "mine" {
		t.Errorf("the file is now %q", got)
	}
}

func TestWithoutSystemdTheServiceSaysSo(t *testing.T) {
	m := manager{running: filepath.Join(t.TempDir(), "systemd")}
	e := &env{Terminal: terminal.Terminal{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}}
	for _, err := range []error{e.installService(t.Context(), m, nil), e.uninstallService(t.Context(), m), e.serviceStatus(t.Context(), m)} {
		if code, _ := exitOf(err); err == nil || code != terminal.ExitRefused || !strings.Contains(err.Error(), "not run by systemd") {
			t.Errorf("%d: %v", code, err)
		}
	}
}
