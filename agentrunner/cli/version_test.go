package cli

import (
	"runtime/debug"
	"testing"
)

func TestVersionIsTheRealOneHoweverTheProgramWasBuilt(t *testing.T) {
	checkout := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef0123"}}
	for name, test := range map[string]struct {
		linked string
		info   debug.BuildInfo
		want   string
	}{
		"by make":               {"v1.2.3", debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: checkout}, "v1.2.3"},
		"go install":            {"", debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3"},
		"go build":              {"", debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: checkout}, "devel-0123456789ab"},
		"go build with changes": {"", debug.BuildInfo{Settings: append(checkout, debug.BuildSetting{Key: "vcs.modified", Value: "true"})}, "devel-0123456789ab+dirty"},
		"go run":                {"", debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "devel"},
		"without any record":    {"", debug.BuildInfo{}, "devel"},
	} {
		if got := versionOf(test.linked, &test.info); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
