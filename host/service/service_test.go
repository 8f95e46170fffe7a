package service

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/internal/need"
)

func sample(system bool) Service {
	return Service{Program: "/bin/true", Config: "/etc/my long$shore/100%/longshore.yaml", Write: []string{"/var/lib/long shore"}, Path: "/usr/bin:/bin", System: system, User: "daemon"}
}

func TestSystemdTakesTheUnits(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain.service")
	if err := os.WriteFile(plain, []byte("[Service]\nExecStart=/bin/true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify", "--man=no", "--recursive-errors=no"}, {"security", "--offline=true", "--no-pager"}} {
		if said, err := exec.CommandContext(t.Context(), "systemd-analyze", append(args, plain)...).CombinedOutput(); err != nil {
			need.Lacking(t, "check a unit by systemd-analyze %s: %v %s", args[0], err, said)
		}
	}
	for name, args := range map[string][]string{"system": {"verify"}, "user": {"--user", "verify"}} {
		s := sample(name == "system")
		text, err := s.Unit()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "longshore.service")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "systemd-analyze", append(args, "--man=no", "--recursive-errors=no", path)...)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
		said, err := cmd.CombinedOutput()
		if err != nil || strings.Contains(string(said), path) {
			t.Errorf("%s: %v\n%s%s", name, err, said, text)
		}
		if name == "user" {
			continue
		}
		said, err = exec.CommandContext(t.Context(), "systemd-analyze", "security", "--offline=true", "--threshold=25", "--no-pager", path).CombinedOutput()
		if err != nil {
			t.Errorf("the unit is exposed by more than 2.5: %v\n%s", err, said)
		}
		t.Logf("%s", said[strings.LastIndex(strings.TrimSpace(string(said)), "\n")+1:])
	}
}

func TestSystemdTakesTheUnitOfAPair(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		need.Lacking(t, "check a unit by systemd-analyze: %v", err)
	}
	text, err := os.ReadFile("../../packaging/cluster/longshore@.service")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "longshore@.service")
	here := strings.NewReplacer("/usr/bin/longshore", "/bin/true", "User=longshore", "User=daemon").Replace(string(text))
	if err := os.WriteFile(path, []byte(here), 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), "systemd-analyze", "verify", "--man=no", "--recursive-errors=no", path).CombinedOutput(); err != nil || strings.Contains(string(said), path) {
		t.Errorf("%v\n%s", err, said)
	}
}

// The exit code of verify does not tell of a line that systemd leaves out, nor
// whether a word came through whole.
func TestAPathWithSpacesAndPercentsStaysOneWord(t *testing.T) {
	text, err := sample(true).Unit()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`ExecStart="/bin/true" -c "/etc/my long$$shore/100%%/longshore.yaml" serve`,
		`ReadWritePaths=-"/var/lib/long shore"`, "WorkingDirectory=/etc/my long$shore/100%%\n", "User=daemon",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	s := sample(true)
	s.Config = "/etc/x\nUser=root/longshore.yaml"
	if _, err := s.Unit(); err == nil {
		t.Error("a path with a line break got into a unit")
	}
}

func TestTheLaunchdAgentIsAPropertyListWithEveryPathWhole(t *testing.T) {
	s := sample(false)
	s.Config = "/Users/a<b>&c/longshore.yaml"
	text, err := s.Agent()
	if err != nil {
		t.Fatal(err)
	}
	var plist struct {
		XMLName xml.Name `xml:"plist"`
		Dict    struct {
			Keys []string `xml:"key"`
			Args []string `xml:"array>string"`
		} `xml:"dict"`
	}
	dec := xml.NewDecoder(strings.NewReader(string(text)))
	if err := dec.Decode(&plist); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if diff := cmp.Diff([]string{"/bin/true", "-c", s.Config, "serve"}, plist.Dict.Args); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"Label", "ProgramArguments", "WorkingDirectory", "EnvironmentVariables", "StandardErrorPath", "Umask", "RunAtLoad", "KeepAlive"}, plist.Dict.Keys); diff != "" {
		t.Error(diff)
	}
}

// manager is a service manager's end of NOTIFY_SOCKET.
func manager(t *testing.T) (socket string, next func() string) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return socket, func() string {
		t.Helper()
		buf := make([]byte, 512)
		_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
		n, err := conn.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
}

func TestTheWatchdogIsFedOnlyWhileTheHostAnswers(t *testing.T) {
	socket, next := manager(t)
	env := map[string]string{"NOTIFY_SOCKET": socket, "WATCHDOG_USEC": "40000", "WATCHDOG_PID": strconv.Itoa(os.Getpid())}
	n := NotifierOf(func(k string) string { return env[k] }, os.Getpid())
	ctx, cancel := context.WithCancel(t.Context())
	var asked atomic.Int64
	hung := make(chan struct{})
	alive := func(ctx context.Context) error {
		switch asked.Add(1) {
		case 1:
			return errors.New("not yet started")
		case 2, 3:
			return nil
		case 4, 5: // the host hangs
			<-ctx.Done()
			return ctx.Err()
		case 6:
			close(hung)
		}
		<-ctx.Done()
		return ctx.Err()
	}
	done := make(chan struct{})
	go func() { defer close(done); n.Run(ctx, slog.New(slog.NewTextHandler(io.Discard, nil)), alive) }()
	if got := []string{next(), next()}; !cmp.Equal(got, []string{"READY=1", "WATCHDOG=1"}) {
		t.Errorf("the manager heard %q", got)
	}
	<-hung
	cancel()
	<-done
	if got := next(); got != "STOPPING=1" {
		t.Errorf("a host that hangs fed its watchdog: %q", got)
	}
}

func TestAWatchdogOfAnotherProcessIsNotFed(t *testing.T) {
	for _, env := range []map[string]string{{"WATCHDOG_USEC": "40000", "WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "-5"}, {"WATCHDOG_USEC": "x"}, {"WATCHDOG_USEC": "9223372036854775807"}, {}} {
		if n := NotifierOf(func(k string) string { return env[k] }, 2); n.Within != 0 {
			t.Errorf("%v: %v", env, n.Within)
		}
	}
	if err := (Notifier{}).Tell("READY=1"); err != nil {
		t.Error(err)
	}
}
