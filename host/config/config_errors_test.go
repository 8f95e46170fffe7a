package config_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/config"
)

// problems unpacks what Parse joined.
func problems(t testing.TB, err error) []*config.Problem {
	t.Helper()
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	var found []*config.Problem
	for _, e := range list {
		var p *config.Problem
		if !errors.As(e, &p) {
			t.Fatalf("%v is no Problem", e)
		}
		found = append(found, p)
	}
	return found
}

// configErrors is a file for each thing that can be wrong, and for each
// problem its line, key and a part of its message.
var configErrors = []struct {
	name string
	yaml string
	want []string
}{
	{"an unknown key", "nmae: Andy\n", []string{`1||unknown key "nmae"`}},
	{"unknown keys further in", "log:\n  levle: info\nchannels:\n  web:\n    lisen: x\n", []string{`2||unknown key "levle"`, `5||unknown key "lisen"`}},
	{"a key twice", "name: A\nname: B\n", []string{`2||key "name" is given twice, first on line 1`}},
	{"a tab", "groups:\n\t- name: A\n", []string{`2||a tab cannot indent`}},
	{"no YAML", "groups: [\n", []string{`1||expected the ] of this [`}},
	{"two documents", "name: A\n---\nname: B\n", []string{`3||second document`}},
	{"an anchor", "name: &a Andy\n", []string{`1|name|anchors`}},
	{"an alias", "log: {level: info}\nname: *a\n", []string{`2|name|anchors`}},
	{"a list for a block", "log: [a]\n", []string{`1|log|a block of keys is expected`}},
	{"a text for a list", "groups: family\n", []string{`1|groups|a list is expected`}},
	{"a text for a command", "assistants:\n  a: {agent: command, command: ./a.sh}\n", []string{`2|assistants.a.command|a list is expected here, not a text`}},
	{"no chat", "groups:\n- folder: a\n", []string{`2|groups[0].chat|no chat`}},
	{"a block for a text", "name: {a: b}\n", []string{`1|name|a text is expected`}},
	{"a text for a flag", "groups:\n- folder: a\n  chat: web:a\n  main: maybe\n", []string{`4|groups[0].main|true or false is expected`}},
	{"a text for a number", "limits:\n  pending: many\n", []string{`2|limits.pending|a number is expected`}},
	{"a bad size", "limits:\n  outbox: 3 apples\n", []string{`2|limits.outbox|no size`}},
	{"a bad duration", "limits:\n  wait: -3s\n  keep_errors: 3 days\n", []string{`2|limits.wait|no duration`, `3|limits.keep_errors|no duration`}},
	{"threads that are neither", "groups:\n- folder: a\n  chat: web:a\n  threads: one\n", []string{`4|groups[0].threads|"one" is unknown`}},
	{"threads at once without containers", "groups:\n- folder: a\n  chat: web:a\n  assistant: s\n  parallel: 2\nassistants: {s: {agent: sample}}\n", []string{`5|groups[0].parallel|without a container`}},
	{"too many at once", "groups:\n- folder: a\n  chat: web:a\n  parallel: 17\n", []string{`4|groups[0].parallel|at most 16`}},
	{"an unknown level", "log:\n  level: loud\n  format: xml\n", []string{`2|log.level|unknown`, `3|log.format|unknown`}},
	{"bad numbers for WhatsApp", "channels:\n  whatsapp:\n    files: {films: 1MB}\n    rate: {per_minute: -1}\n    account: {burst: 0}\n", []string{`3|channels.whatsapp.files.films|no kind`, `4|channels.whatsapp.rate.per_minute|above 0`, `5|channels.whatsapp.account.burst|above 0`}},
	{"a metrics host that is an address", "metrics:\n  hosts: [\"https://metrics.example.org\"]\n", []string{`2|metrics.hosts[0]|not a host name`}},
	{"metrics for everybody", "metrics:\n  listen: 0.0.0.0:9420\n", []string{`2|metrics.listen|no loopback`}},
	{"the operator's page for everybody", "operator_page:\n  listen: 0.0.0.0:8400\n", []string{`2|operator_page.listen|no loopback`}},
	{"no channel", "channels: {}\n", []string{`1|channels|no channel`}},
	{"no address", "channels:\n  web:\n    listen: here\n    url: there\n", []string{`3|channels.web.listen|no address`, `4|channels.web.url|no web address`}},
	{"a public address without a token", "channels:\n  web:\n    listen: 0.0.0.0:8420\n", []string{`3|channels.web.listen|no token`}},
	{"every address without a token", "channels:\n  web: {listen: ':8420'}\n", []string{`2|channels.web.listen|no token`}},
	{"a history for less than a file", "channels:\n  web:\n    upload: 2MiB\n    history: 1MiB\n", []string{`4|channels.web.history|upload is 2.0 MiB`}},
	{"a token that the page does not take", "channels:\n  web:\n    token: ${SHORT}\n", []string{`3|channels.web.token|5 characters`}},
	{"a token file that the page does not take", "channels:\n  web:\n    token_file: short\n", []string{`3|channels.web.token_file|5 characters`}},
	{"a public address and no token", "channels:\n  web:\n    url: https://chat.example.org\n", []string{`3|channels.web.url|no token`}},
	{"a secret in the file", "channels:\n  web:\n    token: hunter2\n", []string{`3|channels.web.token|does not belong`}},
	{"part of a value from the environment", "channels:\n  web:\n    token: x${TOKEN}\n", []string{`3|channels.web.token|does not belong`}},
	{"a secret file that is missing", "channels:\n  web:\n    token_file: none\n", []string{`3|channels.web.token_file|cannot be read`}},
	{"a secret file that is empty", "channels:\n  web:\n    token_file: empty\n", []string{`3|channels.web.token_file|no secret`}},
	{"a secret twice", "channels:\n  web:\n    token: ${TOKEN}\n    token_file: secret\n", []string{`3|channels.web.token|both`}},
	{"a secret that main sees", "channels:\n  web:\n    token_file: secret\ngroups:\n- {folder: a, chat: 'web:a', main: true}\n", []string{`3|channels.web.token_file|would see`}},
	{"a secret in a workspace", "channels:\n  web:\n    token_file: state/groups/token\n", []string{`3|channels.web.token_file|would see`}},
	{"a bad assistant", "assistants:\n  a b: {}\n  c:\n    runtime: cloud\n    agent: smith\n", []string{`2|assistants.a b|no name`, `4|assistants.c.runtime|unknown`, `5|assistants.c.agent|unknown`}},
	{"an agent without its command", "assistants:\n  a:\n    agent: command\n", []string{`2|assistants.a.command|needs a command`}},
	{"a command without its agent", "assistants:\n  a:\n    command: [x]\n", []string{`3|assistants.a.command|only agent: command`}},
	{"a variable twice", "assistants:\n  a:\n    env: {A: x}\n    env_from_file:\n      A: secret\n", []string{`5|assistants.a.env_from_file.A|env too`}},
	{"a bad variable", "assistants:\n  a:\n    env:\n      A B: x\n      C: x${TOKEN}\n", []string{`4|assistants.a.env.A B|no name`, `5|assistants.a.env.C|longer value`}},
	{"bounds", "assistants:\n  a:\n    memory: 1KB\n    cpus: 0\n    pids: 0\n    idle_timeout: 0s\n", []string{`3|assistants.a.memory|16MiB`, `4|assistants.a.cpus|above 0`, `5|assistants.a.pids|above 0`, `6|assistants.a.idle_timeout|above 0`}},
	{"limits", "limits:\n  pending: 0\n  rate: {per_minute: -1}\n  files: {films: 1MB}\n  retry: {first: 2m, max: 1m}\n", []string{`2|limits.pending|above 0`, `3|limits.rate.per_minute|above 0`, `4|limits.files.films|no kind`, `5|limits.retry.max|shorter`}},
	{"one chat, two groups", "groups:\n- {name: A, folder: a, chat: 'web:x'}\n- {name: B, folder: b, chat: 'web:x'}\n", []string{`3|groups[1].chat|web:x is taken by group "A" on line 2`}},
	{"one folder, two groups", "groups:\n- folder: a\n  chat: web:x\n- folder: A\n  chat: web:y\n", []string{`4|groups[1].folder|A is taken by group "a" on line 2`}},
	{"two mains", "groups:\n- folder: a\n  chat: web:x\n  main: true\n- folder: b\n  chat: web:y\n  main: true\n", []string{`7|groups[1].main|taken by group "a" on line 4`}},
	{"the folder ..", "groups:\n- chat: web:a\n  folder: ..\n", []string{`3|groups[0].folder|no name of a group`}},
	{"a folder with a slash", "groups:\n- chat: web:a\n  folder: a/b\n", []string{`3|groups[0].folder|no name of a group`}},
	{"a reserved folder", "groups:\n- {chat: 'web:a', folder: global}\n- {chat: 'web:b', folder: Errors}\n", []string{`2|groups[0].folder|reserved`, `3|groups[1].folder|reserved`}},
	{"no folder, no chat", "groups:\n- name: A\n", []string{`2|groups[0].folder|no folder`, `2|groups[0].chat|no chat`}},
	{"a chat of no channel", "groups:\n- folder: a\n  chat: irc:#a\n", []string{`3|groups[0].chat|no chat that any channel knows`}},
	{"an unknown assistant", "groups:\n- folder: a\n  chat: web:a\n  assistant: eve\n", []string{`4|groups[0].assistant|no assistant "eve"`}},
	{"an unprintable name", "name: \"A\\e[31m\"\n", []string{`1|name|cannot be printed`}},
	{"an unknown kind", "groups:\n- folder: a\n  chat: web:a\n  limits: {picture: 1MB}\n", []string{`4|groups[0].limits.picture|no kind`}},
	{"a mount outside the allowlist", mountOf("../outside", "../share"), []string{`5|groups[0].mounts[0].host|not in the allowlist`}},
	{"a mount without an allowlist", mountOf("../outside", ""), []string{`5|groups[0].mounts[0].host|not in the allowlist`}},
	{"a mount beside what is allowed", mountOf("../share-evil", "../share"), []string{`5|groups[0].mounts[0].host|not in the allowlist`}},
	{"a link out of the allowlist", mountOf("../share/link", "../share"), []string{`5|groups[0].mounts[0].host|not in the allowlist`}},
	{"a link to nothing", mountOf("../share/dangling", "../share"), []string{`5|groups[0].mounts[0].host|link to nothing`}},
	{"a blocked name", mountOf("../share/.ssh/keys", "../share"), []string{`5|groups[0].mounts[0].host|".ssh" is blocked`}},
	{"a blocked name behind a link", mountOf("../share/keys", "../share"), []string{`5|groups[0].mounts[0].host|".ssh" is blocked`}},
	{"a blocked name in capitals", mountOf("../share/.AWS", "../share"), []string{`5|groups[0].mounts[0].host|".AWS" is blocked`}},
	{"a mount that does not exist", mountOf("../share/none", "../share"), []string{`5|groups[0].mounts[0].host|no directory`}},
	{"a mount that is a file", mountOf("../share/file", "../share"), []string{`5|groups[0].mounts[0].host|no directory`}},
	{"a mount over the state directory", mountOf("..", ".."), []string{`5|groups[0].mounts[0].host|overlap`}},
	{"a mount in the state directory", mountOf("state/groups", ".."), []string{`5|groups[0].mounts[0].host|overlap`}},
	{"a mount that is the state directory", mountOf("state", ".."), []string{`5|groups[0].mounts[0].host|overlap`}},
	{"a mount that holds the configuration", "state: ../elsewhere\n" + mountOf(".", "."), []string{`6|groups[0].mounts[0].host|holds longshore.yaml`}},
	{"an unknown key at the end", mountOf("../share", "../share") + "groups2: x\n", []string{`8||unknown key "groups2"`}},
	{"writing what may only be read", "mounts: {allow: [{path: ../share}]}\ngroups:\n- folder: a\n  chat: web:a\n  mounts:\n  - name: x\n    host: ../share\n    write: true\n", []string{`8|groups[0].mounts[0].write|read-only`}},
	{"a mount's name", "mounts: {allow: [{path: ../share}]}\ngroups:\n- folder: a\n  chat: web:a\n  mounts:\n  - {name: .., host: ../share}\n  - {name: x, host: ../share}\n  - {name: x, host: ../share}\n", []string{`6|groups[0].mounts[0].name|no name for a mount`, `8|groups[0].mounts[2].name|two mounts`}},
	{"the operator's own block", "mounts: {allow: [{path: ../share}], block: ['key?', 'a/b']}\ngroups:\n- folder: a\n  chat: web:a\n  mounts:\n  - name: x\n    host: ../share/keys\n", []string{`1|mounts.block[1]|no pattern`, `7|groups[0].mounts[0].host|"keys" is blocked`}},
	{"the project in the state directory", "state: .\n", []string{`1|project|state directory`}},
	{"a home directory for main", "project: ../home\ngroups:\n- {folder: a, chat: 'web:a', main: true}\n", []string{`1|project|home directory`}},
	{"backups that main sees", "backup: {directory: backups}\ngroups:\n- {folder: a, chat: 'web:a', main: true}\n", []string{`1|backup.directory|container would see the backups`}},
	{"backups in a mount", "backup: {directory: ../share/backups}\n" + mountOf("../share", "../share"), []string{`1|backup.directory|container would see the backups`}},
	{"backups in a workspace", "backup: {directory: state/groups/a}\ngroups:\n- {folder: a, chat: 'web:a'}\n", []string{`1|backup.directory|container would see the backups`}},
	{"channels that are a list", "channels: [web]\n", []string{`1|channels|a block of keys is expected`}},
	{"a broken pattern", "mounts: {block: ['[']}\n", []string{`1|mounts.block[0]|no pattern`}},
	{"an empty path", "state: ''\n", []string{`1|state|path is empty`}},
	{"too many processors", "assistants:\n  a: {cpus: 5000}\n", []string{`2|assistants.a.cpus|at most 4096`}},
	{"the network of another container", "assistants:\n  a: {network: 'container:b'}\n", []string{`2|assistants.a.network|no name of a network`}},
	{"an image that is none", "assistants:\n  a: {runtime: docker, image: 'A B'}\n", []string{`2|assistants.a.image|no name of an image`}},
	{"a mount of nothing", "groups:\n- folder: a\n  chat: web:a\n  mounts:\n  - {write: true}\n", []string{`5|groups[0].mounts[0].name|no name is given`, `5|groups[0].mounts[0].host|no host is given`}},
	{"an allowlist of nothing", "mounts:\n  allow: [{write: true}]\n", []string{`2|mounts.allow[0].path|no path is given`}},
	{"a web address without a host", "channels:\n  web: {token: '${TOKEN}', url: 'https://?'}\n", []string{`2|channels.web.url|no web address`}},
	{"a long name", "name: " + strings.Repeat("a", 101) + "\n", []string{`1|name|longer than 100`}},
	{"a rate of nothing", "groups:\n- {folder: a, chat: 'web:a', rate: {burst: 0}}\n", []string{`2|groups[0].rate.burst|above 0`}},
	{"a name in quotes", "assistants:\n  \"a b\": {}\n", []string{`2|assistants.a b|no name of an assistant`}},
	{"several at once", "nmae: x\nlog: {level: loud}\ngroups:\n- folder: ..\n  chat: x\n", []string{`1||unknown key`, `2|log.level|unknown`, `4|groups[0].folder|no name`, `5|groups[0].chat|no chat`}},
}

func mountOf(host, allow string) string {
	text := "groups:\n- folder: a\n  chat: web:a\n  mounts:\n  - host: " + host + "\n    name: x\n"
	if allow != "" {
		text += "mounts: {allow: [{path: " + allow + "}]}\n"
	}
	return text
}

func TestConfigErrorsHaveTheirLine(t *testing.T) {
	dir := configDir(t)
	for _, tt := range configErrors {
		t.Run(tt.name, func(t *testing.T) {
			err := wrong(parse(t, dir, tt.yaml))
			if err == nil {
				t.Fatal("no error")
			}
			found := problems(t, err)
			if len(found) != len(tt.want) {
				t.Fatalf("%d problems, want %d:\n%v", len(found), len(tt.want), err)
			}
			for i, p := range found {
				want := strings.SplitN(tt.want[i], "|", 3)
				if fmt.Sprint(p.Line) != want[0] || p.Key != want[1] || !strings.Contains(p.Message, want[2]) {
					t.Errorf("problem %d is %d|%s|%s; want %s", i, p.Line, p.Key, p.Message, tt.want[i])
				}
			}
		})
	}
}

func TestConfigErrorShowsLineAndCaret(t *testing.T) {
	_, err := config.Parse("longshore.yaml", []byte("log:\n  level: info\n  fromat: json\n"), os.Getenv, platforms())
	want := `longshore.yaml:3:3: unknown key "fromat"
    3 |   fromat: json
      |   ^
  hint: did you mean "format"? known here: format, level`
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

// On a line with several keys, another one may be a secret.
func TestConfigErrorShowsNoOtherSecretOfALine(t *testing.T) {
	_, err := config.Parse("longshore.yaml", []byte("channels:\n  web: { token: hunter2, lisen: x, listen: nowhere, token_file: /etc/token } # hunter2\n"), os.Getenv, platforms())
	want := `longshore.yaml:2:17: channels.web.token: a secret and a file for it are both given
    2 |   web: { token: …, lisen: x, listen: nowhere, token_file: /etc/token } …
      |                 ^
  hint: leave one of the two out
longshore.yaml:2:26: unknown key "lisen"
    2 |   web: { token: …, lisen: x, listen: nowhere, token_file: /etc/token } …
      |                    ^
  hint: did you mean "listen"? known here: history, keep, link_expiry, link_quota, link_size, listen, messages, proxies, public_url, push_contact, push_services, push_text, token, token_file, upload, url
longshore.yaml:2:44: channels.web.listen: "nowhere" is no address to listen at
    2 |   web: { token: …, lisen: x, listen: nowhere, token_file: /etc/token } …
      |                                      ^
  hint: write host:port, such as 127.0.0.1:8420`
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Error(diff)
	}
}

// What is wrong with a secret, or near one, is told without it.
func TestConfigErrorsHoldNoSecret(t *testing.T) {
	for _, yaml := range []string{
		"channels:\n  web:\n    token: hunter2\n",
		"channels:\n  web: {token: hunter2, lisen: x}\n",
		"channels:\n  web: {lisen: x, token: hunter2}\n",
		"channels:\n  web:\n    tokn: hunter2\n",
		"channels:\n  web:\n    token: hunter2: x\n",
		"channels:\n  web:\n    token: \"hunter2\n",
		"channels:\n  web:\n    token: [hunter2]\n",
		"channels:\n  web:\n    token: {hunter2: a}\n",
		"assistants:\n  a:\n    env: {KEY: hunter2, \"B C\": hunter2}\n    agnt: x\n",
		"token: hunter2\n\tname: x\n",
		"channels:\n  web:\n    token: |\n      hunter2\n    lisen: x\n",
		"channels:\n  web: {token: \"a\n    hunter2\", lisen: x}\n",
		"channels:\n  web: {url: 'https://me:hunter2@h'}\n",
		"channels:\n  web: {token: hunter2, listen: x}\n  web: {}\n",
		"assistants:\n  a: {env: {name: hunter2}, agnt: x}\n",
		"assistants:\n  a: {env: [hunter2]}\n",
		"assistants:\n  a: {agent: sample, command: [x, --token, hunter2]}\n",
		"assistants:\n  a: hunter2\n",
		"log: {level: loud} # hunter2\n",
		"chanels: {web: {token: hunter2}}\n",
		"name: x, token: hunter2: y\n",
	} {
		_, err := config.Parse("longshore.yaml", []byte(yaml), func(string) string { return "" }, platforms())
		if err == nil {
			t.Errorf("no error for %q", yaml)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the error tells the secret: %v", yaml, err)
		}
	}
}

func TestASecretInPlainTextIsWarnedOf(t *testing.T) {
	for name, warned := range map[string]bool{
		"ANTHROPIC_API_KEY": true, "apikey": true, "GITHUB_TOKEN": true, "SECRET": true, "DB_PASSWORD": true, "AWS_SECRET_ACCESS_KEY": true, "TOKEN_FOR_X": true,
		"LONGSHORE_MODEL": false, "CLAUDE_CODE_MAX_OUTPUT_TOKENS": false, "MONKEY": false, "KEYBOARD": false,
	} {
		for value, literal := range map[string]bool{"hunter2": true, "${FROM_OUTSIDE}": false, `""`: false} {
			text := "channels: {web: {}}\nassistants:\n  a:\n    env:\n      " + name + ": " + value + "\ngroups: [{folder: f, chat: \"web:f\", assistant: a}]\n"
			cfg, err := config.Parse("longshore.yaml", []byte(text), func(string) string { return "x" }, platforms())
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if got := len(cfg.Warnings) == 1; got != (warned && literal) {
				t.Errorf("%s: %s: warned %v", name, value, got)
			}
			for _, w := range cfg.Warnings {
				if w.Line != 5 || strings.Contains(w.Error(), value) {
					t.Errorf("%s: the warning is %v", name, w)
				}
			}
		}
	}
}

// Every problem says where it is, shows the line with a caret below the place,
// and what to do about it.
func TestEveryConfigErrorHasPlaceCaretAndRemedy(t *testing.T) {
	dir := configDir(t)
	for _, tt := range configErrors {
		err := wrong(parse(t, dir, tt.yaml))
		for _, p := range problems(t, err) {
			hasPlaceCaretAndRemedy(t, tt.yaml, p)
		}
	}
}

func hasPlaceCaretAndRemedy(t *testing.T, yaml string, p *config.Problem) {
	t.Helper()
	lines := strings.Split(p.Error(), "\n")
	if p.Column < 1 || p.Hint == "" || !strings.HasPrefix(lines[0], fmt.Sprintf("%s:%d:%d: ", p.File, p.Line, p.Column)) || len(lines) != 4 {
		t.Errorf("column %d, hint %q:\n%v", p.Column, p.Hint, p)
		return
	}
	caret := utf8.RuneCountInString(strings.TrimSuffix(lines[2], "^"))
	shown, real := []rune(lines[1]), []rune(strings.Split(yaml, "\n")[p.Line-1])
	if caret < len(shown) && shown[caret] != '…' && real[p.Column-1] != '\t' && shown[caret] != real[p.Column-1] {
		t.Errorf("the caret is below %c, not %c:\n%v", shown[caret], real[p.Column-1], p)
	}
}

// What a terminal shows below one another stands so in the file.
func TestCaretStandsBelowWhatIsWrong(t *testing.T) {
	for _, tt := range []struct{ name, yaml, line, caret string }{
		{"a tab", "log:\n  level:\tloud\n", "  level:    loud", "            ^"},
		{"wide characters", "groups: [{name: 名前, folder: .., chat: 'web:a'}]\n", "groups: [{name: 名前, folder: .., chat: 'web:a'}]", "                              ^"},
		{"an accent of its own", "groups: [{name: 'e\u0301', folder: .., chat: 'web:a'}]\n", "groups: [{name: 'e\u0301', folder: .., chat: 'web:a'}]", "                             ^"},
		{"CRLF", "log:\r\n  level: info\r\n  format: xml\r\n", "  format: xml", "          ^"},
		{"a quoted value", "log: {level: \"loud\"}\n", `log: {level: "loud"}`, "             ^"},
		{"a value further down", "limits:\n  pending:\n    many\n", "  pending:", "  ^"},
		{"what is absent", "groups:\n- chat: web:a\n", "- chat: web:a", "  ^"},
		{"an element", "metrics:\n  hosts: [a, 'b c', d]\n", "  hosts: [a, 'b c', d]", "             ^"},
		{"a key of the operator's", "assistants:\n  a b: {agent: sample}\n", "  a b: {agent: sample}", "  ^"},
		{"a comment", "state: x\nlog: {level: loud} # token: hunter2\n", "log: {level: loud} …", "             ^"},
		{"no YAML", "log:\n  level: in: fo\n", "  level: …", "         ^"},
		{"no YAML, in a known key", "name: \"Andy\n", `name: "Andy`, "      ^"},
		{"a control character", "name: [\u202e]\n", `name: [\u202e]`, "      ^"},
		{"a long line", "groups: [{name: " + strings.Repeat("a", 95) + ", folder: .., chat: 'web:a'}]\n", "…" + strings.Repeat("a", 23) + ", folder: .., chat: 'web:a'}]", strings.Repeat(" ", 34) + "^"},
	} {
		_, err := config.Parse("longshore.yaml", []byte(tt.yaml), os.Getenv, platforms())
		if err == nil {
			t.Errorf("%s: no error", tt.name)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		if got := strings.SplitAfterN(lines[1], "| ", 2)[1]; got != tt.line {
			t.Errorf("%s: the line is\n%s, want\n%s", tt.name, got, tt.line)
		}
		if got := strings.SplitAfterN(lines[2], "| ", 2)[1]; got != tt.caret {
			t.Errorf("%s: the caret is\n%s, want\n%s", tt.name, got, tt.caret)
		}
	}
}

// Whoever misspells a name gets the one they meant.
func TestConfigErrorsSayWhatWasMeant(t *testing.T) {
	for yaml, meant := range map[string]string{
		"nmae: x\n":                          "name",
		"log: {level: wran}\n":               "warn",
		"channels: {wbe: {}}\n":              "web",
		"channels: {w: {type: whatsap}}\n":   "whatsapp",
		"channels: {web: {lisen: x}}\n":      "listen",
		"limits: {files: {vidoe: 1MB}}\n":    "video",
		"limits: {patience: 20s}\n":          "notice_after",
		"assistants: {a: {agent: cluade}}\n": "claude",
		"assistants: {bee: {}}\ngroups: [{folder: a, chat: 'web:a', assistant: been}]\n":       "bee",
		"channels: {team: {type: web}}\ngroups: [{folder: a, chat: 'web:a', channel: taem}]\n": "team",
	} {
		_, err := config.Parse("longshore.yaml", []byte(yaml), os.Getenv, platforms())
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("hint: did you mean %q? ", meant)) {
			t.Errorf("%s: %v", yaml, err)
		}
	}
}
