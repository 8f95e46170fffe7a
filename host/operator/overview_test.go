package operator_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/longshore-bridge/longshore/host/operator"
	"github.com/longshore-bridge/longshore/internal/refusal"
)

func TestAHostWithoutAPageHasNoAddressOfIt(t *testing.T) {
	if _, err := operator.NewDesk(operator.DeskOptions{Running: true}).PageURL(t.Context()); refusal.Of(err) == nil || refusal.Of(err).Code != operator.CodePageOff {
		t.Errorf("got %v", err)
	}
	if _, err := operator.NewDesk(operator.DeskOptions{}).PageURL(t.Context()); !errors.Is(err, operator.ErrNoHost) {
		t.Errorf("without a host: %v", err)
	}
}

func TestOnlyAGroupOfTheHostIsStopped(t *testing.T) {
	c := newCounter(t)
	c.Stopping = func(folder string) (operator.Stopped, error) { return operator.Stopped{Turns: len(folder)}, nil }
	if s, err := c.StopAssistant(t.Context(), "family"); err != nil || s.Turns != 6 {
		t.Errorf("stopped %+v, %v", s, err)
	}
	if _, err := c.StopAssistant(t.Context(), "strangers"); refusal.Of(err) == nil || refusal.Of(err).Code != operator.CodeNotFound {
		t.Errorf("got %v", err)
	}
}

// An operator who asked where a file was read times nowhere.
func TestTheTimelineTellsEachStepOfADelivery(t *testing.T) {
	c := newCounter(t)
	d := c.accept("family", "a.txt", "here")
	steps := func() (what []string) {
		item, err := c.Show(t.Context(), d.Key)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range item.Timeline {
			what = append(what, s.What+" "+s.Detail)
			if s.Time.IsZero() && (s.What == "requested" || s.What == "accepted" || s.What == "sent") {
				t.Errorf("%s has no time", s.What)
			}
		}
		return what
	}
	if diff := cmp.Diff([]string{"requested ", "accepted ", "queued "}, steps()); diff != "" {
		t.Error(diff)
	}
	o, err := operator.Look(t.Context(), c)
	if err != nil || len(o.Queue) != 1 || o.Queue[0].Done != 0 || o.Status.Groups[0].Pending != 1 {
		t.Errorf("looked: %+v, %v", o, err)
	}
	c.work(d.Key, "sent")
	got := steps()
	if len(got) < 4 || got[2] != "attempts 1" || got[3] != "sent " {
		t.Errorf("after it was sent: %q", got)
	}
}
