package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/config"
)

// TestWhatIsSeldomMeantIsWarnedOf: each of these starts, and each would surprise
// its operator.
func TestWhatIsSeldomMeantIsWarnedOf(t *testing.T) {
	for assistant, want := range map[string]string{
		"{runtime: docker, agent: claude, memory: 1GiB, pids: 9}": "",
		"{agent: claude}":                                             "",
		"{agent: claude, image: mine}":                                `assistants.a.image: this is a container's`,
		"{agent: claude, network: none}":                              `assistants.a.network: this is a container's`,
		"{runtime: process, pids: 9, cpus: 1, memory: 1GiB}":          `this is a container's`, // once
		"{runtime: docker, network: host}":                            `assistants.a.network: the assistants share all`,
		`{agent: command, command: [x, "${KEY}"]}`:                    `assistants.a.command: a command goes as it stands`,
		`{agent: command, command: [sh, -c, "echo ${KEY}"]}`:          "",
		`{agent: command, command: [x, --api-key, hunter2]}`:          `assistants.a.command: this looks like a secret`,
		`{agent: command, command: [x, --github-token=hunter2]}`:      `assistants.a.command: this looks like a secret`,
		`{agent: command, command: [x, --token, --max-tokens=9, k]}`:  "",
		`{agent: command, command: [x, --keyboard, de, --tokens, 9]}`: "",
		"{env: {ANTHROPIC: sk-ant-hunter2-hunter2}}":                  `assistants.a.env.ANTHROPIC: this looks like a secret`,
		"{env: {MODEL: sk-8b}}":                                       "",
	} {
		cfg, err := config.Parse("longshore.yaml", []byte("channels: {web: {}}\nassistants:\n  a: "+assistant+"\ngroups: [{folder: f, chat: \"web:f\", assistant: a}]\n"), func(string) string { return "" }, platforms())
		if err != nil {
			t.Errorf("%s: %v", assistant, err)
			continue
		}
		warned(t, assistant, cfg, want)
	}
}

func TestUnconfinedMediaToolsAreWarnedOf(t *testing.T) {
	for value, want := range map[string]string{"confined": "", "off": "", "unconfined": "media_tools: ffmpeg, ffprobe"} {
		cfg, err := config.Parse("longshore.yaml", []byte("media_tools: "+value+"\n"), func(string) string { return "" }, platforms())
		if err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		if cfg.MediaTools != value {
			t.Errorf("media_tools: %s is read as %q", value, cfg.MediaTools)
		}
		warned(t, value, cfg, want)
	}
}

// TestMountsThatGroupsShareAreWarnedOf: what one group writes another one's
// assistant reads.
func TestMountsThatGroupsShareAreWarnedOf(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "share/sub"), 0o755), os.Mkdir(filepath.Join(dir, "conf"), 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ first, second, want string }{
		{"host: ../share", "host: ../share", ""},
		{"host: ../share, write: true", "host: ../share", `groups[1].mounts[0].host: the group "one" may write there too`},
		{"host: ../share", "host: ../share, write: true", `groups[0].mounts[0].host: the group "two" may write there too`},
		{"host: ../share", "host: ../share/sub, write: true", `groups[0].mounts[0].host: the group "two" may write there too`},
	} {
		text := fmt.Sprintf("channels: {web: {}}\nmounts: {allow: [{path: ../share, write: true}]}\ngroups:\n  - {folder: one, chat: web:one, mounts: [{name: m, %s}]}\n  - {folder: two, chat: web:two, mounts: [{name: m, %s}]}\n",
			test.first, test.second)
		file := filepath.Join(dir, "conf/longshore.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load(file, platforms())
		if err != nil {
			t.Fatal(err)
		}
		warned(t, text, cfg, test.want)
	}
}

// Each mount was compared with each other one, and warned of as often: with ten
// thousand groups that share a directory, a hundred million times.
func TestAMountThatManyShareIsWarnedOfOnce(t *testing.T) {
	const many = 2000
	dir := t.TempDir()
	text := strings.Builder{}
	text.WriteString("channels: {web: {}}\nmounts: {allow: [{path: ../share, write: true}]}\ngroups:\n")
	for i := range many {
		fmt.Fprintf(&text, "  - {folder: g%d, chat: web:g%d, mounts: [{name: m, host: ../share, write: true}]}\n", i, i)
	}
	file := filepath.Join(dir, "conf/longshore.yaml")
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "share"), 0o755), os.Mkdir(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text.String()), 0o600)); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(file, platforms())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(cfg.Warnings); n != many || !strings.Contains(cfg.Warnings[0].Message, `"g1"`) || !strings.Contains(cfg.Warnings[1].Message, `"g0"`) {
		t.Errorf("%d warnings, want one for each of %d mounts; the first: %v", n, many, cfg.Warnings[:min(n, 2)])
	}
}

func warned(t *testing.T, of string, cfg *config.Config, want string) {
	t.Helper()
	var got []string
	for _, w := range cfg.Warnings {
		got = append(got, w.Error())
	}
	all := strings.Join(got, "\n")
	if want == "" && all != "" || len(got) > 1 || !strings.Contains(all, want) || strings.Contains(all, "hunter2") {
		t.Errorf("%s: warned %q, want %q", of, all, want)
	}
}

func TestAChatInWhichNobodyWouldAnswerIsWarnedOf(t *testing.T) {
	for text, want := range map[string]string{
		"assistants: {a: {}}\ngroups:\n  - {name: A, folder: a, chat: \"web:a\", assistant: a}\n  - {name: B, folder: b, chat: \"web:b\"}\n": "nobody answers in the chat of b",
		"assistants: {a: {}}\ngroups:\n  - {name: A, folder: a, chat: \"web:a\", assistant: a, members: {speak: [U012AB3CD]}}\n":             "members of the chat page have no ids",
		"assistants: {a: {}}\ngroups:\n  - {name: A, folder: a, chat: \"web:a\", assistant: a, trigger: \" @Andy\"}\n":                       "spaces around it",
		"assistants: {a: {}}\ngroups:\n  - {name: A, folder: a, chat: \"web:a\", assistant: a, trigger: \"@Andy\"}\n":                        "",
		"groups:\n  - {name: A, folder: a, chat: \"web:a\"}\n":                                                                               "",
	} {
		cfg, err := config.Parse("longshore.yaml", []byte(text), func(string) string { return "" }, platforms())
		if err != nil {
			t.Fatal(err)
		}
		var all string
		for _, w := range cfg.Warnings {
			all += w.Message + "\n"
		}
		if (all != "") != (want != "") || !strings.Contains(all, want) {
			t.Errorf("%s\nwarns %q, want %q", text, all, want)
		}
	}
}
