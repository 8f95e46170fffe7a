package tasks

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/longshore-bridge/longshore/host/state"
)

// Import takes over tasks of another program once: a second call with the same name does
// nothing. Tasks that it cannot take are returned, each with the reason.
func (ts *Tasks) Import(ctx context.Context, name string, all []Task) (left map[string]error, err error) {
	now := ts.o.Now()
	err = ts.within(ctx, "import tasks", func(tx *state.Tx) error {
		left = map[string]error{}
		if done, err := answeredBefore(tx, name); err != nil || done != nil {
			return err
		}
		for _, t := range all {
			if reason := ts.adopt(&t, now); reason != nil {
				left[t.ID] = reason
			} else if err := save(tx, t); err != nil {
				return err
			}
		}
		data, err := json.Marshal(len(all))
		if err == nil { // for good: the answers to calls are deleted one day
			err = tx.Exec(insertAnswer, name, data, math.MaxInt64)
		}
		return err
	})
	return left, err
}

// adopt completes a task of another program, or says why it cannot run here.
func (ts *Tasks) adopt(t *Task, now time.Time) error {
	zone := ts.o.Host.Zone(t.Folder)
	t.Owner, t.created, t.zone = t.Folder, now, zone.String()
	if t.Mode != "isolated" {
		t.Mode = "group"
	}
	if !idForm.MatchString(t.ID) {
		return refuse("wrong_task_id", "its id has another form", "schedule it anew")
	}
	if !ts.runnable(*t) {
		return refuse("no_assistant", "its group is not here, or has no assistant", "schedule it anew")
	}
	s, err := Parse(t.Type, t.Value, zone)
	if err == nil {
		t.zone = s.zone.String()
		err = t.check()
	}
	if err == nil && t.Status == Active {
		t.Next, err = s.First(now)
	}
	return err
}
