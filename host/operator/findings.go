package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/longshore-bridge/longshore/groups"
	"github.com/longshore-bridge/longshore/host/channel"
	"github.com/longshore-bridge/longshore/host/outbox"
	"github.com/longshore-bridge/longshore/host/remote/tokens"
	"github.com/longshore-bridge/longshore/host/store"
	"github.com/longshore-bridge/longshore/internal/cause"
	"github.com/longshore-bridge/longshore/internal/finding"
	"github.com/longshore-bridge/longshore/media"
)

// UnknownChat is a group chat that no group of longshore.yaml has, and in which a member
// has called since the host's start.
type UnknownChat struct {
	Channel  string    `json:"channel"`
	Chat     string    `json:"chat"`
	Messages int       `json:"messages"`
	Last     time.Time `json:"last"`
}

const (
	// brokenTurns in a row are a fault.
	brokenTurns = 3
	// refusedRequests of one errorsWindow are a fault.
	refusedRequests = 10
	errorsWindow    = time.Hour
	// uncalled messages in a group whose assistant never had a turn are a fault.
	uncalled = 3
	// unknownChatTime is how long a message in a chat without a group is a fault.
	unknownChatTime = time.Hour
	// stuckTime is how long a queue waits before that is a fault.
	stuckTime = time.Minute
)

// Examiner is a source that finds more if it may take longer and ask others.
type Examiner interface {
	finding.Source
	Examine(ctx context.Context) []finding.Finding
}

// ExamineTime is how long an examination may take. A view takes at most ten seconds, with what it asks before.
const ExamineTime = 5 * time.Second

// Findings returns what the parts of the host know of themselves, sorted. If no host runs in this
// process, it is what an installation at rest shows. deep: also what takes longer to find out.
func (l *Local) Findings(ctx context.Context, deep bool) ([]finding.Finding, error) {
	nothing := finding.Func(func(context.Context) []finding.Finding { return nil })
	sources := []finding.Source{nothing, nothing}
	if l.Parts != nil {
		sources[0] = l.Parts
	}
	if deep {
		short, cancel := context.WithTimeout(finding.Anew(ctx), ExamineTime)
		defer cancel()
		ctx = short
	}
	if l.Parts != nil && deep {
		sources[1] = finding.Func(l.Parts.Examine)
	}
	if l.Running != nil {
		sources = append(sources, &l.accepting, &l.tokens)
	}
	asked := finding.AtOnce(ctx, sources...)
	var own []finding.Finding
	if l.Running != nil {
		own = l.own(asked[0], asked[2], asked[3])
	}
	all := finding.Merge(asked[0], own, asked[1])
	for i := range all {
		all[i].Cause, all[i].Remedy = media.Cut(media.Printable(all[i].Cause), 1000), media.Cut(media.Printable(all[i].Remedy), 1000)
	}
	return l.list.Since(all), nil
}

// own makes the findings of the running host's queue, channels and assistants, beside those that are there.
func (l *Local) own(parts, unready, tokens []finding.Finding) (own []finding.Finding) {
	if RefusalOf(parts) != nil { // the part that keeps the outbox from it has said so
		unready = nil
	}
	if own = unready; RefusalOf(slices.Concat(parts, own)) == nil {
		own = append(own, l.ofQueues()...)
	}
	own = append(own, l.ofAssistants(parts)...)
	for _, of := range []func() []finding.Finding{l.ofChannels, l.ofErrors, l.ofChats, l.ofTriggers, l.ofClock, l.ofBackup} {
		own = append(own, of()...)
	}
	return append(own, tokens...)
}

func fault(name, part, cause, remedy string) finding.Finding {
	return finding.Finding{Name: name, Part: part, Severity: finding.Fault, Cause: cause, Remedy: remedy}
}

func warning(name, part, cause, remedy string) finding.Finding {
	return finding.Finding{Name: name, Part: part, Severity: finding.Warning, Cause: cause, Remedy: remedy}
}

func unseen(part string) finding.Finding {
	return finding.Finding{Part: part, Severity: finding.Unseen}
}

func (l *Local) ofChannels() (all []finding.Finding) {
	for _, c := range l.Channels {
		one := channelOf(c)
		s, ok := channel.Current(c).(channel.Shared)
		shared := ok && s.Shared()
		if shared {
			all = append(all, warning(finding.ChannelSetup, "channel "+one.Name, "another program has connected by the token of channel "+one.Name+", and gets a part of what members write",
				"stop it; each installation needs an app of its own"))
		}
		if one.Connected && !shared {
			all = append(all, finding.Well("channel "+one.Name, cmp.Or(one.Detail, one.Name+" is connected")))
		}
		if one.Connected {
			continue
		}
		f := fault(finding.Channel, "channel "+one.Name, "channel "+one.Name+" is not connected: "+cmp.Or(one.Detail, "it has not connected yet"), channelRemedy(one))
		if l.Running.Linker.Scan(one.Name) != "" && pairing.MatchString(one.Detail) {
			f.Operation = "link"
		}
		all = append(all, f)
	}
	return all
}

// pairing is the one command that a channel's own words may ask for: a platform's words
// can stand there too.
var pairing = regexp.MustCompile("`(longshore pair [a-z0-9 -]+)`")

// channelRemedy returns what to do about a channel that is not connected: the command that
// its detail names, or what helps in most cases.
func channelRemedy(c Channel) string {
	if m := pairing.FindStringSubmatch(c.Detail); m != nil {
		return m[1]
	}
	if strings.Contains(c.Detail, syscall.EADDRINUSE.Error()) {
		return finding.Occupied("channels."+c.Name, "run longshore reload; the host tries again by itself")
	}
	if strings.Contains(c.Detail, "the disk has no room") { // of package journal
		return finding.MakeRoom
	}
	return "correct what the platform says, such as this machine's network or the token of channels." + c.Name + ", then longshore reload if the token is new; otherwise the host tries again by itself"
}

// ofOutbox finds why no delivery can be accepted.
func (l *Local) ofOutbox(ctx context.Context) []finding.Finding {
	err := l.accepts(ctx)
	if err == nil {
		return nil
	}
	f := fault(finding.Accepting, "outbox", "no delivery can be recorded in the outbox: "+err.Error(),
		cmp.Or(store.OfServer(err), finding.Remedy(err, l.Layout.Own()), "mend what the message says; if it lasts, restart the host"))
	if full, ok := errors.AsType[*outbox.FullError](err); ok {
		f.Cause, f.Remedy = fmt.Sprintf("no delivery can be accepted: %v", full.Cause), cmp.Or(finding.Remedy(full.Cause, l.Layout.Own()), finding.MakeRoom)
	}
	if known, ok := errors.AsType[*store.Error](err); ok {
		f.Cause, f.Remedy = known.Message, known.Remedy
		if errors.Is(err, store.ErrBusy) {
			f.Name, f.Part = finding.Locked, "state"
		}
	}
	return []finding.Finding{f}
}

// accepts returns why nothing can be accepted, or nil.
func (l *Local) accepts(ctx context.Context) error {
	if l.Outbox == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	return l.Outbox.Check(ctx)
}

// ofErrors counts the requests that came into the errors folder within an hour.
func (l *Local) ofErrors() []finding.Finding {
	n, since := 0, time.Now().Add(-errorsWindow)
	_ = eachJSON(l.Layout.Errors(), ReasonSuffix, func(dir *os.File, name string) { // a missing folder has none
		if info, err := os.Lstat(dir.Name() + "/" + name); err == nil && info.ModTime().After(since) {
			n++
		}
	})
	if n < refusedRequests {
		return nil
	}
	return []finding.Finding{fault(finding.Errors, "errors folder", fmt.Sprintf("%d requests were refused within an hour", n), "longshore errors list shows why; correct what the assistant does, or the rules that refuse it")}
}

// ofQueues finds the groups whose queue waits, if not all wait for the same. A full quota is no fault:
// what fills it is.
func (l *Local) ofQueues() (all []finding.Finding) {
	for _, g := range l.configured() {
		if s, ok := l.Running.Queue.Stuck(g.Folder); ok && s.Why.Code != "over_quota" && time.Since(s.Since) >= stuckTime {
			f := fault(finding.Stuck, "group "+g.Folder, fmt.Sprintf("the queue of group %s has waited since %s behind request %s: %s", g.Folder, s.Since.UTC().Format("15:04 MST"), s.Request, s.Why.Message),
				"make room if the disk lacks it; the host tries again by itself")
			f.Since = s.Since
			all = append(all, f)
		}
	}
	return all
}

// ofChats finds the channels on which somebody calls in a chat without a group.
func (l *Local) ofChats() (all []finding.Finding) {
	chats := map[string][]string{}
	for _, s := range l.Running.Pairing.UnknownChats() {
		if time.Since(s.Last) < unknownChatTime {
			chats[s.Channel] = append(chats[s.Channel], s.Chat)
		}
	}
	for channel, of := range chats {
		slices.Sort(of)
		words, more := strings.Join(of[:min(len(of), 3)], ", "), ""
		if len(of) > 3 {
			more = fmt.Sprintf(" and %d more", len(of)-3)
		}
		all = append(all, warning(finding.Chat, "channel "+channel, fmt.Sprintf("nobody answers in %s%s on channel %s: no group has that chat", words, more, channel),
			"longshore groups add "+of[0]+"; or take the account out of that chat"))
	}
	return all
}

// ofTriggers finds the groups in which members write and have never called the assistant.
func (l *Local) ofTriggers() (all []finding.Finding) {
	for _, g := range l.configured() {
		if g.Assistant == "" || g.Trigger == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(l.Layout.Logs(), g.Folder, "assistant.log")); err == nil {
			continue // it had a turn, under this host or one before
		}
		n := l.Running.Assistants.Ignored(g.Folder).NotCalled
		if n < uncalled {
			all = append(all, unseen("group "+g.Folder))
			continue
		}
		all = append(all, warning(finding.Trigger, "group "+g.Folder, fmt.Sprintf("members of group %s wrote %s, none of them with %s, so nobody answers", g.Folder, media.Count(n, "message"), g.Trigger),
			fmt.Sprintf("tell the members to write %s, or remove trigger: from the group, then: longshore reload", g.Trigger)))
	}
	return all
}

// maxAhead is how far the clock may be off. Slack and webhooks refuse what is five minutes
// old or new; a platform's time has a resolution of a second, and comes with its answer.
const maxAhead = 2 * time.Minute

func (l *Local) ofClock() []finding.Finding {
	ahead, ok := l.Running.Machine.ClockAhead()
	by, way := ahead.Abs().Round(time.Second).String(), " behind"
	if ahead > 0 {
		way = " ahead of"
	}
	switch {
	case !ok:
		return []finding.Finding{unseen("clock")}
	case ahead.Abs() > maxAhead:
		return []finding.Finding{warning(finding.Clock, "clock", "the clock of this machine is "+by+way+" the platforms'", "set the clock, and have it synchronized by NTP")}
	}
	return nil
}

func (l *Local) ofBackup() []finding.Finding {
	switch b := l.Running.Machine.Backup(); {
	case !b.Known:
		return []finding.Finding{unseen("backup")}
	case b.Problem != "":
		return []finding.Finding{warning(finding.Backup, "backup", "the daily backup of the state was not made: "+b.Problem, "correct that, or set backup: in longshore.yaml; the host tries again within an hour")}
	case !b.Last.IsZero():
		return []finding.Finding{finding.Well("backup", "backup of the state at "+b.Last.Local().Format(time.DateTime))}
	}
	return nil
}

// ofTokens finds the groups whose assistant lives elsewhere and may not fetch their messages.
func (l *Local) ofTokens(ctx context.Context) (all []finding.Finding) {
	valid, err := l.Tokens(ctx)
	for _, s := range l.Running.Assistants.Status() {
		of := func(t tokens.Token) bool { return t.Folder == s.Folder }
		if s.State != "elsewhere" || s.Thread != "" || err != nil || slices.ContainsFunc(valid, of) {
			continue
		}
		all = append(all, fault(finding.NoToken, "group "+s.Folder, "the assistant of group "+s.Folder+" lives elsewhere, and no token lets it fetch the group's messages", "longshore tokens new "+s.Folder))
	}
	return all
}

// trouble is one cause of one assistant.
type trouble struct {
	cause     cause.Cause
	assistant string
}

// ofAssistants finds the assistants that do not answer for a cause that parts do not name. All groups
// with the same assistant and the same cause are one finding. A turn that broke once may do better the
// next time: that is only a note, unless its cause needs an operator.
func (l *Local) ofAssistants(parts []finding.Finding) (all []finding.Finding) {
	of, turned := map[string]groups.Group{}, map[string]bool{}
	for _, g := range l.configured() {
		of[g.Folder] = g
		if t := l.turnsOf(g.Folder); g.Assistant != "" {
			turned[g.Assistant] = turned[g.Assistant] || !t.Done.IsZero() || !t.Broke.IsZero()
		}
	}
	in, worst, detail := map[trouble][]string{}, map[trouble]finding.Severity{}, map[trouble]string{}
	for _, a := range l.assistants() {
		t, severity := troubleOf(a)
		if t.assistant = of[a.Group].Assistant; severity == "" || t.assistant == "" || named(parts, t.cause, a.Group) {
			continue
		}
		in[t] = append(in[t], a.Group)
		if worst[t] != finding.Fault {
			worst[t], detail[t] = severity, a.Detail
		}
	}
	for t, folders := range in {
		slices.Sort(folders)
		folders = slices.Compact(folders)
		f := fault(string(t.cause), "assistant "+t.assistant,
			strings.TrimSuffix(fmt.Sprintf("assistant %s does not answer (%s) in %s: %s", t.assistant, t.cause, plural(folders), detail[t]), ": "), l.remedy(t, folders[0]))
		f.Severity = worst[t]
		all = append(all, f)
	}
	for name, had := range turned {
		if !had {
			all = append(all, unseen("assistant "+name))
		}
	}
	return all
}

// named reports whether a part has the cause that keeps a group's assistant from answering: the group, or an engine.
func named(parts []finding.Finding, why cause.Cause, folder string) bool {
	group := "group " + folder
	return slices.ContainsFunc(parts, func(f finding.Finding) bool {
		return f.Name == string(why) && (f.Part == group || strings.HasPrefix(f.Part, group+",") || strings.HasPrefix(f.Part, "engine"))
	})
}

func plural(folders []string) string {
	word := "groups "
	if len(folders) == 1 {
		word = "group "
	}
	return word + strings.Join(folders, ", ")
}

// troubleOf names why an assistant does not answer, and how much that matters; empty: it answers.
func troubleOf(a Assistant) (t trouble, s finding.Severity) {
	t.cause = cause.Cause(cmp.Or(a.Cause, string(cause.Failed)))
	switch {
	case a.Permanent, a.Cause != "" && a.State == "running":
		return t, finding.Fault
	case a.Failures >= brokenTurns && slices.Contains([]cause.Cause{cause.Failed, cause.Stopped}, t.cause): // says no more than that they broke
		return trouble{cause: finding.Turns}, finding.Fault
	case a.Failures >= brokenTurns:
		return t, finding.Fault
	case a.Cause != "", a.State == "waiting", a.State == "broken":
		return t, finding.Note
	}
	return t, ""
}

// remedy returns what to do about a cause that keeps an assistant from answering in a group.
func (l *Local) remedy(t trouble, folder string) string {
	switch name := t.assistant; t.cause {
	case cause.Key:
		return fmt.Sprintf("give assistants.%s in longshore.yaml a key that the service accepts, then: longshore reload", name)
	case cause.Credit:
		return "buy credit, or wait until the quota begins anew; the host tries again by itself"
	case cause.Image:
		return "build the image of assistants." + name + ": longshore image build; the host tries again by itself"
	case cause.NotInstalled:
		return "install the program of assistants." + name + " where the host, or its container, finds it, then: longshore reload"
	case cause.Engine:
		return "start the container engine, and make the host's user a member of its group; the host tries again by itself"
	case cause.Start:
		return "correct what the engine says, such as a missing package; then: longshore reload, or wait: the host tries again by itself"
	case cause.Budget:
		return "wait until the budget begins anew, or raise it in longshore.yaml, then: longshore reload"
	case cause.Absent:
		return "start the program that fetches the group's messages, and see that it reaches remote.listen and acknowledges them, as docs/remote.md says"
	case cause.Busy, cause.Failing, cause.Unreachable, cause.Silent:
		return "the host tries again by itself; if it lasts, check the network and the service's status page"
	}
	return "tail -n 20 " + finding.ShellWord(filepath.Join(l.Layout.Logs(), folder, "assistant.log")) + " says why it broke; the host tries again at the next message"
}
