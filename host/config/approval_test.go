package config_test

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/config"
)

// Whoever may approve must be somebody whom the platform knows by an id.
func TestApproversAreMembersOfAChatWithIDs(t *testing.T) {
	for approval, says := range map[string]string{
		"{group: board, members: [49151@s.whatsapp.net]}": "",
		"{}":                                   "",
		"{group: board}":                       "nobody is named",
		"{members: [U1]}":                      "no chat is named",
		"{group: bord, members: [U1]}":         "no group's folder",
		"{group: family, members: [U1]}":       "the chat page knows no member",
		"{group: board, members: [all]}":       "no id of a member",
		`{group: board, members: [U1, ""]}`:    "no id of a member",
		"{group: board, members: [U1], to: x}": "unknown key",
	} {
		text := "channels: {web: {}, whatsapp: {}}\ngroups:\n  - {folder: family, chat: web:family}\n  - {folder: board, chat: \"120363000000000000@g.us\"}\napproval: " + approval + "\n"
		cfg, err := config.Parse(t.TempDir()+"/longshore.yaml", []byte(text), func(string) string { return "" }, platforms())
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v, want %q", approval, err, says)
		}
		if err == nil && len(cfg.Approval.Members) > 0 && (!cfg.Approval.May("", "49151@s.whatsapp.net") || cfg.Approval.May("", "") || cfg.Approval.May("all")) {
			t.Errorf("%s: somebody else's answer counts", approval)
		}
	}
}
