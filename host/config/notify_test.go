package config_test

import (
	"strings"
	"testing"

	"github.com/longshore-bridge/longshore/host/config"
)

// TestNotifyNamesWhatIsWrong: a target that is half written would be found out only
// when something is wrong.
func TestNotifyNamesWhatIsWrong(t *testing.T) {
	env := map[string]string{"GOOD": "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz", "BAD": "hunter2"}
	for text, want := range map[string]string{
		`{group: opps}`: `there is no group "opps"`,
		`{group: ops, after: 30s, webhook: {url: "https://x.example/a", secret: "${GOOD}"}, ntfy: {topic: a-b_c}}`: "",
		`{webhook: {url: "https://x.example/a"}}`:                          "not signed",
		`{webhook: {secret: "${GOOD}"}}`:                                   "no url",
		`{webhook: {url: "https://x.example/a", secret: "${BAD}"}}`:        "base64 of 24 to 64 bytes",
		`{webhook: {url: "https://x.example/a", secret: whsec_abc}}`:       "does not belong in the configuration file",
		`{webhook: {url: "https://me:pw@x.example/a", secret: "${GOOD}"}}`: "no web address",
		`{webhook: {url: "ftp://x.example/a", secret: "${GOOD}"}}`:         "no web address",
		`{ntfy: {token: "${GOOD}"}}`:                                       "no topic",
		`{ntfy: {topic: "a/b"}}`:                                           "no topic of ntfy",
		`{ntfy: {topic: a, server: "ntfy.sh"}}`:                            "no web address",
		`{after: 0s}`:                                                      "above 0",
	} {
		file := "notify: " + text + "\ngroups:\n  - {name: Ops, folder: ops, chat: \"web:ops\"}\n"
		_, err := config.Parse(t.TempDir()+"/longshore.yaml", []byte(file), func(name string) string { return env[name] }, platforms())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
