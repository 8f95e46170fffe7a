package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/longshore-bridge/longshore/groups"
)

// joining returns those of the registered groups that the operator lets be served: register.chats
// has their chats. A group that the file itself has goes before. They have the assistant that
// register says, or the main group's.
func (c *Config) joining(registered []groups.Group) (all []groups.Group) {
	var main groups.Group
	folders, chats := map[string]bool{}, map[groups.JID]bool{}
	for _, g := range c.Groups {
		folders[strings.ToLower(g.Folder)], chats[g.Chat] = true, true
		if g.Main {
			main = g
		}
	}
	for _, g := range registered {
		if folders[strings.ToLower(g.Folder)] || chats[g.Chat] || !c.Register.Allows(g.Chat) {
			continue
		}
		g.Assistant = cmp.Or(c.Register.Assistant, main.Assistant)
		all = append(all, g)
	}
	return all
}

// conform checks the forms of the groups from index own on, which the decoder has not seen.
func (c *Config) conform(own int) {
	for i, g := range c.Groups[own:] {
		for field, value := range reflect.ValueOf(g).Fields() {
			if value.Kind() == reflect.String && value.Len() > 0 {
				c.source.conforms(fmt.Sprintf("groups[%d].%s", own+i, field.Tag.Get("yaml")), value, field.Tag)
			}
		}
	}
}

// leaveOut parses the file again without those of the registered groups, which begin at index
// own, that something is wrong with; without all of them if it is not known with which.
func (c *Config) leaveOut(own int, parse func([]groups.Group) (*Config, error)) (*Config, error) {
	registered, left := c.Groups[own:], map[string]*Problem{}
	for _, p := range c.source.problems {
		rest, of := strings.CutPrefix(p.Key, "groups[")
		number, _, _ := strings.Cut(rest, "]")
		if i, err := strconv.Atoi(number); of && err == nil && i >= own && i < len(c.Groups) && left[c.Groups[i].Folder] == nil {
			left[c.Groups[i].Folder] = p
		}
	}
	if len(left) == 0 {
		for _, g := range registered {
			left[g.Folder] = c.source.problems[0]
		}
	}
	next, err := parse(slices.DeleteFunc(slices.Clone(registered), func(g groups.Group) bool { return left[g.Folder] != nil }))
	if err != nil {
		return next, err // what is wrong with the file itself
	}
	if next.LeftOut == nil {
		next.LeftOut = map[string]*Problem{}
	}
	for _, g := range registered {
		if p := left[g.Folder]; p != nil {
			next.LeftOut[g.Folder] = p
			next.Warnings = append(next.Warnings, next.Problem("groups", fmt.Sprintf("the registered group %s is left out: %s", g.Folder, p.Message), p.Hint))
		}
	}
	return next, nil
}
