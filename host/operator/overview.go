package operator

import (
	"context"
	"errors"
	"time"

	"github.com/longshore-bridge/longshore/host/tasks"
)

// Overview is what the operator's page and "longshore top" show.
type Overview struct {
	Time   time.Time    `json:"time"`
	Status Status       `json:"status"`
	Queue  []Item       `json:"queue"`  // open deliveries that wait for no approval, the newest OverviewItems, oldest first
	Failed []Item       `json:"failed"` // failed deliveries and refused requests, the same
	Tasks  []tasks.Task `json:"tasks"`

	Approvals []Item        `json:"approvals"` // deliveries that wait for an approval, the oldest OverviewItems: they expire first
	Requests  []PairingCode `json:"requests"`  // people in direct chats who wait for the operator
}

// OverviewItems is how many items each list of an Overview has at most.
const OverviewItems = 100

// Look asks for an Overview. Without a running host, it has what the disk shows.
func Look(ctx context.Context, c Control) (o Overview, err error) {
	o.Time = time.Now()
	if o.Status, err = c.Status(ctx); err != nil {
		return o, err
	}
	if o.Queue, err = c.List(ctx, Filter{Moving: true, Limit: OverviewItems}); err != nil {
		return o, err
	}
	if o.Approvals, err = c.List(ctx, Filter{Waiting: true, Oldest: true, Limit: OverviewItems}); err != nil {
		return o, err
	}
	if o.Failed, err = c.List(ctx, Filter{Failed: true, Limit: OverviewItems}); err != nil {
		return o, err
	}
	if o.Tasks, err = c.Tasks(ctx, ""); err != nil && !errors.Is(err, ErrNoHost) {
		return o, err
	}
	if o.Requests, err = c.PairingCodes(ctx); errors.Is(err, ErrNoHost) {
		err = nil
	}
	o.Tasks, o.Requests = append([]tasks.Task{}, o.Tasks...), append([]PairingCode{}, o.Requests...)
	return o, err
}
