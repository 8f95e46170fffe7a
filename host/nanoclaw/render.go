package nanoclaw

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/media"
)

// v1's values if .env sets none.
const (
	v1Name  = "Andy"
	v1Image = "nanoclaw-agent:latest"
)

var imageForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}$`)

func (p *Plan) called() string { return cmp.Or(p.name, v1Name) }

// knobs imports the settings that have a counterpart.
func (p *Plan) knobs(f *Found) {
	p.name = strings.TrimSpace(f.Knobs["ASSISTANT_NAME"])
	p.image = cmp.Or(f.Knobs["CONTAINER_IMAGE"], v1Image)
	if !imageForm.MatchString(p.image) {
		p.leave(fmt.Sprintf("CONTAINER_IMAGE=%q", media.Cut(p.image, 80)), "it is not a valid image name")
		p.image = v1Image
	}
	p.turn = p.duration(f, "CONTAINER_TIMEOUT")
	p.idle = p.duration(f, "IDLE_TIMEOUT")
	if v := f.Knobs["MAX_CONCURRENT_CONTAINERS"]; v != "" {
		if n, err := strconv.Atoi(v); err != nil || n < 1 || n > 1000 {
			p.leave(fmt.Sprintf("MAX_CONCURRENT_CONTAINERS=%q", media.Cut(v, 80)), "it is not a number from 1 to 1000")
		} else {
			p.assistants = n
		}
	}
	for _, knob := range []struct{ key, why string }{
		{"CONTAINER_MAX_OUTPUT_SIZE", "Longshore limits an assistant's output itself"},
		{"ASSISTANT_HAS_OWN_NUMBER", "answers do not start with a name"},
	} {
		if f.Knobs[knob.key] != "" {
			p.note("%s has no counterpart: %s", knob.key, knob.why)
		}
	}
	var from string
	p.zone, from = p.zoneOf(f)
	p.note("the times of prompts and schedules are in the time zone %s, from %s", p.zone, from)
	p.secrets = map[string]bool{}
	for key, value := range f.Knobs {
		if value != "" && secretForm.MatchString(key) {
			p.secrets[key] = true
		}
	}
	if f.Knobs["ONECLI_URL"] != "" {
		p.note("ONECLI_URL has no counterpart: its gateway gave v1's containers their keys; set a key under env: in the file")
	}
	for _, key := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL"} {
		if f.Knobs[key] != "" {
			p.credentials = append(p.credentials, key)
		}
	}
	if len(p.credentials) > 0 {
		p.note("%s of .env are not copied: set them in the environment of the host, and remove the # before env: in the file", strings.Join(p.credentials, ", "))
	}
}

// duration reads a setting in milliseconds; 0: the default.
func (p *Plan) duration(f *Found, key string) time.Duration {
	v := f.Knobs[key]
	if v == "" {
		return 0
	}
	const week = 7 * 24 * time.Hour
	ms, err := strconv.ParseInt(v, 10, 64)
	if err != nil || ms < 1000 || ms > week.Milliseconds() {
		p.leave(fmt.Sprintf("%s=%q", key, media.Cut(v, 80)), "it is not a time from a second to a week, in milliseconds")
		return 0
	}
	return time.Duration(ms) * time.Millisecond
}

// policy imports the allowlist.
func (p *Plan) policy(f *Found) {
	if f.allow == nil {
		return
	}
	for _, root := range f.allow.AllowedRoots {
		p.allow = append(p.allow, config.Allowed{Path: f.expand(root.Path), Write: root.AllowReadWrite})
	}
	for _, pattern := range f.allow.BlockedPatterns {
		// v1 blocks a path if a component of it contains the pattern.
		p.block = append(p.block, "*"+strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(pattern)+"*")
	}
}

// render returns the configuration. Every untrusted text in it is a JSON
// string, which is also a YAML string.
func (p *Plan) render() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Made from the NanoClaw v1 installation in the state directory.")
	line("# docs/configuration.md lists every key with its default.")
	line("")
	line("name: %s", quote(p.called()))
	line("timezone: %s", quote(p.zone))
	line("layout: v1")
	line("state: %s", quote(p.Dir))
	if p.project && slices.ContainsFunc(p.Groups, func(g Group) bool { return g.Main }) {
		line("project: %s", quote(p.Dir))
	}
	p.renderChannels(line)
	p.renderAssistant(line)
	if len(p.Groups) > 0 {
		line("\ngroups:")
	}
	for _, g := range p.Groups {
		renderGroup(line, g)
	}
	if len(p.allow)+len(p.block) > 0 {
		line("\nmounts:")
	}
	if len(p.allow) > 0 {
		line("  allow:")
		for _, a := range p.allow {
			line("    - path: %s\n      write: %t", quote(filepath.Clean(a.Path)), a.Write)
		}
	}
	if len(p.block) > 0 {
		line("  block:")
		for _, pattern := range p.block {
			line("    - %s", quote(pattern))
		}
	}
	if p.assistants > 0 {
		line("\nlimits:\n  assistants: %d", p.assistants)
	}
	return b.String()
}

// renderChannels enables the channels that the groups need, and always the
// page.
func (p *Plan) renderChannels(line func(string, ...any)) {
	line("\nchannels:\n  web:\n    listen: 127.0.0.1:8420")
	var done []string
	for _, g := range p.Groups {
		if c := groups.JID(g.Chat).Channel(); c != "web" && !slices.Contains(done, c) {
			line("  %s:", c)
			for _, t := range p.tokensOf(c) {
				line("    %s: ${%s}", t.key, t.name)
			}
			done = append(done, c)
		}
	}
}

func (p *Plan) renderAssistant(line func(string, ...any)) {
	line("\nassistants:")
	line("  nanoclaw:")
	line("    runtime: docker")
	line("    agent: claude")
	line("    image: %s", quote(p.image))
	if p.idle > 0 {
		line("    idle_timeout: %dms", p.idle.Milliseconds())
	}
	if p.turn > 0 {
		line("    turn_timeout: %dms", p.turn.Milliseconds())
	}
	credentials := p.credentials
	if len(credentials) == 0 {
		credentials = []string{"ANTHROPIC_API_KEY"}
	}
	line("    # Secrets come from the environment that the host is started in:")
	line("    # env:")
	for _, key := range credentials {
		line("    #   %s: ${%s}", key, key)
	}
}

func renderGroup(line func(string, ...any), g Group) {
	line("  - name: %s", quote(cmp.Or(g.Name, g.Folder)))
	line("    folder: %s", quote(g.Folder))
	line("    chat: %s", quote(g.Chat))
	line("    assistant: nanoclaw")
	if g.Trigger != "" {
		line("    trigger: %s", quote(g.Trigger))
	}
	if g.Main {
		line("    main: true")
	}
	if len(g.Mounts) > 0 {
		line("    mounts:")
	}
	for _, m := range g.Mounts {
		line("      - name: %s\n        host: %s\n        write: %t", quote(m.Name), quote(m.Host), m.Write)
	}
}

// quote returns s as a JSON string.
func quote(s string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // impossible: a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}
