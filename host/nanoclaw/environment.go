package nanoclaw

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/media"
)

// zoneOf returns the time zone that v1 used, and where it stands: TZ of .env or of the
// environment, else the machine's.
func (p *Plan) zoneOf(f *Found) (zone, from string) {
	for _, c := range []struct{ zone, from string }{{f.Knobs["TZ"], "TZ of .env"}, {f.options.Getenv("TZ"), "TZ of the environment"}, {machineZone(f.options.Localtime), "the machine"}} {
		if _, err := time.LoadLocation(c.zone); err == nil && c.zone != "" && c.zone != "Local" {
			return c.zone, c.from
		}
		if c.zone != "" {
			p.leave(fmt.Sprintf("time zone %q of %s", media.Cut(c.zone, 80), c.from), "it is no name in the IANA database")
		}
	}
	return "UTC", "no setting of v1 or the machine: change it if that is wrong"
}

// machineZone returns the name of the zone to which the link at localtime leads; empty if it is
// no such link. Its form is that of localtime(5).
func machineZone(localtime string) string {
	path, err := os.Readlink(localtime)
	if err != nil {
		return ""
	}
	_, zone, _ := strings.Cut(filepath.ToSlash(path), "zoneinfo/")
	return zone
}

// token is a variable of v1's .env that is a key of a channel of ours.
type token struct{ name, channel, key string }

func tokens() []token {
	return []token{
		{"TELEGRAM_BOT_TOKEN", "telegram", "token"}, {"DISCORD_BOT_TOKEN", "discord", "bot_token"},
		{"SLACK_BOT_TOKEN", "slack", "bot_token"}, {"SLACK_APP_TOKEN", "slack", "app_token"},
	}
}

// tokensOf returns the tokens of .env that a channel takes. Their values stay where they are.
func (p *Plan) tokensOf(channel string) []token {
	return slices.DeleteFunc(tokens(), func(t token) bool { return t.channel != channel || !p.secrets[t.name] })
}

var secretForm = regexp.MustCompile(`^[A-Z][A-Z0-9_]*(TOKEN|KEY|SECRET|PASSWORD)$`)

// noteSecrets names the secrets of .env: those that the file takes from the environment, and
// those that have no place in it.
func (p *Plan) noteSecrets() {
	var used, left []string
	for _, g := range p.Groups {
		for _, t := range p.tokensOf(groups.JID(g.Chat).Channel()) {
			used = append(used, t.name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.secrets)) {
		if !slices.Contains(used, name) && !slices.Contains(p.credentials, name) {
			left = append(left, name)
		}
	}
	if slices.Sort(used); len(used) > 0 {
		p.note("%s of .env are not copied: set them in the environment of the host, from which the channels take them", strings.Join(slices.Compact(used), ", "))
	}
	if len(left) > 0 {
		p.note("%s of .env are not used: no channel or assistant of the file takes them", strings.Join(left, ", "))
	}
}
