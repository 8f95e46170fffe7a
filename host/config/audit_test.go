package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheTrailsTextsAreLeftOutUnlessTheOperatorSaysOtherwise(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                     {"captions", "numbers"},
		"audit: {keep: 24h}":                   {"captions", "numbers"},
		"audit: {leave_out: []}":               {},
		"audit: {leave_out: [names, numbers]}": {"names", "numbers"},
	} {
		cfg, err := parse(t, configDir(t), text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, cfg.Audit.LeaveOut); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	if _, err := parse(t, configDir(t), "audit: {leave_out: [texts]}"); err == nil || !strings.Contains(err.Error(), `"texts" is unknown here`) {
		t.Errorf("a word that is none: %v", err)
	}
}
