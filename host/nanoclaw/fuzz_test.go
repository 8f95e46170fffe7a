package nanoclaw_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/nanoclaw"
)

// FuzzRegistry wants whatever stands in the registry to make a configuration
// that is valid and says what the plan says, or an error.
func FuzzRegistry(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"1@g.us":{"name":"A","folder":"a","trigger":"@A","containerConfig":{"additionalMounts":[{"hostPath":"/x"}]}}}`, `{"allowedRoots":[{"path":"/x"}],"blockedPatterns":["y*["]}`},
		{`{"1@g.us":{"name":"\"\n: \u2028\u0085","folder":"a","trigger":"'#: -"}}`, `{"blockedPatterns":["","/","\u0000"]}`},
		{`{"1@g.us":{"folder":"a"},"1@g.us":{"folder":"A"},"2@g.us":{"folder":"a"}}`, `{"allowedRoots":[{"path":""},{"path":"~"}]}`},
	} {
		f.Add(seed[0], seed[1])
	}
	ground := newSite(f)
	f.Fuzz(func(t *testing.T, registry, allowlist string) {
		s := ground
		s.TB = t
		s.write("nanoclaw/data/registered_groups.json", registry)
		s.write("home/.config/nanoclaw/mount-allowlist.json", allowlist)
		found, err := nanoclaw.Read(t.Context(), s.dir, nanoclaw.Options{Platforms: platforms(), Getenv: func(string) string { return s.home }})
		if err != nil {
			return
		}
		plan, err := found.Plan(s.file)
		if err != nil {
			t.Fatalf("no plan: %v", err)
		}
		cfg, err := config.Parse(s.file, []byte(plan.Text), os.Getenv, platforms())
		if err != nil {
			t.Fatalf("%v\n%s", err, plan.Text)
		}
		if len(cfg.Groups) != len(plan.Groups) || len(cfg.Groups) > len(found.Rows) {
			t.Fatalf("%d groups of %d rows, %d in the plan", len(cfg.Groups), len(found.Rows), len(plan.Groups))
		}
		for i, g := range cfg.Groups {
			if want := plan.Groups[i]; g.Folder != want.Folder || string(g.Chat) != want.Chat || g.Trigger != want.Trigger || g.Main != want.Main {
				t.Errorf("%+v, want %+v", g, want)
			}
		}
		if _, err := json.Marshal(plan); err != nil {
			t.Error(err)
		}
	})
}
