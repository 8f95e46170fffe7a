package keys

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/state"
	"github.com/longshore-bridge/longshore/host/state/statetest"
	"github.com/longshore-bridge/longshore/internal/fstest"
)

// TestEndedBudgetAnswersInTheServicesOwnForm spends a budget, and asks once more.
func TestEndedBudgetAnswersInTheServicesOwnForm(t *testing.T) {
	for _, one := range []struct {
		target, answer, body, kind string
		status                     int
	}{
		{toClaude, claudeJSON, `{"model":"m","max_tokens":30}`, `"type":"invalid_request_error"`, 400},
		{toResponse, responseJSON, `{"model":"m","max_output_tokens":30}`, `"code":"insufficient_quota"`, 429},
		{toGemini, geminiLast, `{"generationConfig":{"maxOutputTokens":30}}`, `"status":"RESOURCE_EXHAUSTED"`, 429},
	} {
		w := newWorld(t, func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, one.answer) })
		w.settings.Budget = Budget{Tokens: 120}
		if status, text, _ := w.call("POST", one.target, one.body); status != 200 {
			t.Fatalf("%s: %d %s", one.target, status, text)
		}
		w.used(1)
		status, text, _ := w.call("POST", one.target, one.body)
		if status != one.status || !strings.Contains(text, one.kind) || !strings.Contains(text, "usage limit: the budget of this group, 120 tokens a day") {
			t.Errorf("%s: %d %s", one.target, status, text)
		}
		if len(w.seen) != 1 {
			t.Errorf("the service got %d calls", len(w.seen))
		}
		w.settings.Budget.Tokens = 1000
		if status, text, _ := w.call("POST", one.target, one.body); status != 200 {
			t.Errorf("after the budget was raised: %d %s", status, text)
		}
	}
}

func TestBudgetInMoneyNeedsAPrice(t *testing.T) {
	w := newWorld(t, func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, claudeJSON) })
	w.settings.Budget = Budget{Cost: NanosOf(0.01), Month: true}
	if status, text, _ := w.call("POST", toClaude, `{"model":"m","max_tokens":30}`); status != 403 || !strings.Contains(text, "has no price") {
		t.Errorf("%d %s", status, text)
	}
	w.settings.Prices = Prices{"m": {Input: 100, Output: 100}}
	if status, text, _ := w.call("POST", toClaude, `{"model":"m","max_tokens":30}`); status != 200 {
		t.Errorf("%d %s", status, text)
	}
	if u := w.used(1); u.Cost != NanosOf(0.01) {
		t.Errorf("%v USD", u.Cost.USD())
	}
	if status, text, _ := w.call("POST", toClaude, `{"model":"m","max_tokens":30}`); status != 400 || !strings.Contains(text, "0.01 USD a month") {
		t.Errorf("%d %s", status, text)
	}
}

// TestCallsAtOnceDoNotPassTheBudgetTogether: each would fit alone.
func TestCallsAtOnceDoNotPassTheBudgetTogether(t *testing.T) {
	l := newLedger(t, t.TempDir())
	var group sync.WaitGroup
	results := make(chan error, 40)
	for range 40 {
		group.Go(func() {
			_, err := l.reserve(t.Context(), "family", Spent{Tokens: 30}, Budget{Tokens: 100}, time.Now())
			results <- err
		})
	}
	group.Wait()
	close(results)
	in := 0
	for err := range results {
		over, refused := errors.AsType[*overBudget](err)
		if err == nil {
			in++
		} else if !refused || !over.busy {
			t.Error(err)
		}
	}
	if in != 3 {
		t.Errorf("%d calls of 30 tokens fit into 100", in)
	}
	if _, err := l.reserve(t.Context(), "other", Spent{Tokens: 30}, Budget{Tokens: 100}, time.Now()); err != nil {
		t.Errorf("another group: %v", err)
	}
}

// TestBudgetBeginsAnewAtTheGroupsMidnight: days and months are those of the group's zone,
// and a day on which the clocks change has 23 or 25 hours.
func TestBudgetBeginsAnewAtTheGroupsMidnight(t *testing.T) {
	zone := func(name string) *time.Location {
		z, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		return z
	}
	for _, one := range []struct {
		zone        string
		month       bool
		last, first string // in UTC
	}{
		{"UTC", false, "2026-11-24T23:59:59Z", "2026-11-25T00:00:00Z"},
		{"Europe/Berlin", false, "2026-03-29T21:59:59Z", "2026-03-29T22:00:00Z"}, // the clocks went forward on that day
		{"Europe/Berlin", true, "2026-11-30T22:59:59Z", "2026-11-30T23:00:00Z"},
		{"Asia/Kathmandu", false, "2026-11-24T18:14:59Z", "2026-11-24T18:15:00Z"},
		{"America/Los_Angeles", true, "2027-01-01T07:59:59Z", "2027-01-01T08:00:00Z"},
	} {
		l := newLedger(t, t.TempDir())
		at := func(text string) time.Time {
			when, err := time.Parse(time.RFC3339, text)
			if err != nil {
				t.Fatal(err)
			}
			return when
		}
		b := Budget{Tokens: 100, Month: one.month, Zone: zone(one.zone)}
		r, err := l.reserve(t.Context(), "family", Spent{Tokens: 60}, b, at(one.last))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.settle(t.Context(), r, Usage{Output: 60}, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := l.reserve(t.Context(), "family", Spent{Tokens: 60}, b, at(one.last)); err == nil {
			t.Errorf("%s: a second call fits before %s", one.zone, one.first)
		}
		if _, err := l.reserve(t.Context(), "family", Spent{Tokens: 60}, b, at(one.first)); err != nil {
			t.Errorf("%s at %s: %v", one.zone, one.first, err)
		}
	}
}

func TestCallIsSettledOnce(t *testing.T) {
	l := newLedger(t, t.TempDir())
	r, err := l.reserve(t.Context(), "family", Spent{Tokens: 60}, Budget{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.settle(t.Context(), r, Usage{Input: 5}, 7); err != nil {
		t.Fatal(err)
	}
	if err := l.settle(t.Context(), r, Usage{Input: 5}, 7); err == nil {
		t.Error("it is settled twice")
	}
	s, err := l.Standing(t.Context(), "family", Budget{Tokens: 10}, time.Now())
	if err != nil || s.Spent != (Spent{5, 7}) || s.Reserved != (Spent{}) || s.Left(Budget{Tokens: 10}) != 0.5 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestASettlementThatFailedOnceWasNeverRepeated: until the host's restart its reservation stood
// in the way of other calls, on later days too, and the budget never counted as used up.
func TestASettlementThatFailedOnceWasNeverRepeated(t *testing.T) {
	statetest.SQLiteOnly(t, "a trigger makes it fail")
	l := newLedger(t, t.TempDir())
	disk := func(statement string) {
		t.Helper()
		if _, err := l.state.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	b, now := Budget{Tokens: 100}, time.Now()
	reserve := func() (reservation, error) { return l.reserve(t.Context(), "family", Spent{Tokens: 60}, b, now) }
	for day := range 2 {
		r, err := reserve()
		if err != nil {
			t.Fatalf("day %d: %v", day, err)
		}
		disk(`CREATE TRIGGER full BEFORE DELETE ON held BEGIN SELECT RAISE(ABORT, 'full'); END`)
		if err := l.settle(t.Context(), r, Usage{Output: 50}, 7); err == nil {
			t.Fatal("the disk took it")
		}
		if _, err := reserve(); err == nil {
			t.Error("while the disk takes nothing, the reservation does not count")
		}
		disk(`DROP TRIGGER full`)
		_, err = reserve()
		if over, refused := errors.AsType[*overBudget](err); !refused || over.busy {
			t.Errorf("day %d: the next call hears %v", day, err)
		}
		s, err := l.Standing(t.Context(), "family", b, now)
		if err != nil || s.Spent != (Spent{50, 7}) || s.Reserved != (Spent{}) {
			t.Errorf("day %d: %+v, %v", day, s, err)
		}
		if u := l.Used("family"); u.Calls != int64(day)+1 || u.Output != 50*u.Calls || u.Cost != Nanos(7*u.Calls) {
			t.Errorf("day %d: %+v", day, u)
		}
		now = now.Add(24 * time.Hour)
	}
}

// TestSettlementsThatWaitForTheDiskAreBounded, and are written at the end.
func TestSettlementsThatWaitForTheDiskAreBounded(t *testing.T) {
	dir := t.TempDir()
	l := newLedger(t, dir)
	r, err := l.reserve(t.Context(), "family", Spent{Tokens: 60}, Budget{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	l.owe(settlement{r, Usage{Output: 5}, 0})
	for range maxOwed + 5 {
		l.owe(settlement{}, settlement{})
	}
	if len(l.owed) != maxOwed {
		t.Errorf("%d wait", len(l.owed))
	}
	l.Close()
	if err := l.state.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := newLedger(t, dir).Standing(t.Context(), "family", Budget{}, time.Now()); err != nil || s.Spent.Tokens != 5 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestCallThatCannotBeRecorded is refused if a budget counts on the record, and free if none does.
func TestCallThatCannotBeRecorded(t *testing.T) {
	w := newWorld(t, ok)
	if err := w.ledger.state.Close(); err != nil {
		t.Fatal(err)
	}
	for budget, want := range map[int64]int{0: 200, 1000: 503} {
		w.settings.Budget.Tokens = budget
		if status, text, _ := w.call("POST", toClaude, `{"model":"m","max_tokens":5}`); status != want {
			t.Errorf("a budget of %d: %d %s", budget, status, text)
		}
	}
}

// TestLedgerForgetsWhatNoBudgetCounts, so that it does not grow for ever.
func TestLedgerForgetsWhatNoBudgetCounts(t *testing.T) {
	l := newLedger(t, t.TempDir())
	rows := 0
	for _, age := range []time.Duration{keepTime + time.Hour, keepTime - time.Hour, 0} {
		r, err := l.reserve(t.Context(), "family", Spent{Tokens: 5}, Budget{}, time.Now().Add(-age))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.settle(t.Context(), r, Usage{Input: 5}, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.state.QueryRow(`SELECT COUNT(*) FROM spent`).Scan(&rows); err != nil || rows != 2 {
		t.Errorf("%d rows, %v", rows, err)
	}
}

// TestMain is also the host that TestReservationOfAKilledHostCounts kills.
func TestMain(m *testing.M) {
	dir := os.Getenv("LONGSHORE_TEST_KEYS_DIR")
	if dir == "" {
		fstest.Memory()
		os.Exit(m.Run())
	}
	u, err := ParseURL(os.Getenv("LONGSHORE_TEST_KEYS_URL"))
	if err != nil {
		panic(err)
	}
	d, err := state.Open(context.Background(), statetest.Spec(dir), slog.New(slog.DiscardHandler))
	if err != nil {
		panic(err)
	}
	l, err := OpenLedger(context.Background(), d)
	if err != nil {
		panic(err)
	}
	set := Settings{Upstreams: []Upstream{{Known()[0], u, secret}}, Budget: Budget{Tokens: 10_000}}
	near := httptest.NewServer(New("family", accessFunc(func() Settings { return set }), l, slog.New(slog.DiscardHandler)))
	fmt.Println(near.URL)
	select {}
}

// TestReservationOfAKilledHostCounts kills a host with -9 between a call's reservation and
// its settlement, while the service answers. Nobody knows what the service charges, so the
// next host counts the whole reservation, once.
func TestReservationOfAKilledHostCounts(t *testing.T) {
	asked := make(chan bool, 1)
	far := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		rw.(http.Flusher).Flush()
		asked <- true
		<-r.Context().Done()
	}))
	defer far.Close()
	dir := t.TempDir()
	host := exec.Command(os.Args[0])
	host.Env = append(os.Environ(), "LONGSHORE_TEST_KEYS_DIR="+dir, "LONGSHORE_TEST_KEYS_URL="+far.URL)
	host.Stderr = os.Stderr
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if res, err := http.Post(strings.TrimSpace(address)+toClaude, "application/json", strings.NewReader(`{"model":"m","max_tokens":6000}`)); err == nil {
			res.Body.Close()
		}
	}()
	<-asked
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait()
	for start := range 2 { // the second host finds nothing more to settle
		l := newLedger(t, dir)
		b := Budget{Tokens: 10_000}
		s, err := l.Standing(t.Context(), "family", b, time.Now())
		if err != nil || s.Spent.Tokens < 6000 || s.Spent.Tokens > 6100 || s.Reserved != (Spent{}) {
			t.Errorf("at start %d: %s, %v", start+1, cmp.Diff(Standing{}, s), err)
		}
		if _, err := l.reserve(t.Context(), "family", Spent{Tokens: 6000}, b, time.Now()); err == nil {
			t.Error("the budget has room for the call again")
		}
		l.Close()
		if err := l.state.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestACallSpentThePurseOfTheFirstCall: a reload that gave the group another purse was not seen.
func TestACallSpentThePurseOfTheFirstCall(t *testing.T) {
	w := newWorld(t, func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, claudeJSON) })
	w.settings.Budget = Budget{Tokens: 120}
	for i, purse := range []string{"", "main", "family"} {
		w.settings.Purse = purse
		status, text, _ := w.call("POST", toClaude, `{"model":"m","max_tokens":30}`)
		if want := []int{200, 200, 400}[i]; status != want {
			t.Errorf("purse %q: %d %s", purse, status, text)
		}
	}
}
