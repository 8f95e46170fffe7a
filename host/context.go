package main

import (
	"context"
	"reflect"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// contextEvery is how often the channels are asked whether what the agents
// were told still holds. Nothing is written while it does.
const contextEvery = 2 * time.Second

// tellContexts keeps each group's context.json true until ctx is done.
func (h *host) tellContexts(ctx context.Context) error {
	told := map[string]ipc.Context{}
	tick := time.NewTicker(contextEvery)
	defer tick.Stop()
	for {
		for _, g := range h.registry.All() {
			c := h.contextOf(g)
			if reflect.DeepEqual(c, told[g.Folder]) {
				continue
			}
			told[g.Folder] = c
			c.Time = time.Now()
			if err := h.spool.WriteContext(g.Folder, c); err != nil {
				h.opts.log.Error("write context", "group", g.Folder, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// contextOf is what a group's tools may tell its agent.
func (h *host) contextOf(g groups.Group) ipc.Context {
	c := ipc.Context{
		Group: g.Name, Folder: g.Folder, Main: g.Main, Chat: string(g.Chat),
		Limits: map[string]int64{}, Captions: map[string]int{}, Host: versionText(),
	}
	if ch := h.channelOf(g.Chat); ch != nil {
		c.Channel = ch.Name()
		c.Connected = connected(ch)
		limits := ch.Limits().Tighten(g.Limits)
		c.Text = limits.Text
		for _, k := range []media.Kind{media.Image, media.Video, media.Audio, media.Voice, media.Sticker, media.Document} {
			c.Limits[string(k)] = limits.Kinds[k].Bytes
			c.Captions[string(k)] = limits.Kinds[k].Caption
		}
	}
	if g.Main {
		for _, other := range h.registry.All() {
			c.Chats = append(c.Chats, ipc.ChatInfo{Chat: string(other.Chat), Name: other.Name})
		}
	}
	for _, m := range h.mounts[g.Folder].Mounts() {
		c.Mounts = append(c.Mounts, ipc.ContextMount{Path: m.Container, ReadOnly: m.ReadOnly, Shadow: m.Shadow})
	}
	return c
}

// connected is true of a channel that has no connection to speak of.
func connected(c channel.Channel) bool {
	s, ok := c.(channel.Status)
	if !ok {
		return true
	}
	up, _ := s.Connected()
	return up
}
