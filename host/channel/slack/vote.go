package slack

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/channel/bot"
	"github.com/longshore-bridge/longshore/host/channel/journal"
	"github.com/longshore-bridge/longshore/host/channel/link"
)

// A vote is a press of one of the question's buttons.
const (
	pressEnvelope = "interactive"     // of Socket Mode
	pressType     = "longshore_press" // of the body that is kept; no event of Slack's
)

// pressID names a button; pressed takes the name apart.
func pressID(poll string, choice int) string { return fmt.Sprintf("longshore-%s-%d", poll, choice) }

var (
	pressForm = regexp.MustCompile(`^longshore-([0-9a-f]{32})-(0|[1-9][0-9]?)$`)
	pollID    = regexp.MustCompile(`^[0-9a-f]{32}$`)
)

// unwrapPress takes the payload of a pressed button apart, as unwrap does an event's.
func unwrapPress(payload []byte) (id string, body []byte, err error) {
	if len(payload) > maxEvent {
		return "", nil, fmt.Errorf("the press has %d bytes, at most %d are taken", len(payload), maxEvent)
	}
	var p struct {
		Type string `json:"type"`
		User struct {
			ID string `json:"id"`
		} `json:"user"`
		Container struct {
			Type    string `json:"type"`
			Channel string `json:"channel_id"`
			TS      string `json:"message_ts"`
			Thread  string `json:"thread_ts"`
		} `json:"container"`
		Actions []struct {
			Type string `json:"type"`
			ID   string `json:"action_id"`
			TS   string `json:"action_ts"`
		} `json:"actions"`
	}
	if err := json.Unmarshal(payload, &p, lenient); err != nil {
		return "", nil, err
	}
	if p.Type != "block_actions" || p.Container.Type != "message" || len(p.Actions) != 1 || p.Actions[0].Type != "button" {
		return "", nil, errors.New("it is no press of one button of a message")
	}
	button := pressForm.FindStringSubmatch(p.Actions[0].ID)
	if button == nil {
		return "", nil, errors.New("the button is none of a question")
	}
	choice, err := strconv.Atoi(button[2])
	if err != nil {
		return "", nil, err
	}
	thread := p.Container.Thread
	if thread == p.Container.TS { // it has answers
		thread = ""
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{p.User.ID, p.Container.Channel, p.Container.TS, p.Actions[0].ID, p.Actions[0].TS}, " ")))
	body, err = json.Marshal(map[string]any{
		"type": pressType, "channel": p.Container.Channel, "user": p.User.ID, "thread_ts": thread, "event_ts": p.Actions[0].TS,
		"poll": button[1], "choice": choice, "target": p.Container.TS,
	})
	return "press-" + hex.EncodeToString(sum[:12]), body, err
}

// pressed is a member's press of a button.
func pressed(m *message) *event {
	return &event{kind: channel.KindVote, sender: m.User, thread: m.Thread, target: m.Target, poll: m.Poll, choice: m.Choice}
}

// vote counts a press and is all that its member chooses from then on; false if the
// question is not known or is closed. A second press takes a choice back.
func (s *Slack) vote(ctx context.Context, j *journal.Journal, ev *event, id, name string) (choices []string, counted bool, err error) {
	free, err := s.polls.busy.Enter(ctx, ev.poll)
	if err != nil {
		return nil, false, err
	}
	defer free()
	p, err := keptPoll(ctx, j, ev.chat, ev.poll)
	if err != nil || p == nil || p.Closed || ev.choice >= len(p.Choices) {
		return nil, false, err
	}
	b, voted := p.Votes[ev.sender]
	if !voted && len(p.Votes) >= maxVoters {
		return nil, false, nil
	}
	if b.Event != id {
		b = ballot{Name: cmp.Or(name, ev.sender), Event: id, Chosen: toggled(b.Chosen, ev.choice, p.Several)}
		if p.Votes == nil {
			p.Votes = map[string]ballot{}
		}
		p.Votes[ev.sender] = b
		if err := savePoll(ctx, j, ev.chat, p); err != nil {
			return nil, false, err
		}
	}
	for _, i := range b.Chosen {
		choices = append(choices, p.Choices[i])
	}
	return choices, true, nil
}

func toggled(chosen []int, choice int, several bool) []int {
	switch i, there := slices.BinarySearch(chosen, choice); {
	case there:
		return slices.Delete(slices.Clone(chosen), i, i+1)
	case several:
		return slices.Insert(slices.Clone(chosen), i, choice)
	}
	return []int{choice}
}

// polls are the questions whose votes changed. The zero polls is ready but for news.
type polls struct {
	busy link.Keyed    // by a question's id, for who changes or shows it
	news chan struct{} // holds a value after stale

	mu    sync.Mutex
	stale map[string]shownPoll // by the question's id
}

// shownPoll is where a question stands.
type shownPoll struct {
	chat groups.JID
	ts   string
}

const (
	redrawEvery = time.Second     // many votes are shown together
	redrawAgain = 5 * time.Second // after a failure
)

// changed has a question shown anew.
func (p *polls) changed(id string, at shownPoll) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stale == nil {
		p.stale = map[string]shownPoll{}
	}
	p.stale[id] = at
	select {
	case p.news <- struct{}{}:
	default:
	}
}

func (p *polls) take() map[string]shownPoll {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.stale
	p.stale = nil
	return taken
}

// redraw shows votes until ctx is done. A vote counts whether it is shown or not.
func (s *Slack) redraw(ctx context.Context, o *bot.Open) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.polls.news:
		}
		wait := redrawEvery
		stale := s.polls.take()
		for _, id := range slices.Sorted(maps.Keys(stale)) {
			err := s.redrawOne(ctx, o.Journal, id, stale[id])
			if err == nil || ctx.Err() != nil {
				continue
			}
			s.Log.Info("show the votes of a question", "error", err)
			if class := channel.ClassOf(err); class == channel.Passing || class == channel.Ambiguous {
				wait = max(wait, redrawAgain, channel.RetryAfterOf(err))
				s.polls.changed(id, stale[id])
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

func (s *Slack) redrawOne(ctx context.Context, j *journal.Journal, id string, at shownPoll) error {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	free, err := s.polls.busy.Enter(ctx, id)
	if err != nil {
		return err
	}
	defer free()
	p, err := keptPoll(ctx, j, at.chat, id)
	if err != nil || p == nil || p.Closed {
		return err
	}
	return s.drawPoll(ctx, at.chat, at.ts, p, "")
}
