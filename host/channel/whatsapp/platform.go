package whatsapp

import (
	"context"
	"errors"
	"slices"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/pace"
	"github.com/longshore-bridge/longshore/host/channel/transfer"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp/device"
	stores "github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/confine"
	"github.com/longshore-bridge/longshore/media"
)

// Net is how WhatsApp is reached, which only tests set.
type Net struct{ Network transfer.Network }

// Platform returns WhatsApp for the host's table.
func Platform(net Net) channel.Platform { return platform{net} }

type platform struct{ net Net }

func (platform) Key() string                { return platformKey }
func (platform) Help() string               { return "A linked device of a WhatsApp account." }
func (platform) Owns(chat groups.JID) bool  { return chat.Channel() == platformKey }
func (platform) Dir(l groups.Layout) string { return l.Store() }

func (platform) Stores(s channel.Setup) []stores.Spec {
	return []stores.Spec{device.Spec(s.Name, s.Dir, s.Home, s.Server)}
}

// Account implements channel.Linker.
func (platform) Account() channel.Account {
	return channel.Account{
		Pair: "link this host to a WhatsApp account",
		About: `whatsapp shows a QR code, in the terminal where it fits and on a page of this
machine, to be scanned on the phone under Settings, Linked devices. With --phone
it asks for a code instead, to be typed in on the phone. A host that is running
goes on by itself once the account is linked.`,
		Unpair: "unlink this host from its WhatsApp account and forget its keys",
		Scan:   "scan the code on the phone, under Settings, Linked devices",
		Type:   "type this code on the phone, under Settings, Linked devices, Link with phone number",
	}
}

// Guide implements channel.Linker: the account is a person's own, and exists already.
func (platform) Guide(string) string { return "" }

// Settings are a linked device of somebody's account; "longshore pair
// whatsapp" links it.
type Settings struct {
	Device  string            `yaml:"device" restart:"true" form:"label" help:"As the phone lists it under linked devices."`
	Files   groups.KindLimits `yaml:"files" restart:"true" help:"Bytes per kind of file, instead of what its apps take."`
	Rate    groups.Rate       `yaml:"rate" help:"Messages to one chat."`
	Account groups.Rate       `yaml:"account" help:"Messages to all chats together."`
}

// Settings returns the settings of an empty block.
func (platform) Settings() channel.Settings {
	return &Settings{
		Device:  "Longshore",
		Rate:    groups.Rate{PerMinute: 12, Burst: 10},
		Account: groups.Rate{PerMinute: 30, Burst: 20},
	}
}

// Check has nothing to check beyond the form.
func (s *Settings) Check(channel.Checker) {}

// Limits returns the limits that follow from the settings.
func (s *Settings) Limits() media.Limits {
	limits := DefaultLimits()
	for kind, size := range s.Files {
		l := limits.Kinds[media.Kind(kind)]
		l.Bytes = size
		limits.Kinds[media.Kind(kind)] = l
	}
	return limits
}

func (s *Settings) rates() pace.Rates {
	return pace.Rates{Chat: pace.Of(s.Rate), Account: pace.Of(s.Account)}
}

// chatsOf returns the chats of the groups. It is never nil, which would mean all.
func chatsOf(s channel.Setup) []groups.JID {
	chats := []groups.JID{}
	for _, c := range s.Chats {
		chats = append(chats, c.JID)
	}
	return chats
}

// Apply implements channel.Applier.
func (w *WhatsApp) Apply(s channel.Setup) {
	chats := chatsOf(s)
	w.chats.Store(&chats)
	w.pacer.Set(s.Settings.(*Settings).rates())
}

// isRegistered reports whether a chat is registered for a group.
func (w *WhatsApp) isRegistered(chat groups.JID) bool {
	chats := *w.chats.Load()
	return chats == nil || slices.Contains(chats, chat)
}

// New makes the channel from its settings.
func (p platform) New(s channel.Setup) (channel.Channel, error) {
	set := s.Settings.(*Settings)
	w, err := New(Options{
		Name: s.Name, Dir: s.Dir, Home: s.Home, Server: s.Server, State: s.State, DeviceName: set.Device, Chats: chatsOf(s), Limits: set.Limits(), Log: s.Log,
		Network: p.net.Network, Tools: confine.Mode(s.Tools), Host: s.Host,
		Rates: set.rates(),
	})
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Link links an account, and returns its name.
func (platform) Link(ctx context.Context, c channel.Channel, p channel.Pairing) (string, error) {
	w := c.(*WhatsApp)
	err := w.Pair(ctx, PairOptions{Phone: p.Phone, Show: p})
	jid, _ := w.Paired()
	if errors.Is(err, ErrPaired) {
		return "", &channel.LinkedError{Account: jid}
	}
	return jid, err
}
