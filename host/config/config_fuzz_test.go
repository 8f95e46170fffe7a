package config_test

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/config"
)

// Whatever the file holds, each thing that is wrong has its line and is
// printable, and no value of a secret key is shown.
func FuzzParse(f *testing.F) {
	f.Add(string(config.Example()))
	for _, tt := range configErrors {
		f.Add(tt.yaml)
	}
	dir := f.TempDir()
	none := func(string) string { return "" }
	f.Fuzz(func(t *testing.T, text string) {
		cfg, err := config.Parse(dir+"/longshore.yaml", []byte(text), none, platforms())
		if err == nil {
			if _, err := groups.NewRegistry(cfg.Groups); err != nil {
				t.Fatalf("what Parse takes, NewRegistry refuses: %v", err)
			}
			for _, g := range cfg.Groups {
				if _, err := mounts.New(cfg.Layout(), g); err != nil {
					t.Fatalf("what Parse takes, NewMountMap refuses: %v", err)
				}
			}
			return
		}
		for _, p := range problems(t, err) {
			if p.Line < 1 || p.Line > strings.Count(text, "\n")+strings.Count(text, "\r")+1 || p.Message == "" {
				t.Fatalf("problem %+v", p)
			}
			if strings.ContainsFunc(p.Error(), func(r rune) bool { return r < ' ' && r != '\n' }) {
				t.Fatalf("%q holds a control character", p.Error())
			}
		}
	})
}
