package config_test

import (
	"strings"
	"testing"
)

// TestADoorIsNotOpenToEverybodyByMistake: all addresses only if asked, and never silently
// over a network.
func TestADoorIsNotOpenToEverybodyByMistake(t *testing.T) {
	dir := configDir(t)
	for text, want := range map[string]string{
		"door: {listen: 127.0.0.1:8430}":                       "",
		"door: {listen: 'localhost:8430', hosts: [a.example]}": "",
		"door: {listen: 'unix:/run/longshore/door.sock'}":      "",
		"door: {listen: 'unix:door.sock'}":                     "absolute path",
		"door: {listen: 0.0.0.0:8430}":                         "all addresses",
		"door: {listen: ':8430'}":                              "all addresses",
		"door: {listen: '[::]:8430'}":                          "all addresses",
		"door: {listen: '[::]:8430', everywhere: true}":        "warning: unencrypted",
		"door: {listen: 192.0.2.7:8430}":                       "warning: unencrypted",
		"door: {listen: here}":                                 "no address",
		"door: {everywhere: true}":                             "no address",
		"door: {limits: {uploads: 1}}":                         "",
		"door: {limits: {uploads: 0}}":                         "door.limits.uploads",
		"door: {limits: {header: 1KiB}}":                       "door.limits.header",
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

// TestAnAssistantElsewhereNeedsADoor, and has no settings of one that runs here.
func TestAnAssistantElsewhereNeedsADoor(t *testing.T) {
	dir := configDir(t)
	const door = "door: {listen: 127.0.0.1:8430}\n"
	for text, want := range map[string]string{
		door + "assistants: {far: {runtime: remote}}":                              "",
		door + "assistants: {far: {runtime: remote, turn_timeout: 2h}}":            "",
		"assistants: {far: {runtime: remote}}":                                     "there is none",
		door + "assistants: {far: {runtime: remote, agent: claude}}":               "does not start",
		door + "assistants: {far: {runtime: remote, image: a}}":                    "does not start",
		door + "assistants: {far: {runtime: remote, env: {A: b}}}":                 "does not start",
		door + "assistants: {far: {runtime: remote, keys: inside}}":                "does not start",
		door + "assistants: {far: {runtime: remote, memory: 1GiB}}":                "does not start",
		door + "assistants: {far: {runtime: remote, claude_channel: messages}}":    "",
		door + "assistants: {far: {runtime: remote, claude_channel: permissions}}": "nobody is named",
		door + "assistants: {far: {runtime: remote, claude_channel: all}}":         "claude_channel",
		"assistants: {far: {runtime: process, claude_channel: messages}}":          "lives elsewhere",
		door + "assistants: {far: {runtime: remotely}}":                            "remote",
		door + "assistants: {far: {runtime: remote, env_from_file: {A: './x'}}}":   "does not start",
	} {
		_, err := parse(t, dir, text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
