package config_test

import (
	"reflect"
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
		"a token":                 {to: strings.Replace(base, "token_file: secret", "upload: 1MB", 1), lines: []string{"channel web changed: token, token_file, upload"}},
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

// TestAReloadTookUpAnAuditTrailThatIsOpenedAtTheStart: it said that the file was applied, and the
// trail went on, or there was none, as before.
func TestAReloadTookUpAnAuditTrailThatIsOpenedAtTheStart(t *testing.T) {
	for from, to := range map[string]string{"audit: {off: false}": "audit: {off: true}", "audit: {off: true}": "audit: {off: false, keep: 9h}"} {
		dir := configDir(t)
		now, err := parse(t, dir, from)
		if err != nil {
			t.Fatal(err)
		}
		next, err := parse(t, dir, to)
		if err != nil {
			t.Fatal(err)
		}
		if c := config.Compare(now, next); len(c.Restart) != 1 || c.Restart[0].Key != "audit.off" || !strings.Contains(c.Restart[0].Hint, "restart the host") {
			t.Errorf("from %s to %s: %+v", from, to, c)
		}
	}
}

// TestAReloadSaidThatNothingHadChanged when audit or prices had: each key at the top that a
// running host takes up has a line of its own.
func TestAReloadSaidThatNothingHadChanged(t *testing.T) {
	const base = "channels: {web: , whatsapp: }\nassistants: {one: {}}\ngroups: [{folder: fam, chat: 'web:fam', assistant: one}, {folder: board, chat: '120363000000000000@g.us'}]\n"
	changed := map[string]string{
		"name":          base + "name: Bob\n",
		"direct":        base + "direct: pairing\n",
		"transcription": base + "transcription: [{command: [cat, '{file}']}]\n",
		"timezone":      base + "timezone: Europe/Berlin\n",
		"channels":      strings.Replace(base, "web: ,", "web: {keep: 9h},", 1),
		"assistants":    strings.Replace(base, "one: {}", "one: {turn_timeout: 9m}", 1),
		"groups":        strings.Replace(base, "assistant: one", "assistant: one, trigger: hey", 1),
		"destinations":  base + "destinations: {club: {chat: '120363000000000001@g.us'}}\n",
		"prices":        base + "prices: {'*': {input: 3}}\n",
		"register":      base + "register: {chats: ['web:*']}\n",
		"mounts":        base + "mounts: {block: ['*.pem']}\n",
		"screen":        base + "screen: {off: [key-store]}\n",
		"approval":      base + "approval: {group: board, members: [49151@s.whatsapp.net]}\n",
		"audit":         base + "audit: {keep: 9h}\n",
		"backup":        base + "backup: {keep: 9}\n",
		"notify":        base + "notify: {after: 9m, group: fam}\n",
		"limits":        base + "limits: {pending: 9}\n",
	}
	dir := configDir(t)
	now, err := parse(t, dir, base)
	if err != nil {
		t.Fatal(err)
	}
	for i := range reflect.TypeFor[config.Config]().NumField() {
		field := reflect.TypeFor[config.Config]().Field(i)
		key := field.Tag.Get("yaml")
		if !field.IsExported() || key == "-" || field.Tag.Get("restart") != "" {
			continue
		}
		next, err := parse(t, dir, changed[key])
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		if c := config.Compare(now, next); len(c.Lines) != 1 || len(c.Restart) > 0 {
			t.Errorf("%s: %+v", key, c)
		}
	}
}
