//go:build e2e

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/host/runtime/containertest"
)

func TestMain(m *testing.M) { os.Exit(containertest.Main(m)) }

// debian is a clean Debian on which an operator works.
type debian struct {
	*testing.T
	root string
}

func newDebian(t *testing.T) *debian {
	t.Helper()
	d := &debian{t, containertest.Debian(t)}
	proc := filepath.Join(d.root, "proc")
	if err := syscall.Mount("proc", proc, "proc", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(proc, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return d
}

func (d *debian) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(d.Context(), "chroot", append([]string{d.root}, args...)...)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive"}
	return cmd
}

// operator is a longshore command as the service's user; setpriv becomes what it runs.
func (d *debian) operator(args ...string) *exec.Cmd {
	cmd := d.command(append([]string{"setpriv", "--reuid=longshore", "--regid=longshore", "--init-groups", "longshore"}, args...)...)
	cmd.Env = append(cmd.Env, "HOME=/var/lib/longshore")
	return cmd
}

// run runs a command that has to succeed.
func (d *debian) run(args ...string) string { return d.output(d.command(args...)) }

func (d *debian) output(cmd *exec.Cmd) string {
	d.Helper()
	said, err := cmd.CombinedOutput()
	if err != nil {
		d.Fatalf("%s: %v\n%s", cmd, err, said)
	}
	return string(said)
}

func (d *debian) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(d.root, name))
	return err == nil
}

const machineConfig = "/etc/longshore/longshore.yaml"

// tryPackage installs the package as a new operator would, sees a file arrive, upgrades,
// and removes the package again.
func tryPackage(t *testing.T, deb string) {
	d := newDebian(t)
	sh(t, nil, "cp", deb, filepath.Join(d.root, "longshore.deb"))
	began := time.Now()
	d.run("dpkg", "-i", "/longshore.deb")
	installed := time.Since(began)
	for _, want := range []string{
		"usr/share/man/man1/longshore.1.gz", "usr/share/man/man1/longshore-queue-list.1.gz", "usr/share/man/man1/agentrunner.1.gz",
		"usr/share/bash-completion/completions/longshore", "usr/lib/systemd/system/longshore.service", "usr/share/doc/longshore/third-party.gz",
	} {
		if !d.exists(want) {
			t.Errorf("%s is not there", want)
		}
	}
	listen := freeAddress(t)
	host := d.operator("-c", machineConfig, "setup", "--group", "Family", "--listen", listen, "--no-service")
	end := d.start(host, "until ctrl-c")
	t.Logf("dpkg -i took %v; the file was in the chat %v after it began", installed.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	if n := d.filesOnThePage("http://" + listen); n < 2 {
		t.Errorf("%d files are on the page", n)
	}
	d.run("dpkg", "-i", "/longshore.deb") // the next version, while the host runs
	if said := d.output(d.operator("status")); !strings.Contains(said, "family") {
		t.Errorf("after an upgrade without -c, status says:\n%s", said)
	}
	end()
	status := d.command("longshore", "service", "status")
	said, err := status.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 3 || !strings.Contains(string(said), "systemd") {
		t.Errorf("service status: %v\n%s", err, said)
	}
	if said := d.run("dpkg", "--purge", "longshore"); !strings.Contains(said, "/var/lib/longshore stays") {
		t.Errorf("a purge says:\n%s", said)
	}
	if d.exists("usr/bin/longshore") || !d.exists(machineConfig) || !d.exists("var/lib/longshore/state/groups/family") {
		t.Error("a purge leaves the program, or takes configuration or state")
	}
}

// start starts a command and waits until it prints a line with the words. end ends it.
func (d *debian) start(cmd *exec.Cmd, words string) (end func()) {
	d.Helper()
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		d.Fatal(err)
	}
	var said strings.Builder
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), words) {
		said.WriteString(lines.Text() + "\n")
	}
	if !strings.Contains(lines.Text(), words) {
		d.Fatalf("it ended: %v\n%s\n%s", cmd.Wait(), said.String(), log.String())
	}
	return func() {
		d.Helper()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			d.Error(err)
		}
		_, _ = io.Copy(io.Discard, out)
		if err := cmd.Wait(); err != nil {
			d.Errorf("%v\n%s", err, log.String())
		}
	}
}

// filesOnThePage downloads the files of the chat and finds each among those that the
// assistant wrote. It returns how many there are.
func (d *debian) filesOnThePage(url string) (n int) {
	d.Helper()
	var page struct {
		Messages []struct {
			File *struct{ Name, URL string }
		}
	}
	if err := json.Unmarshal(get(d.T, url+"/api/chats/family/messages"), &page); err != nil {
		d.Fatal(err)
	}
	for _, m := range page.Messages {
		if m.File == nil {
			continue
		}
		wrote, err := filepath.Glob(filepath.Join(d.root, "var/lib/longshore/state/groups/family", m.File.Name))
		if err != nil || len(wrote) != 1 {
			d.Fatalf("the assistant wrote %q: %v", wrote, err)
		}
		want, err := os.ReadFile(wrote[0])
		if err != nil || !bytes.Equal(want, get(d.T, url+m.File.URL)) {
			d.Errorf("%s on the page is not what the assistant wrote: %v", m.File.Name, err)
		}
		n++
	}
	return n
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v\n%.500s", url, resp.Status, err, body)
	}
	return body
}

func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// tryImage loads the image into an engine and has it do the demo, with no rights and a
// root that cannot be written.
func tryImage(t *testing.T, image string) {
	needs(t, "docker", "--version")
	_, engine := containertest.Engine(t)
	docker := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "docker", append([]string{"-H", engine}, args...)...)
		said, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, said)
		}
		return string(said)
	}
	if said := docker("load", "-i", image); !strings.Contains(said, "longshore:0.0.1") {
		t.Fatal(said)
	}
	run := []string{"run", "--rm", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--network", containertest.Network, "longshore:0.0.1"}
	if said := docker(append(run, "demo", "--once")...); !strings.Contains(said, "harbour-week.pdf") {
		t.Errorf("the demo says:\n%s", said)
	}
	if said := docker(append(run, "version")...); !strings.Contains(said, "v0.0.1") {
		t.Errorf("it is %s", said)
	}
	inside := docker("run", "--rm", "--entrypoint", "/usr/bin/agentrunner", "longshore:0.0.1", "version")
	if inside != "v0.0.1\n" { // or else assistants would run in the whole host
		t.Errorf("agentrunner says %q", inside)
	}
}
