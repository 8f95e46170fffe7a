package config_test

import (
	"strings"
	"testing"
)

// TestRemoteIsNotOpenToEverybodyByMistake: all addresses only if asked, and never silently
// over a network.
func TestRemoteIsNotOpenToEverybodyByMistake(t *testing.T) {
	dir := configDir(t)
	for text, want := range map[string]string{
		"remote: {listen: 127.0.0.1:8430}":                       "",
		"remote: {listen: 'localhost:8430', hosts: [a.example]}": "",
		"remote: {listen: 'unix:/run/longshore/remote.sock'}":    "",
		"remote: {listen: 'unix:remote.sock'}":                   "absolute path",
		"remote: {listen: 0.0.0.0:8430}":                         "all addresses",
		"remote: {listen: ':8430'}":                              "all addresses",
		"remote: {listen: '[::]:8430'}":                          "all addresses",
		"remote: {listen: '[::]:8430', everywhere: true}":        "warning: unencrypted",
		"remote: {listen: 192.0.2.7:8430}":                       "warning: unencrypted",
		"remote: {listen: here}":                                 "no address",
		"remote: {everywhere: true}":                             "no address",
		"remote: {limits: {uploads: 1}}":                         "",
		"remote: {limits: {uploads: 0}}":                         "remote.limits.uploads",
		"remote: {limits: {header: 1KiB}}":                       "remote.limits.header",
	} {
		cfg, err := parse(t, dir, text)
		warning, warns := strings.CutPrefix(want, "warning: ")
		switch {
		case warns:
			if err != nil || len(cfg.Warnings) == 0 || !strings.Contains(cfg.Warnings[0].Message, warning) {
				t.Errorf("%s: %v, %v", text, err, cfg)
			}
		case want == "":
			if err != nil || len(cfg.Warnings) > 0 {
				t.Errorf("%s: %v", text, err)
			}
		case err == nil || !strings.Contains(err.Error(), want):
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestAnAssistantElsewhereNeedsRemote, and has no settings of one that runs here.
func TestAnAssistantElsewhereNeedsRemote(t *testing.T) {
	dir := configDir(t)
	const remote = "remote: {listen: 127.0.0.1:8430}\n"
	for text, want := range map[string]string{
		remote + "assistants: {far: {runtime: remote}}":                              "",
		remote + "assistants: {far: {runtime: remote, turn_timeout: 2h}}":            "",
		"assistants: {far: {runtime: remote}}":                                       "does not listen for it",
		remote + "assistants: {far: {runtime: remote, agent: claude}}":               "does not start",
		remote + "assistants: {far: {runtime: remote, image: a}}":                    "does not start",
		remote + "assistants: {far: {runtime: remote, env: {A: b}}}":                 "does not start",
		remote + "assistants: {far: {runtime: remote, keys: inside}}":                "does not start",
		remote + "assistants: {far: {runtime: remote, memory: 1GiB}}":                "does not start",
		remote + "assistants: {far: {runtime: remote, claude_channel: messages}}":    "",
		remote + "assistants: {far: {runtime: remote, claude_channel: permissions}}": "nobody is named",
		remote + "assistants: {far: {runtime: remote, claude_channel: all}}":         "claude_channel",
		"assistants: {far: {runtime: process, claude_channel: messages}}":            "lives elsewhere",
		remote + "assistants: {far: {runtime: remotely}}":                            "remote",
		remote + "assistants: {far: {runtime: remote, env_from_file: {A: './x'}}}":   "does not start",
	} {
		_, err := parse(t, dir, text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// The key was door before.
func TestAFormerKeyNamesItsSuccessor(t *testing.T) {
	_, err := parse(t, configDir(t), "door: {listen: 127.0.0.1:8430}\n")
	if err == nil || !strings.Contains(err.Error(), `did you mean "remote"?`) {
		t.Error(err)
	}
}
