package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/web"
	"github.com/longshore-bridge/longshore/host/channel/whatsapp"
	"github.com/longshore-bridge/longshore/media"
)

// configuredChannels makes the channels of longshore.yaml.
func configuredChannels(cfg *groups.Config, registry *groups.Registry, opts hostOptions) ([]channel.Channel, error) {
	var all []channel.Channel
	if w := cfg.Channels.Web; w != nil {
		var chats []web.Chat
		for _, g := range registry.All() {
			if g.Chat.Channel() == "web" {
				chats = append(chats, web.Chat{JID: g.Chat, Name: g.Name})
			}
		}
		c, err := web.New(web.Options{
			Dir: cfg.Layout().Channel("web"), Listen: w.Listen, Token: w.Token.Reveal(), Hosts: hostsOf(w.URL),
			Chats: chats, AssistantName: cfg.Name, MaxUpload: int64(w.Upload), KeepFree: int64(cfg.Limits.FreeDisk), Log: opts.log,
			Keep: w.Keep.Std(), Quota: int64(w.History), Roll: w.History > 0,
		})
		if err != nil {
			return nil, fmt.Errorf("channel %w", err) // it begins with its name
		}
		all = append(all, c)
	}
	if cfg.Channels.WhatsApp != nil {
		c, err := newWhatsApp(cfg, opts.log, opts.whatsapp)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// newWhatsApp makes the WhatsApp channel that the configuration describes.
// client is how it reaches WhatsApp; nil is as its library does.
func newWhatsApp(cfg *groups.Config, log *slog.Logger, client *http.Client) (*whatsapp.WhatsApp, error) {
	w := cfg.Channels.WhatsApp
	limits := whatsapp.DefaultLimits()
	for kind, size := range w.Files {
		l := limits.Kinds[media.Kind(kind)]
		l.Bytes = size
		limits.Kinds[media.Kind(kind)] = l
	}
	chats := []groups.JID{}
	for _, g := range cfg.Groups {
		if g.Chat.Channel() == "whatsapp" {
			chats = append(chats, g.Chat)
		}
	}
	return whatsapp.New(whatsapp.Options{
		Dir: cfg.Layout().Store(), DeviceName: w.Device, Chats: chats, Limits: limits, Log: log, HTTPClient: client,
		Reserve: (&scratch{dir: cfg.State, keep: int64(cfg.Limits.FreeDisk)}).reserve,
		Rates: whatsapp.Rates{
			ChatPerMinute: float64(w.Rate.PerMinute), ChatBurst: w.Rate.Burst,
			AccountPerMinute: float64(w.Account.PerMinute), AccountBurst: w.Account.Burst,
		},
	})
}

// hostsOf is the name that a public URL gives the page, if there is one.
func hostsOf(public string) []string {
	u, err := url.Parse(public)
	if err != nil || u.Host == "" {
		return nil
	}
	return []string{u.Host}
}
