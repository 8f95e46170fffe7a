package config_test

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/config"
)

// inherited says of each field of a group whether it restricts what the assistant may make
// appear, and so goes over to a group that the assistant registers.
var inherited = map[string]bool{
	"Limits": true, "MaySend": true, "Approve": true, "Rate": true, "Actions": true,
	"Budget":   true, // not copied: both spend one
	"Timezone": true, // if the hours of may_send are
	"Name":     false, "Folder": false, "Chat": false, "Channel": false, "RegisteredBy": false, "Assistant": false, "Engine": false,
	"Main": false, "MaySendTo": false, "Mounts": false, // rights, of which a new group has none
	"Trigger": false, "Hints": false, "Failures": false, "Threads": false, "Gather": false, "Events": false,
	"History": false, "TextFiles": false, "Speech": false, "Members": false, "Ack": false, "Parallel": false, // how it listens
}

const registeredGroups = `
assistants: {a: {runtime: docker, keys: proxy, agent: claude, env: {ANTHROPIC_API_KEY: '${TOKEN}'}}}
limits: {rate: {per_minute: 99, burst: 98}, budget: {tokens: 1000}}
groups:
- {folder: ops, chat: "web:ops", main: true, assistant: a, approve: {foreign: true, above: 5MB, within: 2h},
   may_send: {kinds: [image], most: 1MB, hours: "08:00-20:00"}, rate: {per_minute: 3}, actions: [react, register], limits: {image: 1000, video: 2000}, budget: {tokens: 10}}
- {folder: dock, chat: "web:dock", assistant: a, registered_by: ops}
- {folder: quay, chat: "web:quay", assistant: a, registered_by: ops, approve: {files: true}, limits: {image: 10, video: 9000}, budget: {tokens: 5}}
`

// TestARegisteredGroupInheritsEachRestriction walks the fields of a group: one that is added
// has to say whether it is a restriction.
func TestARegisteredGroupInheritsEachRestriction(t *testing.T) {
	cfg, err := parse(t, t.TempDir(), registeredGroups)
	if err != nil {
		t.Fatal(err)
	}
	ops, dock, quay := cfg.Groups[0], cfg.Groups[1], cfg.Groups[2]
	for f, v := range reflect.ValueOf(ops).Fields() {
		is, listed := inherited[f.Name]
		got := reflect.ValueOf(dock).FieldByIndex(f.Index).Interface()
		if !listed {
			t.Errorf("say of %s whether a registered group inherits it", f.Name)
		}
		if is && f.Name != "Budget" && !reflect.DeepEqual(v.Interface(), got) {
			t.Errorf("%s is %+v, and its maker's %+v", f.Name, got, v.Interface())
		}
	}
	if cfg.Purse(dock).Folder != "ops" || cfg.Budget(dock) != cfg.Budget(ops) || cfg.Purse(quay).Folder != "quay" || cfg.Budget(quay).Tokens != 5 {
		t.Errorf("budgets: %+v, %+v", cfg.Budget(dock), cfg.Budget(quay))
	}
	if quay.Approve.Foreign || !quay.Approve.Files || quay.Limits["image"] != 10 || quay.Limits["video"] != 2000 {
		t.Errorf("what the operator has written goes before: %+v", quay)
	}
}

func TestAGroupIsRegisteredByAGroupThatIsThere(t *testing.T) {
	for _, by := range []string{"nobody", "quay", "dock"} {
		_, err := parse(t, t.TempDir(), strings.Replace(registeredGroups, "assistant: a, registered_by: ops}", "assistant: a, registered_by: "+by+"}", 1))
		if err == nil || !strings.Contains(err.Error(), "registered_by") {
			t.Errorf("by %s: %v", by, err)
		}
	}
}

// TestInheritedHoursWereThoseOfAnotherZone: the maker's 08:00 was the file's.
func TestInheritedHoursWereThoseOfAnotherZone(t *testing.T) {
	maker := strings.Replace(registeredGroups, "main: true", "main: true, timezone: Asia/Kolkata", 1)
	for own, want := range map[string]string{
		"":                                   "Asia/Kolkata",
		", timezone: America/Lima":           "America/Lima",
		`, may_send: {hours: "09:00-10:00"}`: "Europe/Berlin", // its own hours
	} {
		cfg, err := parse(t, t.TempDir(), "timezone: Europe/Berlin"+strings.Replace(maker, "assistant: a, registered_by: ops}", "assistant: a, registered_by: ops"+own+"}", 1))
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Zone(cfg.Groups[1]).String(); got != want {
			t.Errorf("%q: %s", own, got)
		}
	}
}

// The host adds the registered groups that it has kept: the file says which of them are served,
// and one that does not fit it any more keeps no host from starting.
func TestARegisteredGroupThatDoesNotFitTheFileIsLeftOut(t *testing.T) {
	const file = `
channels: {web: {listen: "127.0.0.1:0"}}
assistants: {a: {agent: sample}}
register: {chats: ["web:*"], except: ["web:no"]}
groups:
- {folder: ops, chat: "web:ops", main: true, assistant: a, actions: [react]}
- {folder: mine, chat: "web:mine"}
`
	kept := func(folder, chat, by string) groups.Group {
		return groups.Group{Folder: folder, Name: folder, Chat: groups.JID(chat), RegisteredBy: by}
	}
	cfg, err := config.Parse(filepath.Join(t.TempDir(), "longshore.yaml"), []byte(file), func(string) string { return "" }, []channel.Platform{web.Platform()},
		kept("dock", "web:dock", "ops"), kept("free", "web:free", ""), kept("MINE", "web:other", "ops"), kept("theirs", "web:mine", "ops"),
		kept("no", "web:no", "ops"), kept("lost", "web:lost", "nobody"), kept("\u200b", "web:odd", "ops"), kept("irc", "irc:x", "ops"))
	if err != nil {
		t.Fatal(err)
	}
	var served []string
	for _, g := range cfg.Groups {
		served = append(served, g.Folder)
		if g.Folder == "dock" && (g.Assistant != "a" || len(g.Actions) != 1) || g.Folder == "free" && (g.Assistant != "a" || g.Actions != nil) {
			t.Errorf("%+v", g)
		}
	}
	if got := strings.Join(served, " "); got != "ops mine dock free" {
		t.Errorf("served: %s", got)
	}
	if len(cfg.LeftOut) != 2 || cfg.LeftOut["lost"] == nil || len(cfg.Warnings) == 0 {
		t.Errorf("left out: %v, warnings: %v", cfg.LeftOut, cfg.Warnings)
	}
}
