package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/media"
)

// Changes is what is different in a configuration from the one that is in force.
type Changes struct {
	Lines   []string   // for people; no value of them is a secret
	Restart []*Problem // the keys that a running host cannot take up, each in the file's order
}

// Compare lists the differences between next and the configuration in force.
func Compare(now, next *Config) Changes {
	c := &comparison{next: next}
	if next.source != nil && len(next.source.positions) == 0 { // whoever saves it has emptied it first
		c.restart("", "the file holds no key")
		c.Restart[0].Hint = "a running host does not take that for the end of all its groups; reload once the file is written"
		return c.Changes
	}
	for _, key := range differ("", *now, *next) {
		words, told := map[string]string{
			"name":          "assistants are called " + next.Name,
			"direct":        "direct: " + next.Direct,
			"transcription": fmt.Sprintf("transcription: %d ways to turn voice notes into text", len(next.Transcription)),
			"timezone":      "timezone: " + next.Timezone,
			"register":      "register: what the main group may register",
			"destinations":  "destinations: chats without an assistant to which groups may send",
			"notify":        "notify: where the host tells of its faults",
			"approval":      "approval: which members are asked for approvals",
			"audit":         "audit: what the trail holds, and for how long",
			"backup":        "backup: where the state is copied once a day, and how many copies stay",
			"prices":        "prices: what models cost",
			"screen":        "screen: which files may not leave",
			"mounts":        "mounts: what groups may mount",
		}[key]
		switch {
		case slices.Contains(fixedKeys(next), key):
			c.restart(key, "this cannot change while the host runs")
		case told && (key != "audit" || len(c.below(key, &now.Audit, &next.Audit)) > 0):
			c.say("%s", words)
		}
	}
	c.channels(now.Channels, next.Channels)
	c.assistants(now.Assistants, next.Assistants)
	for _, key := range differ("limits", now.Limits, next.Limits) {
		if key == "limits.files" {
			c.say("limits.files changed")
			continue
		}
		c.say("%s: %v, was %v", key, valueAt(next.Limits, key), valueAt(now.Limits, key))
	}
	c.groups(now, next)
	slices.SortStableFunc(c.Restart, func(a, b *Problem) int { return cmp.Compare(a.Line, b.Line) })
	return c.Changes
}

type comparison struct {
	Changes
	next *Config
}

func (c *comparison) say(format string, args ...any) {
	c.Lines = append(c.Lines, media.Printable(fmt.Sprintf(format, args...)))
}

func (c *comparison) restart(key, message string) {
	c.Restart = append(c.Restart, c.next.Problem(key, message, "restart the host; until then nothing of the new file is applied"))
}

func (c *comparison) channels(now, next Channels) {
	for _, had := range now {
		if _, there := next.Named(had.Name); !there {
			c.restart("channels", fmt.Sprintf("channel %s cannot be removed while the host runs", had.Name))
		}
	}
	for _, one := range next {
		key := "channels." + one.Name
		had, there := now.Named(one.Name)
		switch {
		case !there:
			c.restart(key, "a channel cannot be added while the host runs")
			continue
		case had.Platform.Key() != one.Platform.Key():
			c.restart(key, "a channel's type cannot change while the host runs")
			continue
		}
		if keys := differ("", deref(had.Settings), deref(one.Settings)); len(keys) > 0 {
			c.say("channel %s changed: %s", one.Name, strings.Join(keys, ", "))
		}
	}
}

// Anew reports whether the channel cannot take up the settings of next, nor those of a channel of
// another platform: it is made anew.
func (c Channel) Anew(next Channel) bool {
	if c.Platform == nil || c.Platform.Key() != next.Platform.Key() {
		return true
	}
	fixed := fixedKeys(next.Settings)
	return slices.ContainsFunc(differ("", deref(c.Settings), deref(next.Settings)), func(key string) bool { return slices.Contains(fixed, key) })
}

// below compares the structs at a key, to which now and next point. It returns the keys
// that a running host takes up, and notes the others as problems.
func (c *comparison) below(key string, now, next any) (taken []string) {
	fixed := fixedKeys(next)
	for _, setting := range differ("", deref(now), deref(next)) {
		if !slices.Contains(fixed, setting) {
			taken = append(taken, setting)
			continue
		}
		if c.next.has(key + "." + setting + "_file") { // its value is read from there
			setting += "_file"
		}
		c.restart(key+"."+setting, "this cannot change while the host runs")
	}
	return taken
}

func (c *comparison) assistants(now, next map[string]Assistant) {
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, there := next[name]; !there {
			c.say("assistant %s removed", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		if had, there := now[name]; !there {
			c.say("assistant %s added", name)
		} else if keys := differ("", had, next[name]); len(keys) > 0 {
			c.say("assistant %s changed: %s", name, strings.Join(keys, ", "))
		}
	}
}

func (c *comparison) groups(now, next *Config) {
	had := byFolder(now.Groups)
	for _, g := range next.Groups {
		before, there := had[g.Folder]
		delete(had, g.Folder)
		if !there {
			c.say("group %s added: %s", g.Folder, string(g.Chat))
			continue
		}
		// What a group has of limits: is told there.
		if !reflect.DeepEqual(now.Limits.Files, next.Limits.Files) {
			before.Limits = g.Limits
		}
		if now.Limits.Rate != next.Limits.Rate {
			before.Rate = g.Rate
		}
		if keys := differ("", before, g); len(keys) > 0 {
			c.say("group %s changed: %s", g.Folder, strings.Join(keys, ", "))
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(had)) {
		c.say("group %s removed: its assistant is ended, and what it had accepted is still sent", folder)
	}
}

func byFolder(all []groups.Group) map[string]groups.Group {
	m := map[string]groups.Group{}
	for _, g := range all {
		m[g.Folder] = g
	}
	return m
}

// deref returns the struct to which a pointer, such as a platform's settings, points.
func deref(pointer any) any { return reflect.Indirect(reflect.ValueOf(pointer)).Interface() }

// differ returns the keys, below prefix, whose values differ between two structs of
// one type. With a prefix, it looks into nested structs, too.
func differ(prefix string, a, b any) (keys []string) {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		field := x.Type().Field(i)
		key := field.Tag.Get("yaml")
		if !field.IsExported() || key == "-" || reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			continue
		}
		if prefix != "" {
			key = prefix + "." + key
			if field.Type.Kind() == reflect.Struct {
				keys = append(keys, differ(key, x.Field(i).Interface(), y.Field(i).Interface())...)
				continue
			}
		}
		keys = append(keys, key)
	}
	return keys
}

// valueAt returns the value of a key that differ returned.
func valueAt(v any, key string) any {
	at := reflect.ValueOf(v)
	for _, name := range strings.Split(key, ".")[1:] {
		field, _ := fieldOf(at.Type(), name)
		at = at.FieldByIndex(field.Index)
	}
	return at.Interface()
}

// fixedKeys returns the keys of a struct that a running host cannot change.
func fixedKeys(of any) (keys []string) {
	for field := range reflect.TypeOf(of).Elem().Fields() {
		if field.Tag.Get("restart") != "" {
			keys = append(keys, field.Tag.Get("yaml"))
		}
	}
	return keys
}

// Problem is one with the value at key, found after the file was read. A
// configuration that was not read from text has no lines.
func (c *Config) Problem(key, message, hint string) *Problem {
	if c.source == nil {
		return &Problem{File: c.File, Key: key, Message: message, Hint: hint}
	}
	p := c.source.problem(key, message, hint)
	p.excerpt = c.source.excerpt(p.Line, p.Column)
	return p
}

// Forget lets go of the text that the configuration was read from, which is larger
// than the configuration itself. A later Problem has no lines.
func (c *Config) Forget() { c.source = nil }

func (c *Config) has(key string) bool { return c.source != nil && c.source.has(key) }
