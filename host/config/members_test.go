package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
)

func TestMembersAreWordsAndIDs(t *testing.T) {
	parse := func(members string) (groups.Members, error) {
		text := "groups:\n  - {folder: family, chat: web:family, members: " + members + "}\n"
		cfg, err := config.Parse(t.TempDir()+"/longshore.yaml", []byte(text), func(string) string { return "" }, platforms())
		if err != nil {
			return groups.Members{}, err
		}
		return cfg.Groups[0].Members, nil
	}
	got, err := parse(`{speak: [admins, 4915100000000, U012AB3CD, "1@lid"], stop: admins, new: speak}`)
	want := groups.Members{Speak: groups.Who{"admins", "4915100000000", "U012AB3CD", "1@lid"}, Stop: groups.Who{"admins"}, New: groups.Who{"speak"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	for members, says := range map[string]string{
		"{speak: al}": `"al" is neither a word nor an id`, "{speak: []}": "the list is empty", "{speak: speak}": `"speak" is neither`,
		`{new: ["Ann Smith"]}`: `"Ann Smith" is neither`, "{stop: {a: b}}": "is expected here", `{speak: "U1\u202e"}`: "is neither", "{speek: all}": "unknown key",
	} {
		if _, err := parse(members); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", members, err)
		}
	}
}
