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
