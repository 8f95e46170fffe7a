package bridge_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/groups/mounts"
	"github.com/longshore-bridge/longshore/host/bridge"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/memory"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/screen"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/ipc"
	"github.com/longshore-bridge/longshore/ipc/spool"
)

// site is a bridge with everything real around it but the platform.
type site struct {
	*bridge.Bridge
	t      *testing.T
	layout groups.Layout
	outbox *outbox.Outbox
	spool  *spool.Spool
	memory *memory.Channel
	opts   bridge.Options
	set    *settings // of every bridge of the site
	asked  int       // requests

	session    string // by which the session that asked knows its permission
	records    outbox.Options
	closeState func()
	turns      told

	refused func(spool.Quarantined, *spool.Item) // may be nil
}

// settings are a bridge.Settings that a test changes as a reload does.
type settings struct {
	registry  *groups.Registry
	mounts    map[string]*mounts.Map
	deny, ask *screen.Screen
	zone      *time.Location
	links     *channel.LinkTerms
	approvers string
	mayAsk    []string // folders
}

func (s *settings) Registry() *groups.Registry          { return s.registry }
func (s *settings) Mounts(folder string) *mounts.Map    { return s.mounts[folder] }
func (s *settings) Screens() (deny, ask *screen.Screen) { return s.deny, s.ask }
func (s *settings) Zone(string) *time.Location          { return s.zone }
func (s *settings) LostFiles() error                    { return nil }
func (s *settings) Wait() time.Duration                 { return time.Minute }
func (s *settings) Approvers() string                   { return s.approvers }
func (s *settings) MayApprove(ids ...string) bool       { return slices.Contains(ids, "U1") }
func (s *settings) MayAsk(folder string) bool           { return slices.Contains(s.mayAsk, folder) }

func (s *settings) LinkTerms() (terms channel.LinkTerms, ok bool) {
	if s.links != nil {
		terms = *s.links
	}
	return terms, s.links != nil
}

// addresses are a bridge.Addresses.
type addresses struct{}

func (addresses) Address(url, id string, _ time.Time) (string, error) {
	return url + "/" + id + "00", nil
}

func newSite(t *testing.T, change ...func(*outbox.Options)) *site {
	t.Helper()
	state := t.TempDir()
	project := t.TempDir()
	all := []groups.Group{
		{Name: "Family", Folder: "family", Chat: "mem:family", Channel: "memory"},
		{Name: "Work", Folder: "work", Chat: "mem:work", Channel: "memory"},
		{Name: "Ops", Folder: "ops", Chat: "mem:ops", Channel: "memory", Main: true},
		{Name: "Far", Folder: "far", Chat: "tg:77"},
	}
	s := &site{t: t, layout: groups.Layout{State: state, Project: project}}
	registry, err := groups.NewRegistry(all)
	check(t, err)
	check(t, s.layout.Prepare(all))
	s.memory = memory.New(memory.Options{Online: true})
	o := outbox.Options{Channels: []channel.Channel{s.memory}}
	o.State, s.closeState = statetest.Start(t, s.layout.Own())
	for _, c := range change {
		c(&o)
	}
	s.records = o
	s.outbox, err = outbox.Open(t.Context(), o)
	check(t, err)
	t.Cleanup(func() { check(t, s.outbox.Close()) })
	s.spool = spool.New(spool.Options{Dir: s.layout.IPCDir(), Folders: []string{"family", "work", "ops", "far"}})
	t.Cleanup(func() { check(t, s.spool.Close()) })
	seen := map[string]*mounts.Map{}
	rules, err := screen.New(nil, nil)
	check(t, err)
	asks, err := screen.New(builtIn(), []screen.Pattern{{Rule: "drafts", Name: `draft`}, {Rule: "confidential", Content: "CONFIDENTIAL"}})
	check(t, err)
	s.set = &settings{registry: registry, mounts: seen, deny: rules, ask: asks}
	s.opts = bridge.Options{Settings: s.set, State: s.set, Channels: o.Channels, Outbox: s.outbox, Spool: s.spool}
	for _, g := range all {
		m, err := mounts.New(s.layout, g)
		check(t, err)
		t.Cleanup(func() { check(t, m.Close()) })
		seen[g.Folder] = m
	}
	s.Bridge = bridge.New(s.opts)
	return s
}

// restart is the end of a host that does not run, and the next one.
func (s *site) restart() {
	s.t.Helper()
	check(s.t, s.outbox.Close())
	s.closeState()
	s.records.State, s.closeState = statetest.Start(s.t, s.layout.Own())
	var err error
	s.outbox, err = outbox.Open(s.t.Context(), s.records)
	check(s.t, err)
	s.opts.Outbox = s.outbox
	s.Bridge = bridge.New(s.opts)
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

// fate is what became of a request in the queue.
type fate struct {
	Accepted bool
	Deferred bool
	Refusal  *ipc.Refusal
}

// handle puts requests into a group's queue and has them carried in one batch.
func (s *site) handle(folder string, rs ...ipc.Request) []fate {
	s.t.Helper()
	var ids []string
	for _, r := range rs {
		s.asked++
		ids = append(ids, fmt.Sprintf("%04d", s.asked))
		s.enqueue(folder, ids[len(ids)-1], r, time.Unix(int64(s.asked), 0))
	}
	s.carry(folder)
	var fates []fate
	for _, id := range ids {
		fates = append(fates, s.fate(folder, id))
	}
	return fates
}

// queued is the path of a request's file.
func (s *site) queued(folder, id string) string {
	return filepath.Join(s.layout.IPC(folder, ipc.MessagesDir), id+".json")
}

func (s *site) enqueue(folder, id string, r ipc.Request, at time.Time) {
	s.t.Helper()
	body, err := ipc.Encode(r)
	check(s.t, err)
	dotted := filepath.Join(filepath.Dir(s.queued(folder, id)), ".new")
	check(s.t, os.WriteFile(dotted, body, 0o644))
	check(s.t, os.Chtimes(dotted, at, at))
	check(s.t, os.Rename(dotted, s.queued(folder, id)))
}

// carry has what lies in a group's queue carried in one batch, after it was
// read and something else was done meanwhile.
func (s *site) carry(folder string, meanwhile ...func()) {
	s.t.Helper()
	spool := spool.New(spool.Options{Dir: s.layout.IPCDir(), Folders: []string{folder}, Poll: true, Refused: s.refused})
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	ran := make(chan error, 1)
	go func() { ran <- spool.Run(ctx) }()
	batch, err := spool.Next(ctx)
	check(s.t, err)
	for _, do := range meanwhile {
		do()
	}
	s.Carry(ctx, batch, &s.turns)
	cancel()
	check(s.t, <-ran)
	check(s.t, spool.Close())
}

func (s *site) fate(folder, id string) fate {
	s.t.Helper()
	_, err := os.Lstat(s.queued(folder, id))
	r, told := s.spool.Result(folder, id)
	switch {
	case err == nil:
		return fate{Deferred: told && r.Status == ipc.Queued}
	case !told:
		return fate{Accepted: true}
	case r.Status == ipc.Refused:
		return fate{Refusal: &ipc.Refusal{Code: r.Code, Message: r.Message, Hint: r.Hint, Parts: r.Parts}}
	}
	s.t.Fatalf("request %s is out of the queue, with the result %+v", id, r)
	panic("unreachable")
}

func file(path string) ipc.Request {
	return ipc.Request{Type: ipc.TypeFile, Files: []ipc.FileRef{{Path: path}}}
}

// shown runs the outbox until a chat shows n messages.
func (s *site) shown(chat groups.JID, n int) []memory.Seen {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.outbox.Run(ctx) }()
	limit, done := context.WithTimeout(ctx, time.Minute)
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

// limited are limits that nobody changes.
func limited(l outbox.Limits) outbox.Settings { return outbox.Fixed{Limits: l} }
