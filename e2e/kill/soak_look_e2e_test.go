//go:build e2e

package kill

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/longshore-bridge/longshore/e2e/stage"
	longshore "github.com/longshore-bridge/longshore/host/command"
	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

// answer says yes or no, at random, to what waits for an approval, until ctx is done. The
// host may be killed at any moment: an answer that it may have recorded is given again.
func (s *soak) answer(ctx context.Context, random *rand.Rand, decide func(ctx context.Context, id string, yes bool) error) {
	for ctx.Err() == nil && s.pause(time.Duration(50+random.IntN(150))*time.Millisecond) {
		items, err := s.operator().List(ctx, operator.Filter{Waiting: true})
		if err != nil {
			continue // it is being killed and started
		}
		for _, i := range items {
			if random.IntN(3) > 0 {
				s.say(ctx, i, random.IntN(2) == 0, decide)
			}
		}
	}
}

// say gives an answer, and always the same one to one delivery. The host counts the first
// one alone.
func (s *soak) say(ctx context.Context, i operator.Item, yes bool, decide func(ctx context.Context, id string, yes bool) error) {
	key := i.Group + "/" + i.Request
	s.mu.Lock()
	if before, again := s.answers[key]; again {
		yes = before
	}
	s.answers[key] = yes
	s.mu.Unlock()
	err := decide(ctx, i.ID, yes)
	if r := refusal.Of(err); r != nil && r.Code != operator.CodeSettled {
		s.Errorf("answer %v to %s: %v", yes, key, err)
	}
}

// answered notes in each request what the operator said to it.
func (s *soak) answered(g *soakGroup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range g.asked {
		g.asked[i].yes = s.answers[g.folder+"/"+g.asked[i].id]
	}
}

// operatorsPage is a browser that is signed in to the operator's page of a host. The host's
// end is the session's.
type operatorsPage struct{ base, key string }

func (s *soak) signIn() *operatorsPage {
	s.Helper()
	address, err := s.operator().PageURL(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	base, token, _ := strings.Cut(address.URL, "#")
	p := &operatorsPage{base: strings.TrimSuffix(base, "/")}
	var signed struct{ Key string }
	if body, err := p.call(s.Context(), http.MethodPost, "/sign-in", token); err != nil || json.Unmarshal(body, &signed) != nil {
		s.Fatalf("sign in to the operator's page: %s, %v", body, err)
	}
	p.key = signed.Key
	return p
}

func (p *operatorsPage) call(ctx context.Context, method, path, body string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, p.base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+p.key)
	client := http.Client{Timeout: stage.Patience, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		var why refusal.Error
		if json.Unmarshal(answer, &why) == nil && why.Code != "" {
			return nil, &why
		}
		err = fmt.Errorf("%s %s: %s: %s", method, path, res.Status, answer)
	}
	return answer, err
}

// decide is a click on one of the page's buttons.
func (p *operatorsPage) decide(ctx context.Context, id string, yes bool) error {
	_, err := p.call(ctx, http.MethodPost, "/v1/decide", fmt.Sprintf(`{"id":%q,"yes":%t}`, id, yes))
	return err
}

// overview is what the page shows, which may be a second old.
func (p *operatorsPage) overview(ctx context.Context) (o operator.Overview, err error) {
	body, err := p.call(ctx, http.MethodGet, "/v1/overview", "")
	if err == nil {
		err = json.Unmarshal(body, &o)
	}
	return o, err
}

// top is what "longshore top" prints for a program.
func (s *soak) top() (o operator.Overview, err error) {
	var out, errs bytes.Buffer
	if code := longshore.Run(s.Context(), "", stage.AllPlatforms(), []string{"-c", s.file(), "--json", "top"}, nil, &out, &errs); code != stage.ExitOK {
		return o, fmt.Errorf("top: exit code %d: %s", code, errs.String())
	}
	return o, json.Unmarshal(out.Bytes(), &o)
}

// figures are what page, top and metrics all have.
type figures struct{ Refused, Turns, Pending, Approvals, Waiting, Connected int }

func figuresOf(o operator.Overview) (f figures) {
	f.Refused = o.Status.Errors
	for _, g := range o.Status.Groups {
		f.Pending, f.Approvals, f.Waiting = f.Pending+g.Pending, f.Approvals+g.Approvals, f.Waiting+g.Waiting
		f.Turns += int(g.Answered + g.Broken)
	}
	for _, c := range o.Status.Channels {
		if c.Connected {
			f.Connected++
		}
	}
	return f
}

func figuresIn(m map[string]float64) (f figures) {
	f = figures{
		Refused: int(m["longshore_errors_requests"]), Pending: int(m["longshore_outbox_pending_parts"]),
		Approvals: int(m["longshore_approvals_waiting"]), Waiting: int(m["longshore_queue_requests"]),
	}
	for name, v := range m {
		switch {
		case strings.HasPrefix(name, "longshore_turns_total"):
			f.Turns += int(v)
		case strings.HasPrefix(name, "longshore_channel_connected"):
			f.Connected += int(v)
		}
	}
	return f
}

// soakLooks compares what the operator's page, "longshore top" and /metrics say.
//
// While the host works, three looks cannot be at the same moment. But the refused requests
// in the errors folder and the turns only grow: what page and top say of a moment is not
// below what the metrics said before it, and not above what they say after it.
//
// At a quiet moment, with the same metrics before and after, all figures are equal, those of
// the queue and of the channels too. A channel may connect anew or a turn end between two
// looks: then they are compared once more.
type soakLooks struct {
	s     *soak
	page  *operatorsPage
	early []soakLook // metrics, the oldest first
	peak  int        // of the host's descriptors, while it works
	sums  *soakSums
}

type soakLook struct {
	ended time.Time
	says  figures
}

// metrics looks once more.
func (l *soakLooks) metrics() (figures, error) {
	m, err := l.s.metrics()
	f := figuresIn(m)
	l.early = append(l.early, soakLook{time.Now(), f})
	return f, err
}

// before is what the metrics said last before a moment; ok is false if nothing.
func (l *soakLooks) before(moment time.Time) (says figures, ok bool) {
	for _, look := range l.early {
		if look.ended.Before(moment) {
			says, ok = look.says, true
		}
	}
	return says, ok
}

// look makes one comparison while the host works.
func (l *soakLooks) look(ctx context.Context) error {
	if _, err := l.metrics(); err != nil {
		return err
	}
	top, err := l.s.top()
	if err != nil {
		return err
	}
	page, err := l.page.overview(ctx)
	if err != nil {
		return err
	}
	after, err := l.metrics()
	if err != nil {
		return err
	}
	for name, o := range map[string]operator.Overview{"top": top, "the page": page} {
		before, ok := l.before(o.Time)
		if got := figuresOf(o); ok && !got.between(before, after) {
			l.s.Errorf("%s says %+v, the metrics %+v before it and %+v after it", name, got, before, after)
		}
	}
	l.early = l.early[max(0, len(l.early)-20):] // more than the page's second
	l.sums.looks.Add(1)
	return nil
}

// errorsKept is how many requests the errors folder keeps of a group. With more, its count
// does not only grow.
const errorsKept = 1000

func (f figures) between(before, after figures) bool {
	refused := before.Refused <= f.Refused && f.Refused <= after.Refused || after.Refused >= errorsKept
	return refused && before.Turns <= f.Turns && f.Turns <= after.Turns
}

// equal waits until all three say the same of a host that has nothing to do.
func (l *soakLooks) equal() {
	l.s.Helper()
	began := time.Now()
	for {
		before, err := l.metrics()
		top, topErr := l.s.top()
		page, pageErr := l.page.overview(l.s.Context())
		after, afterErr := l.metrics()
		if err != nil || topErr != nil || pageErr != nil || afterErr != nil {
			l.s.Fatal(err, topErr, pageErr, afterErr)
		}
		if before == after && page.Time.After(began) && figuresOf(top) == after && figuresOf(page) == after && after.Pending+after.Approvals+after.Waiting == 0 {
			l.sums.equal.Add(1)
			return
		}
		if time.Since(began) > stage.Patience {
			l.s.Fatalf("of a quiet host the metrics say %+v, top %+v, the page %+v, and then the metrics %+v", before, figuresOf(top), figuresOf(page), after)
		}
		l.s.pause(200 * time.Millisecond)
	}
}

// counters are what grows from several goroutines.
type counters struct{ looks, equal atomic.Int64 }
