package config_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/config"
)

// systemMount is a configuration whose operator lets groups mount everything,
// and whose group mounts host.
func systemMount(host string) string {
	return "channels: {web: {}}\ngroups:\n- folder: a\n  chat: web:a\n  mounts:\n  - name: x\n    host: " + host + "\n    write: true\nmounts: {allow: [{path: /, write: true}]}\n"
}

// TestTheSystemIsNoMount: with what lies there, a container would rule the
// machine, however much the operator allows.
func TestTheSystemIsNoMount(t *testing.T) {
	dir := configDir(t)
	for _, host := range []string{"/", "/proc", "/proc/1", "/sys", "/dev", "/dev/shm", "/run", "/var/run", "/run/lock"} {
		if info, err := os.Stat(host); err != nil || !info.IsDir() {
			continue // not every system has each
		}
		err := wrong(parse(t, dir, systemMount(host)))
		if err == nil {
			t.Errorf("%s: no error", host)
			continue
		}
		p := problems(t, err)[0]
		if p.Line != 7 || p.Key != "groups[0].mounts[0].host" || !strings.Contains(p.Message, "is the system's own") || p.Hint == "" {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// TestMountsThatTellTooMuchAreWarnedOf: these start, and an operator may mean
// them.
func TestMountsThatTellTooMuchAreWarnedOf(t *testing.T) {
	home := t.TempDir()
	for host, want := range map[string]string{
		"/etc":           "holds this machine's configuration",
		"/etc/ssl":       "holds this machine's configuration",
		"/root":          "holds a whole home directory",
		home:             "holds a whole home directory",
		home + "/photos": "",
		"/var":           "holds what a container engine keeps",
		"/usr/share":     "",
	} {
		if err := os.MkdirAll(home+"/photos", 0o755); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Parse(home+"/../conf/longshore.yaml", []byte("state: "+t.TempDir()+"\n"+systemMount(host)), func(name string) string {
			return map[string]string{"HOME": home}[name]
		}, platforms())
		if err != nil {
			t.Errorf("%s: %v", host, err)
			continue
		}
		warned(t, host, cfg, want)
	}
}

// TestImagesHaveTheNamesThatEnginesTake: what is none would reach the engine, or
// the command that the operator is told to run.
func TestImagesHaveTheNamesThatEnginesTake(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for image, good := range map[string]bool{
		"longshore-agent:latest": true, "img": true, "localhost:5000/a/b_c:V1.2": true, "registry.example.org/team/agent@" + digest: true,
		digest: true, "3f57d9401f8d": true,
		"--privileged foo": false, "-v": false, "foo bar": false, "Agent": false, "foo:": false, "foo:a b": false, "": false,
		"foo@sha256:12": false, "https://example.org/foo": false, "foo;reboot": false, "../foo": false, "foo\nbar": false,
		strings.Repeat("a", 300): false,
	} {
		_, err := config.Parse("longshore.yaml", fmt.Appendf(nil, "assistants:\n  a:\n    runtime: docker\n    image: %q\n", image), os.Getenv, platforms())
		if good {
			if err != nil {
				t.Errorf("%q: %v", image, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%q: no error", image)
			continue
		}
		if p := problems(t, err)[0]; p.Line != 4 || p.Key != "assistants.a.image" || !strings.Contains(p.Message, "is no name of an image") {
			t.Errorf("%q: %v", image, err)
		}
	}
}
