//go:build e2e

package kill

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	"github.com/longshore-bridge/longshore/host/channel/slack/slacktest"
	"github.com/longshore-bridge/longshore/host/channel/telegram/telegramtest"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/ipc"
)

// soakEnv is how long the soak takes, as "10m". Without it, it is 90 seconds if all
// tests are asked for, and 15 else.
const soakEnv = "LONGSHORE_TEST_SOAK"

// TestASoakLosesNothingAndLeaksNothing keeps twenty groups on three channels busy, and an
// operator who says yes or no, at random, to their large files. For half of the time the
// channels fail, the host is killed, and its configuration is reloaded, at random; for the
// other half the host runs on, so that a leak shows, and what the operator's page, top and
// the metrics say is compared. In the end every request has one result, and members see all
// in order and nothing twice.
func TestASoakLosesNothingAndLeaksNothing(t *testing.T) {
	t.Parallel()
	long := 90 * time.Second
	if text := os.Getenv(soakEnv); text != "" {
		var err error
		if long, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := newSoak(t, seed, true)
	t.Cleanup(func() {
		s.end()
		if t.Failed() {
			all := s.log.String()
			t.Logf("the end of the host's log:\n%s", all[max(0, len(all)-20_000):])
		}
	})
	s.start()
	s.planned()
	var sums soakSums
	s.busy(long/2, s.operator().Decide, func(ctx context.Context) { s.harm(ctx, rand.New(rand.NewPCG(seed, 1<<32)), &sums) })
	looks := &soakLooks{s: s, page: s.signIn(), sums: &sums}
	for half := range 2 {
		s.busy(long/4, looks.page.decide, looks.watch)
		sums.goroutines[half], sums.descriptors[half] = s.quiet(), looks.peak
		looks.peak = 0
		looks.equal()
	}
	if sums.goroutines[1] > sums.goroutines[0]+20 {
		t.Errorf("goroutines were %v", sums.goroutines)
	}
	if sums.descriptors[1] > sums.descriptors[0]*3/2+20 { // pools keep some for a while: how many depends on the load
		t.Errorf("descriptors were at most %v", sums.descriptors)
	}
	page := s.page()
	for _, g := range s.groups {
		s.answered(g)
		for _, fault := range sums.add(g, s.shown(g, page)) {
			t.Error(fault)
		}
	}
	sums.agree(t, s, long)
	s.stop()
	for _, path := range s.leftovers() {
		if content, err := os.ReadFile(path); err != nil || !s.uncertain()[stage.Digest(content)] {
			t.Errorf("a file is left: %s, %v", path, err)
		}
	}
	if all := s.databases(); !slices.Equal(all, []string{"longshore.db"}) {
		t.Errorf("the databases of the state are %v", all)
	}
	t.Logf("soak of %v: %s", long, sums.String())
}

// busy has all groups write for a time, beside something else that ends with ctx, and
// waits for all results. Meanwhile the operator answers by decide.
func (s *soak) busy(long time.Duration, decide func(ctx context.Context, id string, yes bool) error, beside func(ctx context.Context)) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), long)
	defer cancel()
	answering, done := context.WithCancel(s.Context())
	defer done()
	var other, writers, answers sync.WaitGroup
	answers.Go(func() { s.answer(answering, rand.New(rand.NewPCG(uint64(long), 2<<32)), decide) })
	other.Go(func() { beside(ctx) })
	for _, g := range s.groups {
		writers.Go(func() { s.write(ctx, g) })
	}
	other.Wait()
	writers.Wait()
	done()
	answers.Wait()
	if s.Failed() {
		s.FailNow()
	}
}

// harm does something bad, or a reload, every half a second or so.
func (s *soak) harm(ctx context.Context, random *rand.Rand, sums *soakSums) {
	for ctx.Err() == nil {
		sums.faults++
		switch random.IntN(14) {
		case 0, 13:
			sums.kills++
			s.kill()
		case 1, 2, 3:
			sums.reloads++
			s.configure(sums.reloads)
			if _, err := s.operator().Reload(s.Context(), false); err != nil {
				s.Errorf("reload: %v", err)
			}
		case 4:
			s.slack.Disconnect("warning")
		case 5, 6, 7, 8:
			methods := []string{"chat.postMessage", "files.getUploadURLExternal", "upload", "files.completeUploadExternal"}
			faults := []slacktest.Fault{{Status: 503}, {Status: 429, RetryAfter: 1}, {Lost: true}, {Unread: true}}
			s.slack.Next(methods[random.IntN(len(methods))], faults[random.IntN(len(faults))])
		default:
			methods := []string{"sendMessage", "sendDocument"}
			faults := []telegramtest.Fault{{Status: 502, Body: "{}"}, {Lost: true}, {Torn: true},
				{Status: 429, Body: `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 1","parameters":{"retry_after":1}}`}}
			s.tg.Next(methods[random.IntN(len(methods))], faults[random.IntN(len(faults))])
		}
		s.pause(time.Duration(200+random.IntN(600)) * time.Millisecond)
	}
}

// watch compares what the host says in three ways.
func (l *soakLooks) watch(ctx context.Context) {
	for ctx.Err() == nil && l.s.pause(200*time.Millisecond) {
		if err := l.look(l.s.Context()); err != nil {
			l.s.Errorf("look at the host: %v", err)
			return
		}
		l.peak = max(l.peak, l.s.descriptors())
	}
}

// quiet waits until nothing is open, and returns how many goroutines the host has then.
func (s *soak) quiet() (goroutines int) {
	s.Helper()
	s.slack.Wait(s, "connection", func() bool { return s.slack.Connections() > 0 })
	for deadline := time.Now().Add(stage.Patience); ; s.pause(50 * time.Millisecond) {
		m, err := s.metrics()
		if err == nil && m["longshore_outbox_pending_parts"] == 0 && m["longshore_queue_requests"] == 0 && m["longshore_outbox_sends_in_flight"] == 0 &&
			m["longshore_approvals_waiting"] == 0 {
			return int(m["go_goroutines"])
		}
		if time.Now().After(deadline) {
			s.Fatalf("the host is not quiet: %v, %v", m, err)
		}
	}
}

// soakSums is what a soak ends with.
type soakSums struct {
	requests, sent, uncertain, refused, parts int
	approved, denied                          int // the former are sent or uncertain, too
	bytes                                     int64
	kills, reloads, faults, runs              int
	counters
	goroutines, descriptors [2]int
}

func (u *soakSums) String() string {
	return fmt.Sprintf("%d requests = %d sent + %d uncertain + %d refused + %d not approved; %d parts with %.1f MiB of files, all SHA-256 equal, in order, none twice, "+
		"%d of the deliveries after an approval; %d faults, of them %d kills and %d reloads; %d runs of a task since the last kill; page, top and metrics agree in %d looks at work and %d at rest; "+
		"goroutines %d then %d, descriptors at most %d then %d, no file left but those of what is uncertain",
		u.requests, u.sent, u.uncertain, u.refused, u.denied, u.parts, float64(u.bytes)/(1<<20), u.approved,
		u.faults, u.kills, u.reloads, u.runs, u.looks.Load(), u.equal.Load(), u.goroutines[0], u.goroutines[1], u.descriptors[0], u.descriptors[1])
}

// add compares what a group asked for with its results and with what members see, and
// names what is wrong. Of what is uncertain, which only Telegram knows, members may see
// nothing or all. What was approved has its place by the time of the answer: it is taken
// out first, and compared with the rest by overtakes.
func (u *soakSums) add(g *soakGroup, shown []string) (faults []string) {
	faults = g.overtakes(shown)
	shown = g.approvedOut(shown)
	for i, a := range g.asked {
		u.requests++
		taken := a.waits && a.yes
		seen := len(a.parts) > 0 && len(shown) >= len(a.parts) && slices.Equal(shown[:len(a.parts)], a.parts)
		switch {
		case a.code != "" && a.got.Status == ipc.Refused && a.got.Code == a.code:
			u.refused++
		case a.waits && !a.yes && a.got.Status == ipc.Refused && a.got.Code == records.CodeNotApproved:
			u.denied++
		case taken && a.found && arrived(a.got):
			u.approved, u.sent, u.parts, u.bytes = u.approved+1, u.sent+1, u.parts+len(a.parts), u.bytes+a.bytes
		case taken && a.got.Status == ipc.Uncertain && g.channel == "telegram":
			u.approved, u.uncertain = u.approved+1, u.uncertain+1
		case a.code == "" && !a.waits && arrived(a.got) && seen:
			u.sent, u.parts, u.bytes = u.sent+1, u.parts+len(a.parts), u.bytes+a.bytes
			shown = shown[len(a.parts):]
		case a.code == "" && !a.waits && a.got.Status == ipc.Uncertain && g.channel == "telegram":
			u.uncertain++
			shown = skip(shown, a.parts)
		default:
			return append(faults, fmt.Sprintf("%s: request %d of %d (%q, %d parts, waits %v, yes %v): %+v; members see it in its place: %v",
				g.folder, i, len(g.asked), a.code, len(a.parts), a.waits, a.yes, a.got, seen || a.found))
		}
	}
	if len(shown) > 0 {
		faults = append(faults, fmt.Sprintf("%s shows %d parts that nobody asked for", g.folder, len(shown)))
	}
	return faults
}

// approvedOut leaves what was approved out of shown, once, and notes what it found whole.
func (g *soakGroup) approvedOut(shown []string) []string {
	shown = slices.Clone(shown)
	for i := range g.asked {
		a := &g.asked[i]
		if !a.waits || !a.yes {
			continue
		}
		at := slices.Index(shown, a.parts[0])
		if a.found = at >= 0 && len(shown) >= at+len(a.parts) && slices.Equal(shown[at:at+len(a.parts)], a.parts); a.found {
			shown = slices.Delete(shown, at, at+len(a.parts))
		} else if a.got.Status == ipc.Uncertain && at >= 0 {
			shown = slices.Delete(shown, at, at+1) // a part of it may be there
		}
	}
	return shown
}

// overtakes names what members see before something that had ended when it was asked for:
// only soakOpen requests of a group are open at a time.
func (g *soakGroup) overtakes(shown []string) (faults []string) {
	place := map[string]int{}
	for i, s := range shown {
		place[s] = i
	}
	last := make([]int, 0, len(g.asked)) // of the requests up to each, the last place
	for i, a := range g.asked {
		before := -1
		if i > 0 {
			before = last[i-1]
		}
		if arrived(a.got) && len(a.parts) > 0 {
			at := place[a.parts[0]]
			if i >= soakOpen && at < last[i-soakOpen] {
				faults = append(faults, fmt.Sprintf("%s shows request %d before one that had ended when it was asked for", g.folder, i))
			}
			before = max(before, at)
		}
		last = append(last, before)
	}
	return faults
}

// skip leaves out of shown what is there of parts.
func skip(shown, parts []string) []string {
	for _, p := range parts {
		if len(shown) > 0 && shown[0] == p {
			shown = shown[1:]
		}
	}
	return shown
}

// agree compares the sums with what the host says in the end.
func (u *soakSums) agree(t *testing.T, s *soak, long time.Duration) {
	t.Helper()
	status, err := s.operator().Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.metrics()
	if err != nil {
		t.Fatal(err)
	}
	if u.refused < errorsKept && (status.Errors != u.refused || int(m["longshore_errors_requests"]) != u.refused) {
		t.Errorf("%d requests were refused; the status counts %d, the metrics %v", u.refused, status.Errors, m["longshore_errors_requests"])
	}
	for _, g := range status.Groups {
		if g.Pending != 0 || g.Waiting != 0 {
			t.Errorf("%s has something open: %+v", g.Folder, g)
		}
		if g.Folder == "plan" {
			u.runs = int(g.Answered) // the sample assistant says nothing to a task
		}
	}
	if long > 3*time.Minute && u.runs == 0 {
		t.Error("the task never ran")
	}
}

func TestTheSumsOfASoakNoticeWhatIsLostTwiceOrOutOfOrder(t *testing.T) {
	sent := func(parts ...string) soakAsk { return soakAsk{parts: parts, got: ipc.Result{Status: ipc.Sent}} }
	refused := soakAsk{code: "screened", got: ipc.Result{Status: ipc.Refused, Code: "screened"}}
	uncertain := soakAsk{parts: []string{"u"}, got: ipc.Result{Status: ipc.Uncertain}}
	approved := soakAsk{waits: true, yes: true, parts: []string{"y", "z"}, got: ipc.Result{Status: ipc.Sent}}
	denied := soakAsk{waits: true, parts: []string{"n"}, got: ipc.Result{Status: ipc.Refused, Code: "not_approved"}}
	unasked := soakAsk{waits: true, parts: []string{"n"}, got: ipc.Result{Status: ipc.Sent}}
	for _, tt := range []struct {
		name, channel string
		asked         []soakAsk
		shown         []string
		bad           bool
	}{
		{"all well", "web", []soakAsk{sent("a"), refused, sent("b", "c")}, []string{"a", "b", "c"}, false},
		{"lost", "web", []soakAsk{sent("a"), sent("b")}, []string{"a"}, true},
		{"twice", "web", []soakAsk{sent("a"), sent("b")}, []string{"a", "a", "b"}, true},
		{"twice in the end", "web", []soakAsk{sent("a"), sent("b")}, []string{"a", "b", "b"}, true},
		{"another order", "web", []soakAsk{sent("a"), sent("b")}, []string{"b", "a"}, true},
		{"sent though it is to be refused", "web", []soakAsk{{code: "screened", got: ipc.Result{Status: ipc.Sent}}}, nil, true},
		{"uncertain and not there", "telegram", []soakAsk{uncertain, sent("a")}, []string{"a"}, false},
		{"uncertain and there", "telegram", []soakAsk{uncertain, sent("a")}, []string{"u", "a"}, false},
		{"uncertain and there twice", "telegram", []soakAsk{uncertain, sent("a")}, []string{"u", "u", "a"}, true},
		{"uncertain where a repeat has a key", "slack", []soakAsk{uncertain}, []string{"u"}, true},
		{"approved, in another place", "web", []soakAsk{approved, sent("a"), denied, sent("b")}, []string{"a", "y", "z", "b"}, false},
		{"approved and lost", "web", []soakAsk{approved, sent("a")}, []string{"a"}, true},
		{"approved and half of it lost", "web", []soakAsk{approved, sent("a")}, []string{"y", "a"}, true},
		{"approved and twice", "web", []soakAsk{approved, sent("a")}, []string{"y", "z", "a", "y", "z"}, true},
		{"approved too late", "web", []soakAsk{approved, sent("a"), sent("b"), sent("c"), sent("d")}, []string{"a", "b", "c", "d", "y", "z"}, true},
		{"approved too early", "web", []soakAsk{sent("a"), sent("b"), sent("c"), sent("d"), approved}, []string{"y", "z", "a", "b", "c", "d"}, true},
		{"not approved and shown", "web", []soakAsk{denied}, []string{"n"}, true},
		{"sent without an answer", "web", []soakAsk{unasked}, []string{"n"}, true},
		{"no result", "web", []soakAsk{{parts: []string{"a"}}}, []string{"a"}, true},
	} {
		var sums soakSums
		got := sums.add(&soakGroup{channel: tt.channel, asked: tt.asked}, tt.shown)
		if (len(got) > 0) != tt.bad {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}
