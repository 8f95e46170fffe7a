package operator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/longshore-bridge/longshore/host/tasks"
	"github.com/longshore-bridge/longshore/internal/refusal"
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
	if o.Requests, err = c.Requests(ctx); errors.Is(err, ErrNoHost) {
		err = nil
	}
	o.Tasks, o.Requests = append([]tasks.Task{}, o.Tasks...), append([]PairingCode{}, o.Requests...)
	return o, err
}

// StopAssistant ends a group's turns; without a running host it returns ErrNoHost.
func (d *Desk) StopAssistant(_ context.Context, folder string) (Stopped, error) {
	if d.Stopping == nil {
		return Stopped{}, ErrNoHost
	}
	for _, g := range d.configured() {
		if g.Folder == folder {
			return d.Stopping(folder)
		}
	}
	return Stopped{}, &refusal.Error{Code: CodeNotFound, Message: fmt.Sprintf("no group has the folder %q", folder), Hint: "see: longshore status"}
}

// Log returns lines of the host's log; without a running host it returns ErrNoHost.
func (d *Desk) Log(_ context.Context, q LogQuery) (LogPage, error) {
	if d.Recent == nil {
		return LogPage{}, ErrNoHost
	}
	return d.Recent.Lines(q), nil
}

// PageURL returns an address of the operator's page; without a running host it returns
// ErrNoHost.
func (d *Desk) PageURL(context.Context) (PageURL, error) {
	switch {
	case !d.Running:
		return PageURL{}, ErrNoHost
	case d.SignIn == nil:
		return PageURL{}, &refusal.Error{
			Code: CodePageOff, Message: "the host serves no operator's page",
			Hint: `write operator_page: {listen: "127.0.0.1:8400"} into longshore.yaml and restart the host`,
		}
	}
	return PageURL{URL: d.SignIn()}, nil
}

// Linker links channels to accounts by codes, while somebody asks.
type Linker interface {
	// Scan says where on the phone a code of the channel is scanned; empty: it has none.
	Scan(channelName string) string
	// Link is Control's.
	Link(channelName string) (Linking, error)
}

// Link links a channel; without a running host it returns ErrNoHost.
func (d *Desk) Link(_ context.Context, channelName string) (Linking, error) {
	if d.Linker == nil {
		return Linking{}, ErrNoHost
	}
	return d.Linker.Link(channelName)
}
