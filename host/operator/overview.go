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

// Look asks for an Overview. Without a running host, it has what the disk shows. A list is empty if a
// part of the state cannot be used, as the status says.
func Look(ctx context.Context, c Control) (o Overview, err error) {
	o.Time = time.Now()
	if o.Status, err = c.Status(ctx); err != nil {
		return o, err
	}
	var errs [5]error
	o.Queue, errs[0] = c.List(ctx, Filter{Moving: true, Limit: OverviewItems})
	o.Approvals, errs[1] = c.List(ctx, Filter{Waiting: true, Oldest: true, Limit: OverviewItems})
	o.Failed, errs[2] = c.List(ctx, Filter{Failed: true, Limit: OverviewItems})
	o.Tasks, errs[3] = c.Tasks(ctx, "")
	o.Requests, errs[4] = c.PairingCodes(ctx)
	o.Queue, o.Approvals, o.Failed = append([]Item{}, o.Queue...), append([]Item{}, o.Approvals...), append([]Item{}, o.Failed...)
	o.Tasks, o.Requests = append([]tasks.Task{}, o.Tasks...), append([]PairingCode{}, o.Requests...)
	for i, failed := range errs {
		if failed != nil && !known(o.Status.Findings) && (i < 3 || !errors.Is(failed, ErrNoHost)) {
			return o, failed
		}
	}
	return o, ctx.Err()
}
