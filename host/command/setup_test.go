package command

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/telegram"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
	"github.com/longshore-bridge/longshore/host/channel/web/history"
	"github.com/longshore-bridge/longshore/host/command/member"
	"github.com/longshore-bridge/longshore/host/command/terminal"
	"github.com/longshore-bridge/longshore/host/config"
)

// settingUp is a "longshore setup" that has come to its end and goes on as the host.
type settingUp struct {
	*exec.Cmd
	said string
	log  *bytes.Buffer
}

// setUp runs setup in a process of its own until it says that the host runs on.
func setUp(t *testing.T, dir string, args ...string) settingUp {
	t.Helper()
	s := settingUp{Cmd: exec.CommandContext(t.Context(), os.Args[0], append([]string{"-c", filepath.Join(dir, "longshore.yaml"), "setup", "--no-service"}, args...)...), log: &bytes.Buffer{}}
	s.Env = append(os.Environ(), stage.ServeEnv+"=1")
	s.Stderr = s.log
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		s.said += lines.Text() + "\n"
		if strings.Contains(lines.Text(), "until ctrl-c") {
			return s
		}
	}
	t.Fatalf("setup ended: %v\n%s\n%s", s.Wait(), s.said, s.log)
	return s
}

func (s settingUp) end(t *testing.T) {
	t.Helper()
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(); err != nil {
		t.Errorf("%v\n%s", err, s.log)
	}
}

func TestSetupEndsWithTheAssistantsFileOnThePage(t *testing.T) {
	listen := stage.FreeAddress(t)
	dir := t.TempDir()
	s := setUp(t, dir, "--group", "The Family", "--listen", listen)
	m := member.Member{Base: "http://" + listen, Chat: "the-family"}
	var page struct{ Messages []history.Message }
	if err := m.Call(t.Context(), http.MethodGet, m.Messages(), nil, &page); err != nil {
		t.Fatalf("%v\n%s\n%s", err, s.said, s.log)
	}
	files := 0
	for _, msg := range page.Messages {
		if msg.File == nil {
			continue
		}
		files++
		compareWithWorkspace(t, m, msg.File, filepath.Join(dir, "state"))
	}
	if files < 2 || !strings.Contains(s.said, "page: http://"+listen+"/") {
		t.Errorf("%d files; setup said\n%s", files, s.said)
	}
	s.end(t)
}

func compareWithWorkspace(t *testing.T, m member.Member, f *history.File, state string) {
	t.Helper()
	resp, err := m.Do(t.Context(), http.MethodGet, m.Base+f.URL, nil)
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

// TestSetupTriesTheKeyBeforeItWritesAnything, and names what is missing.
func TestSetupTriesTheKeyBeforeItWritesAnything(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Api-Key") != "taken" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	defer service.Close()
	dir := t.TempDir()
	key, wrong, words := filepath.Join(dir, "key"), filepath.Join(dir, "wrong"), filepath.Join(dir, "words")
	stage.Write(t, key, "taken\n")
	stage.Write(t, wrong, "gone")
	stage.Write(t, words, "two words")
	file := filepath.Join(dir, "longshore.yaml")
	setup := func(args ...string) (string, int) {
		var out bytes.Buffer
		code := Run(t.Context(), "", stage.AllPlatforms(), append([]string{"-c", file, "setup", "--group", "Family", "--no-service", "--base-url", service.URL}, args...), strings.NewReader(""), &out, &out)
		return out.String(), code
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--agent", "clyde"}, terminal.ExitUsage, "choose sample, claude"},
		{[]string{"--agent", "claude", "--key-file", key}, terminal.ExitFault, "the program claude is not in the PATH"},
	} {
		t.Setenv("PATH", dir)
		if out, code := setup(c.args...); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%q: %d\n%s", c.args, code, out)
		}
	}
	program(t, "claude")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--agent", "claude"}, terminal.ExitUsage, "--key-file FILE"},
		{[]string{"--agent", "claude", "--key-file", words}, terminal.ExitUsage, "not one word"},
		{[]string{"--agent", "claude", "--key-file", filepath.Join(dir, "none")}, terminal.ExitFault, "no such file"},
		{[]string{"--agent", "claude", "--key-file", wrong}, terminal.ExitFailed, "Anthropic refuses its key"},
	} {
		if out, code := setup(c.args...); code != c.code || !strings.Contains(out, c.want) || strings.Contains(out, "gone") {
			t.Errorf("%q: %d\n%s", c.args, code, out)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 3 {
		t.Errorf("something was written: %v, %v", left, err)
	}
}

// TestSetupWithAKeyWritesWhatServeStartsWith: the configuration names the file with the
// key, and does not hold the key.
func TestSetupWithAKeyWritesWhatServeStartsWith(t *testing.T) {
	dir := t.TempDir()
	stage.Write(t, filepath.Join(dir, "key"), "taken")
	s := &setup{
		env:   &env{Terminal: terminal.Terminal{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Config: filepath.Join(dir, "longshore.yaml"), Named: true}, getenv: os.Getenv, platforms: stage.AllPlatforms()},
		group: "Family", listen: "127.0.0.1:1", setupAgent: setupAgent{agent: "codex", key: "typed-key", typed: true, model: "one", baseURL: "http://127.0.0.1:2/v1"},
	}
	folder, err := s.write()
	if err != nil || folder != "family" {
		t.Fatalf("%q, %v", folder, err)
	}
	cfg, err := s.load()
	if err != nil {
		t.Fatal(err)
	}
	a := cfg.Assistants["codex"]
	if a.Agent != "codex" || a.Env["OPENAI_API_KEY"].Reveal() != "typed-key" || a.Env["LONGSHORE_MODEL"].Reveal() != "one" || a.Env["OPENAI_BASE_URL"].Reveal() != "http://127.0.0.1:2/v1" || cfg.Groups[0].Assistant != "codex" {
		t.Errorf("%+v", a)
	}
	if text, err := os.ReadFile(s.Config); err != nil || strings.Contains(string(text), "typed-key") {
		t.Errorf("the key stands in the configuration, or %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, "secrets", "openai_api_key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key's file: %v, %v", info, err)
	}
	if err := os.Remove(s.Config); err != nil {
		t.Fatal(err)
	}
	s.key = "another"
	if _, err := s.write(); err == nil {
		t.Error("a key that was there was overwritten")
	}
}

// withTelegramAt are all platforms, with Telegram on loopback.
func withTelegramAt(server string) []channel.Platform {
	platforms := stage.AllPlatforms()
	i := slices.IndexFunc(platforms, func(p channel.Platform) bool { return p.Key() == "telegram" })
	platforms[i] = telegramAt{platforms[i].(channel.Linker), server}
	return platforms
}

type telegramAt struct {
	channel.Linker
	server string
}

func (p telegramAt) Settings() channel.Settings {
	s := p.Linker.Settings().(*telegram.Settings)
	s.Server = p.server
	return s
}

// TestSetupLinksABotAndItsChatGetsAFile: from nothing to a file in a chat of Telegram.
func TestSetupLinksABotAndItsChatGetsAFile(t *testing.T) {
	server := telegramtest.New(t, stage.DockChat)
	dir := t.TempDir()
	token, wrong := filepath.Join(dir, "token"), filepath.Join(dir, "wrong")
	stage.Write(t, token, telegramtest.Token+"\n")
	stage.Write(t, wrong, "123:AAAAAAAAAAAAAAAAAAAAAAAA")
	platforms := withTelegramAt(server.URL)
	file := filepath.Join(dir, "longshore.yaml")
	listen := stage.FreeAddress(t)
	setup := func(ctx context.Context, out io.Writer, args ...string) int {
		return Run(ctx, "", platforms, append([]string{"-c", file, "setup", "--group", "Family", "--no-service", "--listen", listen, "--channel", "telegram"}, args...), strings.NewReader(""), out, out)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "no --secret token=FILE given"},
		{[]string{"--secret", "tokn=" + token}, "names no secret of telegram"},
		{[]string{"--secret", "token=" + token, "--chat", "web:family"}, "is no chat of telegram"},
		{[]string{"--secret", "token=" + wrong}, "removed "},
	} {
		var out bytes.Buffer
		if code := setup(t.Context(), &out, c.args...); code == terminal.ExitOK || !strings.Contains(out.String(), c.want) {
			t.Errorf("%q: %d\n%s", c.args, code, &out)
		}
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%q left a configuration: %v", c.args, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	out, said := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- setup(ctx, said, "--secret", "token="+token, "--chat", fmt.Sprint("tg:", stage.DockChat))
		said.Close()
	}()
	var all strings.Builder
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		all.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "until ctrl-c") {
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	cancel()
	if code := <-ended; code != terminal.ExitOK || !strings.Contains(all.String(), "of telegram has a file, too") {
		t.Fatalf("%d\n%s", code, &all)
	}
	files := 0
	for _, m := range server.WaitFor(t, stage.DockChat, 0) {
		files += len(m.Files)
	}
	if cfg, err := config.Load(file, platforms); err != nil || files != 1 || len(cfg.Groups) != 2 {
		t.Errorf("%d files are in the chat; %v\n%s", files, err, &all)
	}
}
