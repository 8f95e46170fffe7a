package bridge_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/channeltest"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/ipc"
)

// site is a bridge with everything real around it but the platform.
type site struct {
	*bridge.Bridge
	t      *testing.T
	layout groups.Layout
	outbox *outbox.Outbox
	memory *channeltest.Memory
	opts   bridge.Options
	drops  int
}

func newSite(t *testing.T, change ...func(*outbox.Options)) *site {
	t.Helper()
	state := t.TempDir()
	project := t.TempDir()
	all := []groups.Group{
		{Name: "Family", Folder: "family", Chat: "mem:family"},
		{Name: "Work", Folder: "work", Chat: "mem:work"},
		{Name: "Ops", Folder: "ops", Chat: "mem:ops", Main: true},
		{Name: "Far", Folder: "far", Chat: "tg:77"},
	}
	s := &site{t: t, layout: groups.Layout{State: state, Project: project}}
	registry, err := groups.NewRegistry(all)
	check(t, err)
	check(t, s.layout.Prepare(all))
	s.memory = channeltest.NewMemory(channeltest.Options{Online: true})
	o := outbox.Options{Dir: s.layout.Outbox(), Channels: []channel.Channel{s.memory}}
	for _, c := range change {
		c(&o)
	}
	s.outbox, err = outbox.Open(t.Context(), o)
	check(t, err)
	t.Cleanup(func() { check(t, s.outbox.Close()) })
	s.opts = bridge.Options{Registry: registry, Mounts: map[string]*groups.MountMap{}, Channels: o.Channels, Outbox: s.outbox}
	for _, g := range all {
		m, err := groups.NewMountMap(s.layout, g)
		check(t, err)
		t.Cleanup(func() { check(t, m.Close()) })
		s.opts.Mounts[g.Folder] = m
	}
	s.Bridge = bridge.New(s.opts)
	return s
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write puts a file into a group's workspace and returns its container path.
func (s *site) write(folder, name, content string) string {
	s.t.Helper()
	path := filepath.Join(s.layout.Workspace(folder), filepath.FromSlash(name))
	check(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	check(s.t, os.WriteFile(path, []byte(content), 0o644))
	return "/workspace/group/" + name
}

// drop is a request as the spool would have read it.
func (s *site) drop(r ipc.Request) ipc.Drop {
	s.t.Helper()
	body, err := ipc.Encode(r)
	check(s.t, err)
	s.drops++
	id := fmt.Sprintf("%04d", s.drops)
	return ipc.Drop{Name: id + ".json", ID: id, Body: body, ModTime: time.Unix(int64(s.drops), 0), Request: r}
}

func (s *site) handle(folder string, rs ...ipc.Request) []ipc.Verdict {
	s.t.Helper()
	var drops []ipc.Drop
	for _, r := range rs {
		drops = append(drops, s.drop(r))
	}
	return s.Handle(s.t.Context(), folder, drops)
}

func file(path string) ipc.Request {
	return ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: path}}}
}

// shown runs the outbox until a chat shows n messages.
func (s *site) shown(chat groups.JID, n int) []channeltest.Seen {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.outbox.Run(ctx) }()
	limit, done := context.WithTimeout(ctx, 20*time.Second)
	defer done()
	seen, err := s.memory.WaitShown(limit, chat, n)
	cancel()
	check(s.t, <-ended)
	check(s.t, err)
	return seen
}

func sum(content string) string {
	h := sha256.Sum256([]byte(content))
	return hex.EncodeToString(h[:])
}

func mustCreate(t *testing.T, path string) string {
	t.Helper()
	check(t, os.WriteFile(path, nil, 0o644))
	return path
}
