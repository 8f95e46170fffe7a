package sender_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/agentrunner/internal/fakehost"
	"github.com/longshore-bridge/longshore/agentrunner/sender"
	"github.com/longshore-bridge/longshore/ipc"
)

// refusedCode sends one file and returns the code of its refusal; empty, if it was sent.
func refusedCode(t *testing.T, h *fakehost.Host, s *sender.Sender, path string) string {
	t.Helper()
	report, err := s.SendFiles(t.Context(), []sender.File{{Path: path}}, sender.Options{NoWait: true})
	var p *sender.Problem
	if err != nil && !errors.As(err, &p) {
		t.Fatal(err)
	}
	if p == nil {
		h.Take(report.ID)
		if err := os.RemoveAll(filepath.Join(h.IPC, ipc.FilesDir)); err != nil {
			t.Fatal(err)
		}
		return ""
	}
	if pending, staged := h.Pending(), h.Staged(); len(pending)+len(staged) > 0 {
		t.Errorf("%s was refused, and written nevertheless: requests %q, copies %q", path, pending, staged)
	}
	if strings.Contains(p.Text(), "id_rsa.pub") {
		t.Errorf("the refusal tells what else lies there: %s", p.Text())
	}
	return p.Code
}

// project has the fake host show its project with a shadow over .env and over
// the state directory, as the main group's.
func project(t *testing.T, h *fakehost.Host) *sender.Sender {
	t.Helper()
	context := fakehost.Context()
	context.Mounts = append(context.Mounts, ipc.ContextMount{Path: "/workspace/project", ReadOnly: true},
		ipc.ContextMount{Path: "/workspace/project/.env", ReadOnly: true, Shadow: true},
		ipc.ContextMount{Path: "/workspace/project/state", ReadOnly: true, Shadow: true})
	h.Tell(context)
	return newSender(t, h, func(c *sender.Config) {
		c.Main = true
		c.Mounts = append(c.Mounts, sender.Mount{Path: "/workspace/project", Local: filepath.Join(h.Root, "project"), ReadOnly: true})
	})
}

func TestShadowedFileIsNeverStaged(t *testing.T) {
	h := fakehost.New(t, nil)
	s := project(t, h)
	env := h.File("project/.env", "TOKEN=secret")
	h.File("project/state/store/keys.db", "secret")
	h.File("project/sub/notes.txt", "x")
	key := h.File("group/secret/key.pdf", "%PDF shadowed")
	for name, target := range map[string]string{"group/link.txt": env, "project/alias.txt": ".env", "group/dir": filepath.Join(h.Root, "project")} {
		if err := os.Symlink(target, filepath.Join(h.Root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(env, filepath.Join(h.Root, "project/second.txt")); err != nil { // one file under two names, as a file system has it that folds case
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(h.Root, "project"))
	for _, path := range []string{"/workspace/project/.env", "/workspace/project/sub/../.env", "file:///workspace/project/.env", env, ".env", "sub/../.env",
		"/workspace/group/link.txt", "/workspace/project/alias.txt", "/workspace/group/dir/.env", "/workspace/project/second.txt",
		"/workspace/project/state/store/keys.db", "/workspace/project/state/none", "/workspace/group/secret/key.pdf", key} {
		if code := refusedCode(t, h, s, path); code != "path_shadowed" {
			t.Errorf("%s: refused with %q, want path_shadowed", path, code)
		}
	}
	if code := refusedCode(t, h, s, "/workspace/project/sub/notes.txt"); code != "" {
		t.Errorf("a file beside the shadows: refused with %q", code)
	}
}

func TestOnlyTheGroupsOwnDirectoriesAreSentFrom(t *testing.T) {
	h := fakehost.New(t, nil)
	s := newSender(t, h, func(c *sender.Config) {
		c.Private = []string{filepath.Join(h.Root, "home"), filepath.Join(h.Root, "group/.longshore")}
	})
	key := h.File("ssh/id_rsa", "-----BEGIN PRIVATE KEY-----")
	h.File("ssh/id_rsa.pub", "ssh-rsa")
	h.File("group-evil/a.txt", "x")
	h.File("home/auth.json", "{}")
	h.File("group/.longshore/auth.json", "{}")
	h.File("group/a.txt", "x")
	for name, target := range map[string]string{"group/link": key, "group/dir": filepath.Dir(key), "tmp/link": key, "group/auth": "../home/auth.json"} {
		if err := os.Symlink(target, filepath.Join(h.Root, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Join(h.Root, "group"))
	for path, want := range map[string]string{
		key: "not_mounted", filepath.Join(h.Root, "ssh/id_rsax"): "not_mounted", "../ssh/id_rsa": "not_mounted", "/workspace/group/../ssh/id_rsa": "not_mounted",
		"file://" + key: "not_mounted", filepath.Join(h.Root, "group-evil/a.txt"): "not_mounted", "/etc/passwd": "not_mounted", "/proc/self/environ": "not_mounted",
		"link": "path_escapes", "dir/id_rsa": "path_escapes", filepath.Join(h.Root, "tmp/link"): "path_escapes",
		filepath.Join(h.Root, "home/auth.json"): "agent_home", "auth": "agent_home", "/workspace/group/.longshore/auth.json": "agent_home",
		"a.txt": "",
	} {
		if code := refusedCode(t, h, s, path); code != want {
			t.Errorf("%s: refused with %q, want %q", path, code, want)
		}
	}
}

// In a container the machine's /tmp is the assistant's own, and the CLI lives
// in the home directory.
func TestContainersTmpIsSentFromAndTheHomeIsNot(t *testing.T) {
	h := fakehost.New(t, nil)
	env := map[string]string{"LONGSHORE_IPC": h.IPC, "HOME": filepath.Join(h.Root, "home"), "LONGSHORE_CHAT_JID": "web:family"}
	config, err := sender.FromEnv(func(key string) string { return env[key] })
	if err != nil {
		t.Fatal(err)
	}
	s := sender.New(config)
	dir, err := os.MkdirTemp("/tmp", "longshore-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "a.txt")
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code := refusedCode(t, h, s, file); code != "" {
		t.Errorf("/tmp: refused with %q", code)
	}
	for _, name := range []string{".claude/.credentials.json", ".claude.json", ".codex/auth.json", ".gemini/settings.json", ".longshore/opencode/x.json"} {
		if code := refusedCode(t, h, s, h.File("home/"+name, "{}")); code != "agent_home" { // h.Root lies below /tmp
			t.Errorf("%s: refused with %q", name, code)
		}
	}
	for _, path := range []string{"/etc/passwd", "/workspace/group-evil/x"} {
		if code := refusedCode(t, h, s, path); code != "not_mounted" {
			t.Errorf("%s: refused with %q", path, code)
		}
	}
	t.Chdir("/etc") // as a shell may; the working directory counts
	if code := refusedCode(t, h, s, "hostname"); code != "" {
		t.Errorf("the working directory: refused with %q", code)
	}
}

func TestWorkingDirectoryThatHoldsTheHomeIsNotSentFrom(t *testing.T) {
	h := fakehost.New(t, nil)
	s := newSender(t, h, func(c *sender.Config) { c.Home = filepath.Join(h.Root, "users/ann") })
	h.File("users/ann/.ssh/id_rsa", "key")
	t.Chdir(filepath.Join(h.Root, "users"))
	if code := refusedCode(t, h, s, "ann/.ssh/id_rsa"); code != "not_mounted" {
		t.Errorf("refused with %q", code)
	}
}

// TestAFileIsFoundInTheOtherFormOfUnicode, and one outside is refused as before.
func TestAFileIsFoundInTheOtherFormOfUnicode(t *testing.T) {
	const composed, apart = "\u00e9t\u00e9", "e\u0301te\u0301"
	h := fakehost.New(t, nil)
	s := newSender(t, h, nil)
	asked := strings.ReplaceAll(h.File("group/"+apart+"/"+apart+".pdf", "%PDF"), apart, composed)
	report, err := s.SendFiles(t.Context(), []sender.File{{Path: asked}}, sender.Options{NoWait: true})
	if err != nil {
		t.Fatal(err)
	}
	if r := h.Next(); r.ID != report.ID || r.Files[0].Path != "/workspace/group/"+apart+"/"+apart+".pdf" {
		t.Errorf("%+v", r)
	}
	h.Take(report.ID)
	outside := h.File("elsewhere/"+apart+".pdf", "%PDF")
	if code := refusedCode(t, h, s, strings.ReplaceAll(outside, apart, composed)); code != "not_mounted" {
		t.Errorf("outside: %s", code)
	}
}
