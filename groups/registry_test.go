package groups_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

func TestParseJID(t *testing.T) {
	for jid, channel := range map[string]string{
		"web:family":                     "web",
		"web:a_b-0":                      "web",
		"120363000000000000@g.us":        "whatsapp",
		"4915100000000-1400000@g.us":     "whatsapp",
		"4915100000000@s.whatsapp.net":   "whatsapp",
		"123456789012345@lid":            "whatsapp",
		"slack:C024BE91L":                "slack",
		"tg:-1001234567890":              "telegram",
		"tg:42":                          "telegram",
		"dc:1234567890":                  "discord",
		"mem:Chat.1":                     "mem",
		"web:" + strings.Repeat("a", 64): "web",

		"":                                "",
		"family":                          "",
		"web:":                            "",
		"web:Family":                      "",
		"web:-a":                          "",
		"web:a b":                         "",
		"web:a\n":                         "",
		"web:a\x00":                       "",
		"web:ä":                           "",
		"web:../x":                        "",
		" web:a":                          "",
		"web:" + strings.Repeat("a", 65):  "",
		"abc@g.us":                        "",
		"4915100000000:7@s.whatsapp.net":  "",
		"1@g.us\n":                        "",
		"1@g.us@g.us":                     "",
		"slack:c024":                      "",
		"dc:-1":                           "",
		"whatsapp:4915100000000":          "",
		"mem:" + strings.Repeat("a", 300): "",
		"\u202e1@g.us":                    "",
	} {
		got, err := groups.ParseJID(jid)
		if channel == "" {
			if fstest.Code(err) != groups.CodeBadJID || got != "" {
				t.Errorf("ParseJID(%q) = %q, %v; want bad_jid", jid, got, err)
			}
			continue
		}
		if err != nil || string(got) != jid || got.Channel() != channel {
			t.Errorf("ParseJID(%q) = %q of channel %q, %v; want channel %q", jid, got, got.Channel(), err, channel)
		}
	}
}

func newRegistry(t *testing.T) *groups.Registry {
	t.Helper()
	r, err := groups.NewRegistry([]groups.Group{
		{Name: "Family", Folder: "family", Chat: "web:family", Channel: "web"},
		{Name: "Team", Folder: "team", Chat: "120363000000000000@g.us", Channel: "whatsapp"},
		{Name: "Me", Folder: "main", Chat: "web:me", Channel: "web", Main: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAuthorizeOwnChatOnlyMainAny(t *testing.T) {
	r := newRegistry(t)
	for _, tt := range []struct {
		folder, claimed string
		want            groups.JID
		code            string
	}{
		{"family", "", "web:family", ""},
		{"family", "web:family", "web:family", ""},
		{"family", "web:me", "", groups.CodeChatNotAllowed},
		{"family", "120363000000000000@g.us", "", groups.CodeChatNotAllowed},
		{"family", "web:nobody", "", groups.CodeChatNotAllowed},
		{"family", "WEB:family", "", groups.CodeBadJID},
		{"family", " ", "", groups.CodeBadJID},
		{"main", "", "web:me", ""},
		{"main", "web:family", "web:family", ""},
		{"main", "120363000000000000@g.us", "120363000000000000@g.us", ""},
		{"main", "web:nobody", "", groups.CodeChatUnknown},
		{"main", "nobody", "", groups.CodeBadJID},
		{"stranger", "", "", groups.CodeGroupUnknown},
		{"stranger", "web:family", "", groups.CodeGroupUnknown},
		{"Family", "web:family", "", groups.CodeGroupUnknown},
		{"", "web:family", "", groups.CodeGroupUnknown},
	} {
		got, err := r.Authorize(tt.folder, tt.claimed)
		if got.JID != tt.want || fstest.Code(err) != tt.code {
			t.Errorf("Authorize(%q, %q) = %v, %v; want %q, code %q", tt.folder, tt.claimed, got, err, tt.want, tt.code)
		}
	}
}

// A group that should send to one other chat had to be the main group, and reached all.
func TestAGroupReachesTheChatsThatItsListNames(t *testing.T) {
	r, err := groups.NewRegistry([]groups.Group{
		{Folder: "family", Chat: "web:family", Channel: "web", MaySendTo: []string{"team"}},
		{Folder: "team", Chat: "web:team", Channel: "web"},
		{Folder: "far", Chat: "web:team", Channel: "web-far"},
		{Folder: "board", Chat: "web:board", Channel: "web"},
	})
	if err != nil {
		t.Fatal(err)
	}
	team := groups.Address{Channel: "web", JID: "web:team"}
	for _, tt := range []struct {
		folder, claimed string
		want            groups.Address
		send, call      string // codes
	}{
		{"family", "", groups.Address{Channel: "web", JID: "web:family"}, "", ""},
		{"family", "web:team", team, "", groups.CodeChatNotAllowed}, // the one on web-far is not for it
		{"family", "web/web:team", team, "", groups.CodeChatNotAllowed},
		{"family", "web-far/web:team", groups.Address{}, groups.CodeChatNotAllowed, groups.CodeChatNotAllowed},
		{"family", "web:board", groups.Address{}, groups.CodeChatNotAllowed, groups.CodeChatNotAllowed},
		{"family", "web:nobody", groups.Address{}, groups.CodeChatNotAllowed, groups.CodeChatNotAllowed},
		{"team", "web:family", groups.Address{}, groups.CodeChatNotAllowed, groups.CodeChatNotAllowed}, // not the way back
	} {
		got, err := r.Authorize(tt.folder, tt.claimed)
		if got != tt.want || fstest.Code(err) != tt.send {
			t.Errorf("%s sends to %q: %v, %v", tt.folder, tt.claimed, got, err)
		}
		if _, err := r.AuthorizeCall(tt.folder, tt.claimed); fstest.Code(err) != tt.call {
			t.Errorf("%s reads %q: %v, want %q", tt.folder, tt.claimed, err, tt.call)
		}
	}
	_, taken := r.Authorize("family", "web:board")
	_, nobody := r.Authorize("family", "web:nobody")
	if strings.ReplaceAll(taken.Error(), "board", "nobody") != nobody.Error() {
		t.Errorf("a group learns which chats there are: %v; %v", taken, nobody)
	}
}

// A destination is named by its name or its chat, by the groups that may send there
// alone, and nobody reads it.
func TestADestinationIsReachedByThoseThatNameIt(t *testing.T) {
	r, err := groups.NewRegistry([]groups.Group{
		{Folder: "family", Chat: "web:family", Channel: "web", MaySendTo: []string{"board"}},
		{Folder: "team", Chat: "web:team", Channel: "web"},
		{Folder: "main", Chat: "web:me", Channel: "web", Main: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err = r.WithDestinations(map[string]groups.Destination{
		"board": {Chat: "slack:C1", Channel: "slack"}, "press": {Chat: "slack:C2", Channel: "slack"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ folder, claimed, jid, code string }{
		{"family", "board", "slack:C1", ""}, {"family", "slack:C1", "slack:C1", ""}, {"family", "slack/slack:C1", "slack:C1", ""},
		{"family", "press", "", groups.CodeBadJID}, {"family", "slack:C2", "", groups.CodeChatNotAllowed}, // as if there were none
		{"family", "nobody", "", groups.CodeBadJID}, {"family", "slack:C3", "", groups.CodeChatNotAllowed},
		{"team", "board", "", groups.CodeBadJID}, {"team", "slack:C1", "", groups.CodeChatNotAllowed},
		{"main", "press", "slack:C2", ""}, {"main", "slack:C2", "slack:C2", ""}, {"main", "slack:C3", "", groups.CodeChatUnknown},
		{"stranger", "board", "", groups.CodeGroupUnknown},
	} {
		got, err := r.Authorize(tt.folder, tt.claimed)
		if string(got.JID) != tt.jid || fstest.Code(err) != tt.code {
			t.Errorf("%s sends to %q: %v, %v", tt.folder, tt.claimed, got, err)
		}
		if got, err := r.AuthorizeCall(tt.folder, tt.claimed); err == nil {
			t.Errorf("%s reads %q: %v", tt.folder, tt.claimed, got)
		}
	}
	for name, d := range map[string]groups.Destination{
		"family": {Chat: "slack:C1", Channel: "slack"}, "a b": {Chat: "slack:C1", Channel: "slack"},
		"owned": {Chat: "web:team", Channel: "web"}, "formless": {Chat: "nobody", Channel: "web"},
	} {
		if _, err := r.WithDestinations(map[string]groups.Destination{name: d}); err == nil {
			t.Errorf("%s with %s is a destination", name, d.Chat)
		}
	}
}

// TestAChatIsAJIDOnAChannel: two accounts of one platform may know a chat by
// the same JID. Nobody's message goes to the chat of the other account.
func TestAChatIsAJIDOnAChannel(t *testing.T) {
	r, err := groups.NewRegistry([]groups.Group{
		{Folder: "home", Chat: "web:family", Channel: "web"},
		{Folder: "work", Chat: "web:family", Channel: "web-work"},
		{Folder: "team", Chat: "web:team", Channel: "web-work"},
		{Folder: "ops", Chat: "web:ops", Channel: "web", Main: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	home, work := groups.Address{Channel: "web", JID: "web:family"}, groups.Address{Channel: "web-work", JID: "web:family"}
	for _, tt := range []struct {
		folder, claimed string
		want            groups.Address
		code            string
	}{
		{"home", "", home, ""},
		{"work", "", work, ""},
		{"home", "web:family", home, ""},
		{"work", "web:family", work, ""},
		{"work", "web-work/web:family", work, ""},
		{"work", "web/web:family", groups.Address{}, groups.CodeChatNotAllowed},
		{"home", "web-work/web:family", groups.Address{}, groups.CodeChatNotAllowed},
		{"ops", "web:family", groups.Address{}, groups.CodeChatAmbiguous},
		{"ops", "web/web:family", home, ""},
		{"ops", "web-work/web:family", work, ""},
		{"ops", "web:team", groups.Address{Channel: "web-work", JID: "web:team"}, ""},
		{"ops", "web/web:team", groups.Address{}, groups.CodeChatUnknown},
		{"ops", "/web:family", groups.Address{}, groups.CodeBadJID},
		{"ops", "web/", groups.Address{}, groups.CodeBadJID},
		{"ops", "web/web/web:family", groups.Address{}, groups.CodeBadJID},
	} {
		got, err := r.Authorize(tt.folder, tt.claimed)
		if got != tt.want || fstest.Code(err) != tt.code {
			t.Errorf("Authorize(%q, %q) = %v, %v; want %v, code %q", tt.folder, tt.claimed, got, err, tt.want, tt.code)
		}
	}
	// What chat_info shows main is what main may write.
	for _, g := range r.All() {
		if got, err := r.Authorize("ops", r.NameOf(g)); got != g.Address() {
			t.Errorf("main names the chat of %s %q and reaches %v, %v", g.Folder, r.NameOf(g), got, err)
		}
	}
	if g, _ := r.ByAddress(work); g.Folder != "work" {
		t.Errorf("%v belongs to %q", work, g.Folder)
	}
}

// Whether another group's chat exists must not show in the refusal.
func TestRefusalDoesNotTellWhichChatsExist(t *testing.T) {
	r := newRegistry(t)
	_, known := r.Authorize("family", "web:me")
	_, unknown := r.Authorize("family", "web:no")
	if a, b := known.Error(), unknown.Error(); strings.ReplaceAll(a, "web:me", "web:no") != b {
		t.Errorf("the refusals differ: %q, %q", a, b)
	}
}

func TestRegistryFindsGroups(t *testing.T) {
	r := newRegistry(t)
	var folders []string
	for _, g := range r.All() {
		folders = append(folders, g.Folder)
		byFolder, ok := r.ByFolder(g.Folder)
		if !ok || byFolder.Name != g.Name {
			t.Errorf("ByFolder(%q) = %v, %v", g.Folder, byFolder, ok)
		}
		byAddress, ok := r.ByAddress(g.Address())
		if !ok || byAddress.Name != g.Name {
			t.Errorf("ByAddress(%v) = %v, %v", g.Address(), byAddress, ok)
		}
	}
	if diff := cmp.Diff([]string{"family", "team", "main"}, folders); diff != "" {
		t.Error(diff)
	}
	if _, ok := r.ByFolder("nobody"); ok {
		t.Error("ByFolder finds nobody")
	}
	if _, ok := r.ByAddress(groups.Address{Channel: "web", JID: "web:nobody"}); ok {
		t.Error("ByAddress finds nobody")
	}
	r.All()[0].Folder = "changed"
	if _, ok := r.ByFolder("family"); !ok || r.All()[0].Folder != "family" {
		t.Error("what All returns is not a copy")
	}
}

func TestNewRegistryRefuses(t *testing.T) {
	good := groups.Group{Folder: "a", Chat: "web:a"}
	for name, list := range map[string][]groups.Group{
		"same folder":   {good, {Folder: "a", Chat: "web:b"}},
		"same chat":     {good, {Folder: "b", Chat: "web:a"}},
		"two mains":     {{Folder: "a", Chat: "web:a", Main: true}, {Folder: "b", Chat: "web:b", Main: true}},
		"folder ..":     {{Folder: "..", Chat: "web:a"}},
		"folder global": {{Folder: "global", Chat: "web:a"}},
		"folder errors": {{Folder: "Errors", Chat: "web:a"}},
		"folder a/b":    {{Folder: "a/b", Chat: "web:a"}},
		"folder .a":     {{Folder: ".a", Chat: "web:a"}},
		"no folder":     {{Chat: "web:a"}},
		"no chat":       {{Folder: "a"}},
	} {
		if _, err := groups.NewRegistry(list); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
