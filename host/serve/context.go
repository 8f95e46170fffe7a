package serve

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/live"
	"github.com/longshore-bridge/longshore/internal/wake"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/media"
)

// contextEvery is how often the channels are asked whether they are connected. If that changes, the
// contexts of their groups are written again.
const contextEvery = 2 * time.Second

// contexts writes each group's context.json, which the tools in its container read.
type contexts struct {
	noClose
	h *Host
}

// openContexts writes the first snapshots before any part runs: parts that change tasks write newer
// ones, which an older one must not replace.
func (h *Host) openContexts(context.Context) (Part, error) {
	h.tellSnapshots("")
	return contexts{h: h}, nil
}

func (p contexts) Apply(*live.Live) {
	for _, c := range p.h.Channels {
		p.h.tellContextsOf(c)
	}
	p.h.tellSnapshots("")
}

// Run keeps each group's context.json true until ctx is done.
func (p contexts) Run(ctx context.Context) error {
	h := p.h
	select { // requests come first
	case <-ctx.Done():
	case <-h.spool.Listed():
	case <-time.After(contextEvery):
	}
	up := map[string]bool{} // by channel; missing: not written yet
	for rested := false; ; {
		told := false
		for _, c := range h.Channels {
			now := connected(c)
			if before, known := up[c.Name()]; known && before == now {
				continue
			}
			up[c.Name()], told = now, true
			h.tellContextsOf(c)
		}
		if !told && !rested {
			debug.FreeOSMemory() // a start takes two to three times what is needed later
			rested = true
		}
		if !wake.Sleep(ctx, contextEvery) {
			return nil
		}
	}
}

// tellContextsOf writes the contexts of all groups on one channel.
func (h *Host) tellContextsOf(c channel.Channel) {
	for _, g := range h.Registry().All() {
		if g.Channel != c.Name() {
			continue
		}
		if err := h.spool.WriteContext(g.Folder, h.contextOf(g)); err != nil {
			h.opts.Log.Error("write context", "group", g.Folder, "error", err)
		}
		runtime.Gosched() // requests come first
	}
}

// contextOf returns what a group's tools may tell its agent.
func (h *Host) contextOf(g groups.Group) ipc.Context {
	c := ipc.Context{
		Group: g.Name, Folder: g.Folder, Main: g.Main, Chat: string(g.Chat),
		Limits: map[string]int64{}, Captions: map[string]int{}, Types: map[string][]string{}, Host: h.opts.Version, Time: time.Now(),
		Claude: h.AssistantOf(g).ClaudeChannel,
	}
	if ch := channel.Named(h.Channels, g.Channel); ch != nil {
		c.Channel = ch.Name()
		c.Connected = connected(ch)
		c.Converts = h.converts
		c.Can = []string{} // in JSON an empty list, not a missing one
		for _, a := range bridge.Can(ch, g) {
			c.Can = append(c.Can, string(a))
		}
		c.Can = append(c.Can, h.callsOf(g)...)
		limits := ch.Limits().Tighten(g.Limits)
		c.Links = h.linksToTell()
		c.Text, c.LargeAsDocument = limits.Text, limits.LargeAsDocument
		for _, k := range []media.Kind{media.Image, media.Video, media.Audio, media.Voice, media.Sticker, media.Document} {
			c.Limits[string(k)] = limits.Kinds[k].Bytes
			c.Captions[string(k)] = limits.Kinds[k].Caption
			if types := limits.Kinds[k].MIME; len(types) > 0 {
				c.Types[string(k)] = types
			}
		}
	}
	if g.Main || len(g.MaySendTo) > 0 {
		registry := h.Registry()
		for _, other := range registry.All() {
			if !g.Reaches(other.Folder) {
				continue
			}
			c.Chats = append(c.Chats, ipc.ChatInfo{Chat: registry.NameOf(other), Name: other.Name, Channel: other.Channel})
		}
		names, all := registry.Destinations(g)
		for _, name := range names {
			c.Chats = append(c.Chats, ipc.ChatInfo{Chat: name, Name: string(all[name].Chat), Channel: all[name].Channel})
		}
	}
	seen, _ := mounts.Table(h.Layout, g)
	for _, m := range seen {
		c.Mounts = append(c.Mounts, ipc.ContextMount{Path: m.Container, ReadOnly: m.ReadOnly, Shadow: m.Shadow})
	}
	return c
}

// linksToTell returns what tools may tell of links; nil if no channel offers them.
func (h *Host) linksToTell() *ipc.ContextLinks {
	terms, ok := h.LinkTerms()
	if !ok {
		return nil
	}
	return &ipc.ContextLinks{MaxBytes: terms.Largest, Seconds: int64(terms.For / time.Second)}
}

// connected reports whether a channel is connected; true if it has no connection.
func connected(c channel.Channel) bool {
	s, ok := channel.Current(c).(channel.Status)
	if !ok {
		return true
	}
	up, _ := s.Connected()
	return up
}
