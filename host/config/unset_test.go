package config_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestWhatOnlyTheServiceHasIsNoMistake reads a configuration where its
// variables are not set, as a command in a shell does.
func TestWhatOnlyTheServiceHasIsNoMistake(t *testing.T) {
	const text = `
assistants:
  a: {env: {KEY: "${ABSENT}", HERE: "${TOKEN}"}}
channels:
  web:
    listen: 0.0.0.0:8420
    token: ${UNSET}
`
	cfg, err := parse(t, configDir(t), text)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, p := range cfg.Down {
		told = append(told, fmt.Sprintf("%d|%s|%s", p.Line, p.Key, p.Message))
	}
	want := "3|assistants.a.env.KEY|the environment has no ABSENT, 7|channels.web.token|the environment has no UNSET"
	if got := strings.Join(told, ", "); got != want {
		t.Errorf("unset: %s; want %s", got, want)
	}
	if len(cfg.Warnings) < 2 || cfg.Warnings[len(cfg.Warnings)-1].Line != 7 || !strings.HasPrefix(cfg.Warnings[len(cfg.Warnings)-1].Message, "UNSET is not set here") {
		t.Errorf("warnings: %v", cfg.Warnings)
	}
	token := webOf(cfg).Token
	if !token.Unset() || !token.IsZero() || token.Reveal() != "" || fmt.Sprint(token) != "[not set here]" {
		t.Errorf("the token is %q, unset %t, and prints as %v", token.Reveal(), token.Unset(), token)
	}
	if here := cfg.Assistants["a"].Env["HERE"]; here.Unset() || here.Reveal() != "t0ken-of-16-and-more" {
		t.Errorf("a variable that is set reads %q, unset %t", here.Reveal(), here.Unset())
	}
}
