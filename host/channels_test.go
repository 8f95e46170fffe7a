package main

import (
	"encoding/json"
	"reflect"
	"regexp"
	"testing"

	"github.com/longshore-bridge/longshore/groups"
)

// TestEveryPlatformIsWhole: what one lacks would be a nil call in a command
// that no other platform needs.
func TestEveryPlatformIsWhole(t *testing.T) {
	chats := []groups.JID{"web:family", "120363000000000000@g.us", "push:desk", "slack:C024BE91L", "tg:42", "dc:1"}
	key := regexp.MustCompile(`^[a-z][a-z0-9]*$`)
	seen := map[string]bool{}
	owned := map[groups.JID]string{}
	for _, p := range platforms() {
		if !key.MatchString(p.Key) || seen[p.Key] {
			t.Errorf("key %q", p.Key)
		}
		seen[p.Key] = true
		if p.Form == nil || p.Settings == nil || p.Limits == nil || p.New == nil || p.Stores == nil {
			t.Fatalf("%s lacks something", p.Key)
		}
		n := len(owned)
		for _, chat := range chats {
			if !p.Form(chat) {
				continue
			}
			if other, twice := owned[chat]; twice {
				t.Errorf("%s is of %s and of %s", chat, other, p.Key)
			}
			owned[chat] = p.Key
		}
		if len(owned) == n {
			t.Errorf("%s has none of the chats %v: add one of its own", p.Key, chats)
		}
		var schema struct {
			Description string
			Properties  map[string]struct{ Description string }
		}
		if err := json.Unmarshal(p.Schema, &schema); err != nil || schema.Description == "" {
			t.Errorf("schema of %s: %v, description %q", p.Key, err, schema.Description)
		}
		settings := reflect.TypeOf(p.Settings())
		if settings.Kind() != reflect.Pointer || settings.Elem().Kind() != reflect.Struct {
			t.Fatalf("settings of %s are %s", p.Key, settings)
		}
		for field := range settings.Elem().Fields() {
			if name := field.Tag.Get("yaml"); schema.Properties[name].Description == "" {
				t.Errorf("schema of %s does not describe %q", p.Key, name)
			}
		}
		if n := settings.Elem().NumField(); n != len(schema.Properties) {
			t.Errorf("%s has %d settings, and its schema %d", p.Key, n, len(schema.Properties))
		}
		if a := p.Account; a != nil && (a.Pair == "" || a.About == "" || a.Unpair == "" || a.Scan == "" || a.Link == nil) {
			t.Errorf("account of %s: %+v", p.Key, a)
		}
	}
}
