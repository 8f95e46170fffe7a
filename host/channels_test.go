package main

import (
	"reflect"
	"regexp"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
)

// TestEveryPlatformIsWhole looks at what a platform says of itself to the commands.
func TestEveryPlatformIsWhole(t *testing.T) {
	chats := []groups.JID{"web:family", "120363000000000000@g.us", "push:desk", "slack:C024BE91L", "tg:42", "dc:1"}
	key := regexp.MustCompile(`^[a-z][a-z0-9]*$`)
	seen := map[string]bool{}
	owned := map[groups.JID]string{}
	for _, p := range platforms() {
		if !key.MatchString(p.Key()) || seen[p.Key()] {
			t.Errorf("key %q", p.Key())
		}
		seen[p.Key()] = true
		n := len(owned)
		for _, chat := range chats {
			if !p.Owns(chat) {
				continue
			}
			if other, twice := owned[chat]; twice {
				t.Errorf("%s is of %s and of %s", chat, other, p.Key())
			}
			owned[chat] = p.Key()
		}
		if len(owned) == n {
			t.Errorf("%s has none of the chats %v: add one of its own", p.Key(), chats)
		}
		if p.Help() == "" {
			t.Errorf("%s has no help", p.Key())
		}
		settings := reflect.TypeOf(p.Settings())
		if settings.Kind() != reflect.Pointer || settings.Elem().Kind() != reflect.Struct {
			t.Fatalf("settings of %s are %s", p.Key(), settings)
		}
		for field := range settings.Elem().Fields() {
			if field.Tag.Get("yaml") == "" || field.Tag.Get("help") == "" {
				t.Errorf("%s: the tags of %s have no yaml or no help", p.Key(), field.Name)
			}
		}
		if linker, ok := p.(channel.Linker); ok {
			if a := linker.Account(); a.Pair == "" || a.About == "" || a.Scan != "" && a.Unpair == "" {
				t.Errorf("account of %s: %+v", p.Key(), a)
			}
		}
	}
}
