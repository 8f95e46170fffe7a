package engines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/config"
	"github.com/longshore-bridge/longshore/host/runtime"
	"github.com/longshore-bridge/longshore/host/runtime/containertest"
	"github.com/longshore-bridge/longshore/host/runtime/docker"
	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// port is a host with engines on this machine, each a loopback server.
type port struct {
	*Engines
	t     *testing.T
	cfg   *config.Config
	db    *state.DB
	ends  map[string]func() // end an engine
	stops func()            // ends Run
	heard chan string       // of EngineChanged
}

func (p *port) Config() *config.Config { return p.cfg }

func (p *port) EngineChanged(_ context.Context, name string, conn *docker.Engine) {
	p.heard <- fmt.Sprint(name, " ", conn != nil)
}

// newPort has engines of these names, of which those with a + answer.
func newPort(t *testing.T, whenAway string, names ...string) *port {
	t.Helper()
	dir := t.TempDir()
	p := &port{t: t, ends: map[string]func(){}, heard: make(chan string, 100), cfg: &config.Config{
		Engines:    map[string]config.Engine{},
		Assistants: map[string]config.Assistant{"a": {Runtime: "docker", Share: config.ShareNone, WhenAway: whenAway}},
	}}
	for i := range 9 {
		p.cfg.Groups = append(p.cfg.Groups, groups.Group{Folder: fmt.Sprint("g", i), Assistant: "a"})
	}
	for _, name := range names {
		name, up := strings.CutSuffix(name, "+")
		p.cfg.Engines[name] = config.Engine{Socket: filepath.Join(dir, name)}
		if up {
			p.begin(name)
		}
	}
	db, _ := statetest.Start(t, t.TempDir())
	p.db = db
	p.open()
	return p
}

// begin starts an engine.
func (p *port) begin(name string) {
	p.ends[name] = containertest.Docker(p.t, p.cfg.Engines[name].Socket)
}

// open makes the engines of a host that starts on the state, and looks once at each.
func (p *port) open() {
	p.t.Helper()
	p.Engines = New(p.cfg, Options{Host: p, Getenv: func(string) string { return "" }, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if _, err := p.Load(p.t.Context(), p.db, Installation{}); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := p.Close(); err != nil {
			p.t.Error(err)
		}
	})
	p.LookHere(p.t.Context())
}

// place starts a group's assistant where it should run.
func (p *port) place(folder string, running map[string]int) (engine, former string) {
	p.t.Helper()
	at, ok := p.Placement(groups.Group{Folder: folder, Assistant: "a"}, running)
	if !ok {
		return "", "unknown"
	}
	_, err := p.Start(p.t.Context(), at.Engine, folder, func(context.Context, *docker.Engine) (runtime.Session, error) { return nil, nil })
	if err != nil {
		return "", err.Error()
	}
	return at.Engine, at.Former
}

func (p *port) away(name string) {
	p.t.Helper()
	p.ends[name]()
	p.look(p.t.Context(), p.named(name))
}

// since makes an engine's absence longer.
func (p *port) longer(name string, by time.Duration) {
	e := p.named(name)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.since = e.since.Add(-by)
}

func TestAGroupGoesWhereTheFewestRunAndStaysThere(t *testing.T) {
	p := newPort(t, config.AwayWait, "dock+", "quay+")
	var got []string
	for i, running := range []map[string]int{nil, nil, nil, {"dock": 1, "quay": 2}, {"dock": 3, "quay": 2}} {
		engine, _ := p.place(fmt.Sprint("g", i), running)
		got = append(got, engine)
	}
	if diff := cmp.Diff([]string{"dock", "quay", "dock", "dock", "quay"}, got); diff != "" {
		t.Error(diff)
	}
	p.open() // a host that starts anew, or takes over
	for i, want := range got {
		if engine, former := p.place(fmt.Sprint("g", i), map[string]int{want: 9}); engine != want || former != "" {
			t.Errorf("g%d is on %s after a restart, want %s", i, engine, want)
		}
	}
	if _, err := p.Start(t.Context(), "berth", "g0", nil); err == nil {
		t.Error("there is an engine of no name")
	}
}

func TestAnEngineThatIsAwayIsAFindingAndItsGroupsWait(t *testing.T) {
	p := newPort(t, config.AwayWait, "dock+", "quay+")
	p.place("g0", nil)
	p.place("g1", nil)
	if all := p.Findings(t.Context()); len(all) != 0 || p.Away() {
		t.Errorf("all is well, and it finds %+v", all)
	}
	p.away("dock")
	p.longer("dock", time.Hour)
	all := p.Findings(t.Context())
	if len(all) != 1 || all[0].Part != "engine dock" || all[0].Remedy == "" || time.Since(all[0].Since) < time.Hour || !strings.HasSuffix(all[0].Cause, "; there are the workspaces of g0") {
		t.Errorf("%+v", all)
	}
	_, err := p.Start(t.Context(), "dock", "g0", nil)
	if at, ok := p.Placement(p.cfg.Groups[0], nil); !ok || at.Engine != "dock" || !errors.Is(err, runtime.ErrAway) {
		t.Errorf("it goes on at %+v; at dock: %v", at, err)
	}
	for i := 2; i < 5; i++ { // groups without a workspace there do not wait
		if engine, _ := p.place(fmt.Sprint("g", i), nil); engine != "quay" {
			t.Errorf("g%d is on %s", i, engine)
		}
	}
	p.begin("dock")
	p.look(t.Context(), p.named("dock"))
	if engine, former := p.place("g0", nil); engine != "dock" || former != "" || len(p.Findings(t.Context())) != 0 {
		t.Errorf("once it is back, g0 is on %q, from %q: %+v", engine, former, p.Findings(t.Context()))
	}
	close(p.heard)
	var heard []string
	for one := range p.heard {
		heard = append(heard, one)
	}
	if diff := cmp.Diff([]string{"dock false", "dock true"}, heard[2:]); diff != "" {
		t.Error(diff)
	}
}

func TestAGroupMovesFromAnEngineThatStaysAway(t *testing.T) {
	p := newPort(t, config.AwayMove, "dock+", "quay+")
	p.place("g0", nil)
	p.away("dock")
	if at, _ := p.Placement(p.cfg.Groups[0], nil); at.Engine != "dock" {
		t.Errorf("it does not wait for a moment: %+v", at)
	}
	p.longer("dock", moveAfter)
	for len(p.heard) > 0 {
		<-p.heard
	}
	for range 3 {
		p.look(t.Context(), p.named("dock"))
	}
	if len(p.heard) != 1 || <-p.heard != "dock false" {
		t.Error("the host does not hear, once, that groups may leave")
	}
	if engine, former := p.place("g0", map[string]int{"quay": 9}); engine != "quay" || former != "dock" {
		t.Errorf("it is on %q, from %q", engine, former)
	}
	if all := p.Findings(t.Context()); len(all) != 1 || !strings.HasSuffix(all[0].Cause, "; g0 began anew on another engine, without the workspaces there") {
		t.Errorf("%+v", all)
	}
	p.begin("dock")
	p.open()
	if engine, former := p.place("g0", map[string]int{"quay": 9}); engine != "quay" || former != "" {
		t.Errorf("once the other one is back, it is on %q, from %q", engine, former)
	}
	p.away("quay")
	p.away("dock")
	p.longer("quay", moveAfter)
	if at, ok := p.Placement(p.cfg.Groups[0], nil); !ok || at.Engine != "quay" || at.Former != "" {
		t.Errorf("while none answers: %+v", at)
	}
}

// The operator gives a group another engine: its volume stays behind.
func TestAGroupThatGetsAnotherEngineBeginsAnew(t *testing.T) {
	p := newPort(t, config.AwayWait, "dock+", "quay+")
	p.place("g0", nil)
	p.cfg.Groups[0].Engine = groups.Engines{"quay"}
	at, ok := p.Placement(p.cfg.Groups[0], nil)
	if !ok || at.Engine != "quay" || at.Former != "dock" {
		t.Errorf("%+v", at)
	}
	a := p.cfg.Assistants["a"]
	a.Share = "directories"
	p.cfg.Assistants["a"] = a
	if at, _ := p.Placement(p.cfg.Groups[0], nil); at.Former != "" {
		t.Errorf("its directories are the host's, and it begins anew: %+v", at)
	}
}

// hangs is an engine that takes connections and never answers.
func hangs(t *testing.T, socket string) (asked chan struct{}) {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	asked = make(chan struct{}, 100)
	var conns sync.WaitGroup
	conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			asked <- struct{}{}
		}
	})
	t.Cleanup(func() { l.Close(); conns.Wait() })
	return asked
}

func TestAnEngineThatHangsDelaysNobodyOfAnotherOne(t *testing.T) {
	p := newPort(t, config.AwayWait) // none is looked at
	p.cfg.Engines = map[string]config.Engine{"dock": {Socket: filepath.Join(t.TempDir(), "dock")}, "quay": {Socket: filepath.Join(t.TempDir(), "quay")}}
	asked := hangs(t, p.cfg.Engines["dock"].Socket)
	p.Engines = New(p.cfg, Options{Host: p, Getenv: func(string) string { return "" }, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if _, err := p.Load(t.Context(), p.db, Installation{}); err != nil {
		t.Fatal(err)
	}
	if engine, why := p.place("g0", nil); why != "unknown" {
		t.Errorf("nobody has looked, and it is on %q: %s", engine, why)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- p.Run(ctx) }()
	<-asked
	p.begin("quay")
	p.Look()
	for one := ""; one != "quay true"; one = <-p.heard {
		if one == "quay false" { // it was looked at before it began
			p.Look()
		}
	}
	if engine, why := p.place("g0", nil); engine != "quay" {
		t.Errorf("it is on %q: %s", engine, why)
	}
	waiting, give := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer give()
	if _, err := p.Start(waiting, "dock", "g1", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a start on the engine that hangs: %v", err)
	}
	cancel()
	if err := errors.Join(<-ran, p.Close()); err != nil {
		t.Error(err)
	}
}

func TestAStartEndsWhenItsEngineGoesAway(t *testing.T) {
	p := newPort(t, config.AwayWait, "dock+")
	started := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		_, err := p.Start(t.Context(), "dock", "g0", func(ctx context.Context, _ *docker.Engine) (runtime.Session, error) {
			close(started)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		ended <- err
	}()
	<-started
	p.away("dock")
	if err := <-ended; !errors.Is(err, runtime.ErrAway) {
		t.Error(err)
	}
}

// A restored copy beside the running host ended its containers; and a state that had moved to another
// machine, or to PostgreSQL, lost its volumes.
func TestACopyOwnsNoContainersAndAMovedStateOwnsItsOwn(t *testing.T) {
	db, _ := statetest.Start(t, t.TempDir())
	of := func(i Installation) string {
		t.Helper()
		owner, err := i.own(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		read, kept, err := i.OwnerIn(t.Context(), db.DB.DB)
		if err != nil || !kept || read != owner {
			t.Errorf("a command finds %q, %v, %v; the host is %q", read, kept, err, owner)
		}
		return owner
	}
	first := of(Installation{ID: "1", Dir: "/a"})
	if again := of(Installation{ID: "1", Dir: "/a"}); again != first {
		t.Errorf("after a restart it owns what is %q's, not %q's", again, first)
	}
	if other := of(Installation{ID: "2", Dir: "/other", Shared: true}); other != first {
		t.Errorf("the next host of a cluster owns what is %q's, not %q's", other, first)
	}
	if back := of(Installation{ID: "2", Dir: "/a"}); back != first {
		t.Errorf("moved back, it owns what is %q's, not %q's", back, first)
	}
	if copied := of(Installation{ID: "1", Dir: "/copy"}); copied == first {
		t.Error("a copy in another directory owns the same containers")
	}
}
