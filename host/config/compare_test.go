package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/config"
)

// TestCompareNamesWhatChanged compares two files; no line may show a secret, and
// what a running host cannot take up has its key.
func TestCompareNamesWhatChanged(t *testing.T) {
	const base = `channels: {web: {token_file: secret}}
assistants: {one: {env: {KEY: sesame}}}
groups: [{folder: fam, chat: "web:fam", assistant: one}]
`
	for name, tt := range map[string]struct {
		from, to       string
		lines, restart []string
	}{
		"nothing":                 {to: base},
		"a secret of a variable":  {to: strings.Replace(base, "sesame", "open", 1), lines: []string{"assistant one changed: env"}},
		"limits":                  {to: base + "limits: {pending: 9, retry: {first: 2s}, rate: {burst: 3}}", lines: []string{"limits.pending: 9, was 64", "limits.rate.burst: 3, was 10", "limits.retry.first: 2s, was 1s"}},
		"sizes of files":          {to: base + "limits: {files: {image: 1MB}}", lines: []string{"limits.files changed"}},
		"a group's own":           {to: strings.Replace(base, "assistant: one}", "trigger: hey, limits: {image: 1MB}}", 1), lines: []string{"group fam changed: trigger, assistant, limits"}},
		"names":                   {to: base + "name: Bob", lines: []string{"assistants are called Bob"}},
		"a group's folder":        {to: strings.Replace(base, "folder: fam", "folder: kin", 1), lines: []string{"group kin added: web:fam", "group fam removed: its assistant is ended, and what it had accepted is still sent"}},
		"an assistant's name":     {to: strings.ReplaceAll(base, "one", "two"), lines: []string{"assistant one removed", "assistant two added", "group fam changed: assistant"}},
		"a token":                 {to: strings.Replace(base, "token_file: secret", "upload: 1MB", 1), lines: []string{"channel web changed: upload"}, restart: []string{"channels.web.token", "channels.web.token_file"}},
		"a further channel":       {to: strings.Replace(base, "channels: {", "channels: {whatsapp: , ", 1), restart: []string{"channels.whatsapp"}},
		"a channel less":          {from: strings.Replace(base, "channels: {", "channels: {whatsapp: , ", 1), to: base, restart: []string{"channels"}},
		"where the state lies":    {to: base + "state: elsewhere\nlog: {format: json}", restart: []string{"state", "log"}},
		"where metrics are to be": {to: base + "metrics: {listen: \"127.0.0.1:1\"}", restart: []string{"metrics"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := configDir(t)
			if tt.from == "" {
				tt.from = base
			}
			from, err := parse(t, dir, tt.from)
			if err != nil {
				t.Fatal(err)
			}
			to, err := parse(t, dir, tt.to)
			if err != nil {
				t.Fatal(err)
			}
			changes := config.Compare(from, to)
			if diff := cmp.Diff(tt.lines, changes.Lines); diff != "" {
				t.Error(diff)
			}
			var keys []string
			for _, p := range changes.Restart {
				keys = append(keys, p.Key)
				if p.Line == 0 || !strings.Contains(p.Error(), "^") || !strings.Contains(p.Hint, "restart the host") {
					t.Errorf("%q has no line or remedy", p.Error())
				}
			}
			if diff := cmp.Diff(tt.restart, keys); diff != "" {
				t.Error(diff)
			}
		})
	}
}
