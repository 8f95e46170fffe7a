package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/media"
)

func TestMaySendIsKindsASizeAndHours(t *testing.T) {
	parse := func(may string) (groups.MaySend, error) {
		text := "groups:\n  - {folder: family, chat: web:family, may_send: " + may + "}\n"
		cfg, err := config.Parse(t.TempDir()+"/longshore.yaml", []byte(text), func(string) string { return "" }, platforms())
		if err != nil {
			return groups.MaySend{}, err
		}
		return cfg.Groups[0].MaySend, nil
	}
	for _, kind := range media.Kinds() {
		if _, err := parse(fmt.Sprintf("{kinds: [%s]}", kind)); err != nil {
			t.Errorf("the kind %s: %v", kind, err)
		}
	}
	got, err := parse(`{kinds: [image, document], most: 20MB, hours: "08:00-20:00"}`)
	want := groups.MaySend{Kinds: []string{"image", "document"}, Most: 20e6, Hours: "08:00-20:00"}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	for may, says := range map[string]string{
		"{kinds: [imge]}": `"imge" is unknown here`, "{kinds: []}": "the list is empty", "{most: 0}": "must be above 0", "{most: big}": "most",
		`{hours: "8-20"}`: "are no hours of a day", `{hours: "08:00-25:00"}`: "are no hours of a day", `{hours: "08:00-08:00"}`: "end where they begin", "{kind: image}": "unknown key",
	} {
		if _, err := parse(may); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", may, err)
		}
	}
}

func TestMaySendToNamesOtherGroups(t *testing.T) {
	for list, says := range map[string]string{
		"may_send_to: [work]": "", "may_send_to: []": "",
		"may_send_to: [wrok]": `"wrok" is no other group's folder`, "may_send_to: [family]": `"family" is no other group's folder`,
		"may_send_to: [\"web:work\"]": "is no other group's folder", "main: true, may_send_to: [work]": "may send to every chat",
	} {
		text := "groups:\n  - {folder: family, chat: web:family, " + list + "}\n  - {folder: work, chat: web:work}\n"
		cfg, err := config.Parse(t.TempDir()+"/longshore.yaml", []byte(text), func(string) string { return "" }, platforms())
		if says == "" && (err != nil || cfg.Groups[0].Reaches("work") != (len(cfg.Groups[0].MaySendTo) > 0)) || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v", list, err)
		}
	}
}

func TestADestinationIsAChatOfAnAccountThatNoGroupHas(t *testing.T) {
	const chat = "{chat: 120363000000000000@g.us}"
	for name, c := range map[string]struct{ destinations, list, says string }{
		"a chat":             {"{board: " + chat + "}", "[board]", ""},
		"another name":       {"{board: " + chat + "}", "[bord]", `"bord" is no other group's folder and no destination`},
		"a group's name":     {"{Family: " + chat + "}", "[]", "is a group's folder"},
		"a reserved name":    {"{global: " + chat + "}", "[]", "is a group's folder, or reserved"},
		"a bad name":         {"{'a/b': " + chat + "}", "[]", "no name of a destination"},
		"no chat":            {"{board: {}}", "[]", "destinations.board"},
		"no form of a chat":  {"{board: {chat: nobody}}", "[]", "no chat that any channel knows"},
		"a page's chat":      {"{board: {chat: web:board}}", "[]", "has the chats of groups only"},
		"a group's chat":     {"{board: {chat: 120363000000000001@g.us}}", "[]", `is the chat of group "team"`},
		"an unknown channel": {"{board: {chat: 120363000000000000@g.us, channel: fax}}", "[]", `there is no channel "fax"`},
	} {
		text := "channels: {web: {}, whatsapp: {}}\ndestinations: " + c.destinations + "\ngroups:\n  - {folder: family, chat: web:family, may_send_to: " + c.list +
			"}\n  - {folder: team, chat: 120363000000000001@g.us}\n"
		cfg, err := config.Parse(t.TempDir()+"/longshore.yaml", []byte(text), func(string) string { return "" }, platforms())
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r, err := cfg.Registry()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Authorize("family", "board"); err != nil || got != (groups.Address{Channel: "whatsapp", JID: "120363000000000000@g.us"}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
