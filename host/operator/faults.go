package operator

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/longshore-bridge/longshore/internal/refusal"
	"github.com/longshore-bridge/longshore/media"
)

// Fault is one problem of the host that does not end by itself, or not soon. Its text may
// contain foreign words of platforms.
type Fault struct {
	Name    string `json:"fault"` // one of the Fault… below, or one of package cause's
	About   string `json:"about"` // the part of the host: "channel whatsapp", "assistant helper", "disk"
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// ID stays the same while the fault lasts, even if its text changes.
func (f Fault) ID() string { return f.Name + " of " + f.About }

// The names of faults. Those of an assistant that does not answer are package cause's.
const (
	FaultChannel   = "channel_down"   // the channel is not connected
	FaultTurns     = "turns_broken"   // turns of an assistant broke in a row
	FaultDisk      = "disk_low"       // less than twice limits.free_disk is free
	FaultAccepting = "not_accepting"  // no delivery can be accepted
	FaultStuck     = "queue_waits"    // a group's queue waits behind a request that the host cannot accept
	FaultErrors    = "errors_growing" // requests are refused one after the other
	FaultClock     = "clock_off"      // the platforms' clocks show another time
	FaultConfig    = "config_refused" // the last reload was refused
	FaultBackup    = "backup_failed"  // the daily backup was not made

	FaultTrigger = "never_called"        // members write, and none has ever used the group's trigger
	FaultChat    = "chat_not_registered" // somebody calls the assistant in a chat that no group has
	FaultGroups  = "groups_gone"         // the file has lost more than half of the groups
	FaultQueue   = "queue_unreadable"    // the host may not use a directory of a group's queue
	FaultMount   = "mount_missing"       // a directory that a group shares is gone
	FaultCall    = "model_call_refused"  // an assistant's call of the model holds what provider_tools does not allow
)

// Faults is what is wrong with the host now.
type Faults struct {
	Now []Fault `json:"now"`
	// Unknown are the parts, named as in Fault.About, that have shown nothing since the
	// host's start: an earlier fault may last.
	Unknown []string `json:"unknown,omitempty"`
}

const (
	// brokenTurns in a row are a fault.
	brokenTurns = 3
	// refusedRequests of one errorsWindow are a fault.
	refusedRequests = 10
	errorsWindow    = time.Hour
)

// Faults judges the running host by what Status and the metrics show, and remembers
// nothing itself. Without a running host there are none.
func (l *Local) Faults(ctx context.Context) Faults {
	var f Faults
	r := l.Running
	if r == nil {
		return f
	}
	for _, c := range l.Channels {
		if one := channelOf(c); !one.Connected {
			f.add(FaultChannel, "channel "+one.Name, "channel "+one.Name+" is not connected: "+one.Detail, ChannelRemedy(one.Detail))
		}
	}
	l.assistantFaults(&f)
	l.diskFaults(ctx, &f)
	l.stuckFaults(&f)
	l.clockFault(&f)
	l.backupFault(&f)
	l.triggerFaults(&f)
	l.unknownChatFaults(&f)
	l.mountFaults(&f)
	l.queueFaults(&f)
	l.callFaults(&f)
	if lost := r.Host.LostGroups(); len(lost) > 0 {
		f.add(FaultGroups, "configuration", "longshore.yaml lacks groups that the host has served: "+strings.Join(lost, ", ")+"; their tokens, tasks and files are kept",
			"write them into the file again, then: longshore reload; or, if they are to end: longshore reload --remove")
	}
	if why := r.Host.Unapplied(); why != nil {
		f.add(FaultConfig, "configuration", "the host runs by an older longshore.yaml, since the last reload was refused: "+*why, "see: longshore config validate; then: longshore reload")
	}
	if n := l.refusedLately(); n >= refusedRequests {
		f.add(FaultErrors, "errors folder", fmt.Sprintf("%d requests were refused within an hour", n), "see: longshore errors list")
	}
	for _, down := range r.Machine.Findings(ctx) {
		if !slices.ContainsFunc(f.Now, func(one Fault) bool { return one.ID() == down.ID() }) {
			f.add(down.Name, down.Part, down.Cause, down.Remedy)
		}
	}
	f.inOrder()
	return f
}

// pairing is the one command that a channel's own words may ask for: a platform's words
// can stand there too.
var pairing = regexp.MustCompile("`(longshore pair [a-z0-9 -]+)`")

// ChannelRemedy returns what to do about a channel that is not connected: the command that
// its detail names, or where to read more.
func ChannelRemedy(detail string) string {
	if m := pairing.FindStringSubmatch(detail); m != nil {
		return m[1]
	}
	return "see: longshore doctor, longshore logs"
}

func (f *Faults) add(name, about, message, hint string) {
	f.Now = append(f.Now, Fault{Name: name, About: about, Message: media.Cut(media.Printable(message), 1000), Hint: media.Cut(media.Printable(hint), 1000)})
}

// trouble is one fault of one assistant.
type trouble struct{ name, assistant string }

// assistantFaults adds the assistants that do not answer. All groups with the same
// assistant and the same cause are one fault.
func (l *Local) assistantFaults(f *Faults) {
	assistantOf, seen := map[string]string{}, map[string]bool{}
	for _, g := range l.configured() {
		assistantOf[g.Folder] = g.Assistant
		if t := l.turnsOf(g.Folder); g.Assistant != "" {
			seen[g.Assistant] = seen[g.Assistant] || !t.Done.IsZero() || !t.Broke.IsZero()
		}
	}
	in := map[trouble][]string{}
	for _, a := range l.assistants() {
		if name := faultOf(a); name != "" && assistantOf[a.Group] != "" {
			t := trouble{name, assistantOf[a.Group]}
			in[t] = append(in[t], a.Group)
		}
	}
	for t, folders := range in {
		slices.Sort(folders)
		folders = slices.Compact(folders)
		f.add(t.name, "assistant "+t.assistant, fmt.Sprintf("assistant %s does not answer (%s) in %s %s", t.assistant, t.name, plural(folders), strings.Join(folders, ", ")),
			"see: longshore why "+folders[0])
	}
	for name, turned := range seen {
		if !turned {
			f.Unknown = append(f.Unknown, "assistant "+name)
		}
	}
}

func plural(folders []string) string {
	if len(folders) == 1 {
		return "group"
	}
	return "groups"
}

// faultOf names the fault of one assistant; empty: none. A turn that broke once may do
// better the next time, unless its cause needs an operator.
func faultOf(a Assistant) string {
	switch {
	case a.Permanent, a.Cause != "" && a.State == "running":
		return a.Cause
	case a.Failures < brokenTurns:
		return ""
	case a.Cause == "" || a.Cause == "stopped" || a.Cause == "failed": // says no more than that they broke
		return FaultTurns
	}
	return a.Cause
}

// maxAhead is how far the clock may be off. Slack and webhooks refuse what is five minutes
// old or new; a platform's time has a resolution of a second, and comes with its answer.
const maxAhead = 2 * time.Minute

func (l *Local) clockFault(f *Faults) {
	ahead, ok := l.Running.Machine.ClockAhead()
	switch by := ahead.Abs().Round(time.Second).String(); {
	case !ok:
		f.Unknown = append(f.Unknown, "clock")
	case ahead.Abs() > maxAhead && ahead > 0:
		f.add(FaultClock, "clock", "the clock of this machine is "+by+" ahead of the platforms'", "set the clock, and have it synchronized by NTP")
	case ahead.Abs() > maxAhead:
		f.add(FaultClock, "clock", "the clock of this machine is "+by+" behind the platforms'", "set the clock, and have it synchronized by NTP")
	}
}

func (l *Local) backupFault(f *Faults) {
	switch b := l.Running.Machine.Backup(); {
	case !b.Known:
		f.Unknown = append(f.Unknown, "backup")
	case b.Problem != "":
		f.add(FaultBackup, "backup", "the daily backup of the state was not made: "+b.Problem, "correct that, or set backup: in longshore.yaml; the host tries again within an hour")
	}
}

// diskFaults adds a disk that takes no deliveries, and one that is almost full.
func (l *Local) diskFaults(ctx context.Context, f *Faults) {
	if r := refusal.Of(l.health.lately(ctx, l.healthy)); r != nil {
		f.add(FaultAccepting, "outbox", r.Message, r.Hint)
	}
	disk, floor := diskOf(l.Layout.State), l.Running.Host.FreeDisk()
	if low := floor > 0 && disk.Total > 0 && disk.Free < 2*uint64(floor); low {
		f.add(FaultDisk, "disk", fmt.Sprintf("%s are free on the disk of the state directory; below %s nothing more is accepted", media.Size(int64(disk.Free)), media.Size(floor)),
			"make room, or lower limits.free_disk")
	}
}

// checkup caches the outcome of a check, because the check writes to the disk.
type checkup struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

// lately returns the outcome of a check in the last five seconds.
func (c *checkup) lately(ctx context.Context, check func(context.Context) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() || time.Since(c.at) > 5*time.Second {
		c.err, c.at = check(ctx), time.Now()
	}
	return c.err
}

// refusedLately counts the requests that came into the errors folder within an hour.
func (l *Local) refusedLately() int {
	n, since := 0, time.Now().Add(-errorsWindow)
	_ = eachJSON(l.Layout.Errors(), ReasonSuffix, func(dir *os.File, name string) { // a missing folder has none
		if info, err := os.Lstat(dir.Name() + "/" + name); err == nil && info.ModTime().After(since) {
			n++
		}
	})
	return n
}
