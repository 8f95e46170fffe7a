package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/setting"
	"github.com/longshore-bridge/longshore/internal/near"
)

// Channel is one entry below channels:.
type Channel struct {
	Name     string
	Platform channel.Platform `json:"-"`
	Settings channel.Settings
}

// Channels are the chat platforms to connect to, in the order of the table of
// platforms.
type Channels []Channel

// Carries reports whether the channel carries a group's chat.
func (c Channel) Carries(g groups.Group) bool {
	return g.Channel == c.Name
}

// Named finds the channel of that name.
func (c Channels) Named(name string) (Channel, bool) {
	i := slices.IndexFunc(c, func(one Channel) bool { return one.Name == name })
	if i < 0 {
		return Channel{}, false
	}
	return c[i], true
}

// MarshalYAML writes the channels as they stand in the file.
func (c Channels) MarshalYAML() (any, error) {
	all := yaml.MapSlice{}
	for _, one := range c {
		settings, err := one.withType()
		if err != nil {
			return nil, err
		}
		all = append(all, yaml.MapItem{Key: one.Name, Value: settings})
	}
	return all, nil
}

// withType returns the settings as they stand in the file, with the type of a channel that has a
// name of its own.
func (c Channel) withType() (any, error) {
	if c.Name == c.Platform.Key() {
		return c.Settings, nil
	}
	text, err := yaml.Marshal(c.Settings)
	if err != nil {
		return nil, fmt.Errorf("encode channel %s: %w", c.Name, err)
	}
	var keys yaml.MapSlice
	if err := yaml.Unmarshal(text, &keys); err != nil {
		return nil, fmt.Errorf("encode channel %s: %w", c.Name, err)
	}
	return slices.Insert(keys, 0, yaml.MapItem{Key: typeKey, Value: c.Platform.Key()}), nil
}

// typeKey names the platform of a channel that has a name of its own.
const typeKey = "type"

// channels puts node into all: an entry for each key.
func (s *source) channels(key string, node ast.Node, all *Channels) {
	if entriesOf(node) == nil && node.Type() != ast.NullType && node.Type() != ast.MappingType {
		s.mismatch(key, node, reflect.TypeFor[Channels]())
	}
	for _, entry := range entriesOf(node) {
		name := entry.Key.GetToken()
		at := key + "." + name.Value
		s.note(at, name.Position, entry.Value, false)
		platform, settings, ok := s.platformOf(at, name, entry.Value)
		if !ok {
			continue
		}
		one := Channel{Name: name.Value, Platform: platform, Settings: platform.Settings()}
		s.value(at, settings, reflect.ValueOf(one.Settings).Elem(), "")
		*all = append(*all, one)
	}
	slices.SortStableFunc(*all, func(a, b Channel) int { return s.rank(a) - s.rank(b) })
}

// platformOf is the platform of one entry: the one of the entry's name, or the one
// that its type names. The settings are node without the type.
func (s *source) platformOf(at string, name *token.Token, node ast.Node) (p channel.Platform, settings ast.Node, ok bool) {
	if p, ok = s.platform(name.Value); ok {
		return p, node, true
	}
	entries := entriesOf(node)
	i := slices.IndexFunc(entries, func(e *ast.MappingValueNode) bool { return e.Key.GetToken().Value == typeKey })
	if i < 0 {
		known := s.platformKeys()
		s.badAt(name.Position, "", fmt.Sprintf("unknown key %q", name.Value),
			near.Hint(name.Value, known, "known here: "+strings.Join(known, ", ")+"; a channel with another name has one of them as its type:"))
		return p, nil, false
	}
	kind := entries[i]
	s.note(at+"."+typeKey, kind.Key.GetToken().Position, kind.Value, true)
	if p, ok = s.platform(scalarText(kind.Value)); !ok {
		s.oneOf(at+"."+typeKey, scalarText(kind.Value), s.platformKeys(), "no platform of this program", "use ")
		return p, nil, false
	}
	rest := slices.Delete(slices.Clone(entries), i, i+1)
	return p, &ast.MappingNode{BaseNode: &ast.BaseNode{}, Start: kind.Key.GetToken(), Values: rest}, true
}

func (s *source) platform(key string) (channel.Platform, bool) {
	i := slices.IndexFunc(s.platforms, func(p channel.Platform) bool { return p.Key() == key })
	if i < 0 {
		return nil, false
	}
	return s.platforms[i], true
}

func (s *source) platformKeys() (keys []string) {
	for _, p := range s.platforms {
		keys = append(keys, p.Key())
	}
	slices.Sort(keys)
	return keys
}

// rank is the place of a channel's platform in the table.
func (s *source) rank(c Channel) int {
	return slices.IndexFunc(s.platforms, func(p channel.Platform) bool { return p.Key() == c.Platform.Key() })
}

// channels checks the channels; without any in the file, the first platform of
// the table is on.
func (c *checker) channels() {
	if !c.has("channels") && len(c.platforms) > 0 {
		first := c.platforms[0]
		c.cfg.Channels = Channels{{Name: first.Key(), Platform: first, Settings: first.Settings()}}
	}
	if len(c.cfg.Channels) == 0 {
		c.bad("channels", "no channel is named", "write "+strings.Join(c.platformKeys(), ": or ")+": below it, or leave channels: out")
	}
	for _, one := range c.cfg.Channels {
		if one.Name != one.Platform.Key() {
			c.channelName(one.Name)
		}
		one.Settings.Check(settingsOf{c, "channels." + one.Name})
	}
}

// namePattern is the form of a channel's name, which is also a directory's name and
// an argument of commands.
var namePattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// channelName checks the name of a channel that is not its platform's.
func (c *checker) channelName(name string) {
	key := "channels." + name
	if !namePattern.MatchString(name) {
		c.badKey(key, fmt.Sprintf("%q is no name of a channel", name), "use 1 to 32 lower-case letters, digits and -, beginning with a letter")
	}
	if name == "outbox" || name == "state" {
		c.badKey(key, fmt.Sprintf("%q is the name of a store of the host's own", name), "give the channel another name")
	}
}

// carrier finds the channel that carries a group's chat, and sets it in the group.
// It stays empty if no configured channel has chats of that form.
func (c *checker) carrier(key string, g *groups.Group) {
	if g.Channel != "" {
		if one, ok := c.cfg.Channels.Named(g.Channel); !ok {
			names := c.cfg.Channels.names()
			c.bad(key+".channel", fmt.Sprintf("there is no channel %q", g.Channel), near.Hint(g.Channel, names, "the channels are "+strings.Join(names, ", ")))
		} else if !one.Platform.Owns(g.Chat) {
			c.bad(key+".channel", fmt.Sprintf("%s has no chat in the form %s", g.Channel, g.Chat), "name another channel, or write the chat as "+one.Platform.Key()+" does")
		}
		return
	}
	var could Channels
	for _, one := range c.cfg.Channels {
		if one.Platform.Owns(g.Chat) {
			could = append(could, one)
		}
	}
	if len(could) > 1 {
		c.bad(key+".channel", "more than one channel could carry "+string(g.Chat), "add channel: with one of "+strings.Join(could.names(), ", "))
	} else if len(could) == 1 {
		g.Channel = could[0].Name
	}
}

// ofNoPlatform reports whether the part before a chat's colon is the key of no
// platform, as in "wbe:family".
func (c *checker) ofNoPlatform(chat groups.JID) bool {
	return chat.Prefix() != "" && !slices.ContainsFunc(c.platforms, func(p channel.Platform) bool { return p.Owns(chat) })
}

func (c Channels) names() (names []string) {
	for _, one := range c {
		names = append(names, one.Name)
	}
	return names
}

// settingsOf is the checker of one channel's settings.
type settingsOf struct {
	*checker
	channel string // its key
}

func (s settingsOf) at(key string) string { return s.channel + "." + key }
func (s settingsOf) Has(key string) bool  { return s.has(s.at(key)) }

// Bad refuses the file. What is wrong with a secret, which the file does not have, keeps the channel down.
func (s settingsOf) Bad(key, message, hint string) {
	if at := s.at(key); s.secrets[at] && (s.has(at) || s.has(at+"_file")) {
		s.down(at, message, hint)
		return
	}
	s.bad(s.at(key), message, hint)
}
func (s settingsOf) Secret(key string, value *setting.Secret, file string) {
	s.token(s.at(key), value, file)
}
