package operator

import (
	"cmp"
	"context"
	"os"
	"slices"
	"time"

	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/cluster"
	"github.com/longshore-bridge/longshore/host/outbox/records"
	"github.com/longshore-bridge/longshore/host/turns"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/internal/safefs"
	"github.com/longshore-bridge/longshore/ipc"
)

// Status is a host's description of itself. If no host runs, Running is false
// and only what the disk shows is filled in.
type Status struct {
	Running      bool              `json:"running"`
	PID          int               `json:"pid,omitempty"`
	Version      string            `json:"version"`
	Started      time.Time         `json:"started,omitzero"`
	Applied      time.Time         `json:"applied,omitzero"` // when the configuration in force was
	State        string            `json:"state"`            // the state directory
	Channels     []Channel         `json:"channels"`
	Groups       []Group           `json:"groups"`
	Assistants   []Assistant       `json:"assistants"`
	Failures     []Item            `json:"failures"` // the latest, newest first, at most RecentFailures
	Errors       int               `json:"errors"`   // requests in the errors folder
	Disk         Disk              `json:"disk"`
	Backup       time.Time         `json:"backup,omitzero"` // when the newest good daily backup was made
	Quota        Quota             `json:"quota,omitzero"`
	Findings     []finding.Finding `json:"findings"` // what an operator has to know and to do, see Control.Findings
	UnknownChats []UnknownChat     `json:"unknown_chats,omitempty"`
	Cluster      *cluster.View     `json:"cluster,omitempty"` // nil: the host is in none
	Told         []turns.Told      `json:"told,omitempty"`    // messages of members that could only be told in words, since the host's start
}

// RecentFailures is how many failures a Status lists.
const RecentFailures = 5

// Channel is the state of one channel.
type Channel struct {
	Name      string `json:"name"`
	Connected bool   `json:"connected"`
	Detail    string `json:"detail,omitempty"` // the state, or what to do
	Scan      string `json:"scan,omitempty"`   // where on the phone a code for Link is scanned; empty: it has none
}

func channelOf(c channel.Channel) Channel {
	s, ok := channel.Current(c).(channel.Status)
	if !ok {
		return Channel{Name: c.Name(), Connected: true}
	}
	connected, detail := s.Connected()
	return Channel{Name: c.Name(), Connected: connected, Detail: detail}
}

// Group is the state of one group's queue.
type Group struct {
	Folder    string    `json:"folder"`
	Name      string    `json:"name"`
	Chat      string    `json:"chat"`
	Channel   string    `json:"channel"`
	Main      bool      `json:"main,omitempty"`
	Pending   int       `json:"pending"`   // open deliveries
	Approvals int       `json:"approvals"` // of these, those that wait for an approval
	Bytes     int64     `json:"bytes"`     // of open deliveries
	Waiting   int       `json:"waiting"`   // requests that are not accepted yet
	Oldest    time.Time `json:"oldest,omitzero"`
	Use       Use       `json:"use,omitzero"` // of its Quota; zero if no host runs

	Assistant string `json:"assistant,omitempty"` // its name; empty: nobody answers
	Trigger   string `json:"trigger,omitempty"`   // empty: every message calls the assistant

	// Messages since the host's start that were not for the assistant.
	turns.Ignored
	// Turns since the host's start.
	turns.Turns

	// Model is the usage of the model; nil if the host does not pass the calls on.
	Model *Spending `json:"model,omitempty"`
}

// Spending is a group's usage of its model, as the model's service reports it.
type Spending struct {
	Calls   int64   `json:"calls"` // since the host's start, as the tokens of each kind and their price
	Input   int64   `json:"input_tokens"`
	Cached  int64   `json:"cached_tokens"`
	Written int64   `json:"written_tokens"`
	Output  int64   `json:"output_tokens"`
	USD     float64 `json:"usd"`

	Budget      string    `json:"budget,omitempty"` // for people; empty: none
	Left        float64   `json:"budget_left"`      // of 1
	Until       time.Time `json:"budget_until,omitzero"`
	SpentTokens int64     `json:"budget_tokens_spent"`
	SpentUSD    float64   `json:"budget_usd_spent"`
	Over        bool      `json:"over_budget"` // the last call was refused for it
}

// Quota is how much may wait in the outbox for each group; zero if no host runs.
type Quota struct {
	Pending int   `json:"pending"` // messages
	Bytes   int64 `json:"bytes"`   // of their files

	Inbox int64 `json:"inbox,omitempty"` // bytes of the files in its inbox; 0: no bound
	Links int64 `json:"links,omitempty"` // bytes of the files behind its links; 0: there are no links
}

// Use is how much of its quota a group has used.
type Use struct {
	Pending  int   `json:"pending"`  // messages
	Bytes    int64 `json:"bytes"`    // of their files
	Retained int64 `json:"retained"` // bytes of failed messages, kept for a retry; within a second quota of the same size
	Inbox    int64 `json:"inbox"`    // bytes of the files in its inbox, a minute ago at most
	Links    int64 `json:"links"`    // bytes of the files behind its links
}

// Disk is the file system of the state directory.
type Disk struct {
	Free  uint64 `json:"free"`            // bytes that the host's user can write
	Total uint64 `json:"total"`           // bytes
	Floor int64  `json:"floor,omitempty"` // free bytes below which nothing is accepted; 0: unknown
}

// DiskOf returns the space on the file system of the state directory; zero if
// it is unknown.
func DiskOf(state string) Disk {
	v, err := safefs.VolumeOf(state)
	if err != nil {
		return Disk{}
	}
	return Disk{Free: v.Free, Total: v.Total}
}

// waiting counts the requests of all groups that are not accepted yet.
func (l *Local) waiting() int {
	n := 0
	for _, g := range l.configured() {
		waiting, _ := CountJSON(l.Layout.IPC(g.Folder, ipc.MessagesDir), ".json") // a missing directory has no requests
		n += waiting
	}
	return n
}

func (l *Local) spendingOf(ctx context.Context, folder string) *Spending {
	if l.Running == nil {
		return nil
	}
	if s, ok := l.Running.Models.Spending(ctx, folder); ok {
		return &s
	}
	return nil
}

// maxCounted is how many open deliveries are counted for the groups: more than
// the quotas of a hundred groups allow.
const maxCounted = 10_000

// groups describes each group's queue. Without the state, its deliveries and links are missing.
func (l *Local) groups(ctx context.Context) ([]Group, error) {
	configured := l.configured()
	all := make([]Group, len(configured))
	place := map[string]*Group{}
	var links map[string]int64
	var err error
	if l.Outbox != nil {
		links, err = l.Outbox.Reader().LinksUsed(ctx)
	}
	for i, g := range configured {
		waiting, _ := CountJSON(l.Layout.IPC(g.Folder, ipc.MessagesDir), ".json")
		all[i] = Group{
			Folder: g.Folder, Name: g.Name, Chat: string(g.Chat), Channel: cmp.Or(g.Channel, g.Chat.Channel()),
			Main: g.Main, Waiting: waiting, Assistant: g.Assistant, Trigger: g.Trigger,
		}
		if l.Running != nil {
			all[i].Ignored, all[i].Turns = l.Running.Assistants.Ignored(g.Folder), l.turnsOf(g.Folder)
		}
		if l.Outbox != nil {
			u := l.Outbox.UsedBy(g.Folder)
			all[i].Use = Use{Pending: u.Messages, Bytes: u.Bytes, Retained: u.Retained, Links: links[g.Folder]}
		}
		if l.Running != nil {
			all[i].Use.Inbox = l.Running.Assistants.InboxUse(g.Folder)
		}
		place[g.Folder] = &all[i]
		if err == nil {
			all[i].Model = l.spendingOf(ctx, g.Folder)
		}
	}
	if err != nil {
		return all, err
	}
	err = l.deliveries(ctx, Filter{}, maxCounted, func(delivery records.Delivery) {
		if g := place[delivery.Folder]; g != nil {
			g.Pending++
			if delivery.Waits() {
				g.Approvals++
			}
			g.Bytes += itemOf(delivery, false).Bytes
			g.Oldest = oldest(g.Oldest, delivery.Created)
		}
	})
	return all, err
}

// Status describes the host. If none runs, it fills in what the disk shows. If the state cannot be read in
// time, what that has is missing and a finding says so.
func (l *Local) Status(ctx context.Context) (Status, error) {
	s := Status{
		Version: l.Version, State: l.Layout.State, Disk: DiskOf(l.Layout.State), Channels: []Channel{},
		Groups: []Group{}, Assistants: l.assistants(), Failures: []Item{},
	}
	if l.Running != nil {
		l.describeHost(&s)
	}
	all, err := l.Findings(ctx, false)
	if err != nil {
		return Status{}, err
	}
	s.Findings = finding.Wrong(all)
	short, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	found, err := l.groups(short)
	s.Groups = append(s.Groups, found...)
	if err == nil {
		err = l.deliveries(short, Filter{Failed: true}, RecentFailures, func(delivery records.Delivery) {
			s.Failures = append(s.Failures, itemOf(delivery, false))
		})
	}
	if err != nil && RefusalOf(all) == nil {
		s.Findings = append(s.Findings, fault(finding.State, "state", "the deliveries cannot be read: "+err.Error(), "wait a moment; if it lasts, longshore doctor says more"))
	}
	s.Errors, _ = CountJSON(l.Layout.Errors(), ReasonSuffix) // a missing folder has no entries
	return s, ctx.Err()
}

// known reports whether one of the findings says why the state cannot be read.
func known(all []finding.Finding) bool {
	return slices.ContainsFunc(all, func(f finding.Finding) bool {
		return slices.Contains(notReady, f.Name)
	})
}

// describeHost fills in what the running host says of itself.
func (l *Local) describeHost(s *Status) {
	r := l.Running
	s.Running, s.PID, s.Started, s.Applied = true, os.Getpid(), r.Started, r.Host.Applied()
	s.Backup, s.Cluster = r.Machine.Backup().Last, clusterOf(r.Cluster)
	s.Quota, s.Disk.Floor, s.UnknownChats, s.Told = r.Host.Quota(), r.Host.FreeDisk(), r.Pairing.UnknownChats(), r.Assistants.Told()
	for _, c := range l.Channels {
		one := channelOf(c)
		one.Scan = r.Linker.Scan(c.Name())
		s.Channels = append(s.Channels, one)
	}
}

func clusterOf(h *cluster.Host) *cluster.View {
	if h == nil {
		return nil
	}
	v := h.View()
	return &v
}
