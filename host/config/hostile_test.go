package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
)

// A pipe as longshore.yaml kept a reload waiting for ever, and the host from
// ending.
func TestAPipeIsNoConfiguration(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "longshore.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, "/dev/zero", t.TempDir()} {
		ended := make(chan error, 1)
		go func() {
			_, err := config.Load(path, platforms())
			ended <- err
		}()
		select {
		case err := <-ended:
			if err == nil || !strings.Contains(err.Error(), "no file") {
				t.Errorf("%s: %v", path, err)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s is still being read", path)
		}
	}
}

// A megabyte of brackets took the YAML library all the memory of the machine.
func TestAFileOfBracketsTakesNoMemory(t *testing.T) {
	for _, text := range []string{
		"name: " + strings.Repeat("[", 20_000), "name: " + strings.Repeat("{a: ", 20_000), strings.Repeat("- ", 20_000) + "x",
		"name: " + strings.Repeat("[\n", 20_000),
	} {
		_, err := config.Parse("longshore.yaml", []byte(text), os.Getenv, platforms())
		if err == nil || !strings.Contains(err.Error(), "too many lists") {
			t.Errorf("%.20q: %.200v", text, err)
		}
		if _, err := config.AddGroup([]byte(text), groups.Group{Folder: "a", Chat: "web:a"}); err == nil {
			t.Errorf("a group was added to %.20q", text)
		}
	}
	flow := "groups: [" + strings.Repeat(`{folder: "[", chat: "]"}, `, 201) + "]\n"
	if _, err := config.Parse("longshore.yaml", []byte(flow), os.Getenv, platforms()); err == nil || strings.Contains(err.Error(), "too many lists") {
		t.Errorf("many groups beside one another are none too many: %.200v", err)
	}
}

// A thousand bad groups on one line took ten seconds to tell: each showed the
// line anew.
func TestAThousandProblemsOfOneLineShowItAHundredTimes(t *testing.T) {
	text := "groups: [" + strings.Repeat(`{folder: "-", chat: "web:a"}, `, 1000) + "]\n"
	_, err := config.Parse("longshore.yaml", []byte(text), os.Getenv, platforms())
	if err == nil {
		t.Fatal("it is taken")
	}
	told := err.Error()
	if problems, lines := strings.Count(told, "longshore.yaml:1:"), strings.Count(told, "    1 | "); problems < 1000 || lines != 100 {
		t.Errorf("%d problems are told with %d lines", problems, lines)
	}
}

// A reload while an editor saved the file met it empty, and ended every group.
func TestAnEmptiedFileEndsNoGroup(t *testing.T) {
	parse := func(text string) *config.Config {
		cfg, err := config.Parse(filepath.Join(t.TempDir(), "longshore.yaml"), []byte(text), os.Getenv, platforms())
		if err != nil {
			t.Fatal(err)
		}
		return cfg
	}
	now := parse("groups: [{folder: family, chat: 'web:family'}]\n")
	for _, text := range []string{"", "\n\n", "# nothing here\n", "---\n"} {
		if c := config.Compare(now, parse(text)); len(c.Restart) != 1 || len(c.Lines) != 0 || c.Restart[0].Hint == "" {
			t.Errorf("%q is applied: %+v", text, c)
		}
	}
}
